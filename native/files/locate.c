/* Finds names in what the job sees: the layer over the real file system. See layer.h. */
#include "layer.h"

#define MAX_LINKS 40

static bool is_opaque(const char *upper)
{
    char mark[PATH_MAX];
    return vest_in_folder(upper, OPAQUE_MARK, mark) && vest_exists(mark);
}

bool vest_hidden(const char *upper, const char *name)
{
    char path[PATH_MAX], mark[PATH_MAX];
    return vest_in_folder(upper, name, path) &&
           (vest_exists(path) || (vest_mark_path(path, mark) && vest_exists(mark)));
}

/* Looks up place->path, given what of its folder there is: in the layer, in the real file system. */
static void look(struct vest_place *place, bool up, bool low)
{
    struct stat above, real;
    char mark[PATH_MAX];
    place->in_upper = up && sys_lstat(place->upper, &above) == 0;
    place->in_lower = low && sys_lstat(place->path, &real) == 0;
    if (place->in_upper) {
        place->exists = true;
        place->mode = above.st_mode;
        place->merged =
            S_ISDIR(above.st_mode) && place->in_lower && S_ISDIR(real.st_mode) && !is_opaque(place->upper);
    } else {
        bool deleted = up && place->in_lower && vest_mark_path(place->upper, mark) && vest_exists(mark);
        place->exists = place->in_lower && !deleted;
        place->mode = place->exists ? real.st_mode : 0;
        place->merged = place->exists && S_ISDIR(real.st_mode);
    }
}

static bool set_path(struct vest_place *place, size_t length, const char *name, size_t name_length)
{
    if (vest_layer_length + length + 1 + name_length >= PATH_MAX)
        return false;
    place->path[length] = '/';
    memcpy(place->path + length + 1, name, name_length);
    place->path[length + 1 + name_length] = '\0';
    memcpy(place->upper, vest_layer, vest_layer_length);
    strcpy(place->upper + vest_layer_length, place->path);
    return true;
}

/* The absolute path to begin with, in what the job sees. */
static int begin(int folder, const char *path, char *rest)
{
    if (!*path)
        return vest_refuse(ENOENT);
    size_t length = 0;
    if (*path != '/') {
        char base[PATH_MAX] = "", link[64];
        if (folder == AT_FDCWD) {
            if (syscall(SYS_getcwd, base, sizeof base) < 0)
                return -1;
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            ssize_t read = sys_readlink(link, base, sizeof base - 1);
            if (read < 0)
                return vest_refuse(EBADF);
            base[read] = '\0';
            if (*base != '/')
                return vest_refuse(ENOTDIR);
        }
        const char *seen = vest_seen(base);
        length = strlen(seen);
        memcpy(rest, seen, length);
        rest[length++] = '/';
    }
    if (length + strlen(path) >= PATH_MAX)
        return vest_refuse(ENAMETOOLONG);
    strcpy(rest + length, path);
    return 0;
}


/* A path on its way from the root: `at` is what is left of it, in `rest`; `length` is what place->path has so far. */
struct walk {
    struct vest_place *place;
    char rest[PATH_MAX], *at;
    size_t length;
    int links;
    bool follow;  /* a link that is the last part */
    bool up, low; /* whether the folder so far is in the layer, and in the real file system */
};

enum { DONE = 0, FAILED = -1, ONWARD = 1 };

static void restart(struct walk *walk)
{
    walk->at = walk->rest;
    walk->up = walk->low = true;
}

/* Once more from the root, without the last folder: what was looked up so far is another one. */
static int go_up(struct walk *walk, const char *next)
{
    char left[PATH_MAX];
    strcpy(left, next);
    while (walk->length > 0 && walk->place->path[--walk->length] != '/')
        ;
    if (snprintf(walk->rest, PATH_MAX, "%.*s/%s", (int)walk->length, walk->place->path, left) >= PATH_MAX)
        return vest_refuse(ENAMETOOLONG);
    walk->length = 0;
    restart(walk);
    return ONWARD;
}

/* The path goes on outside the layer: the kernel follows the rest of it. */
static int leave(struct walk *walk, size_t length, bool slash, const char *next)
{
    struct vest_place *place = walk->place;
    if (length + 1 + strlen(next) >= PATH_MAX)
        return vest_refuse(ENAMETOOLONG);
    place->kept = true;
    if (slash)
        place->path[length++] = '/';
    strcpy(place->path + length, next);
    return DONE;
}

/* Puts a link's target before what is left of the path. */
static int follow_link(struct walk *walk, const char *next)
{
    char target[PATH_MAX], left[PATH_MAX];
    if (++walk->links > MAX_LINKS)
        return vest_refuse(ELOOP);
    ssize_t read = sys_readlink(vest_readable(walk->place), target, sizeof target - 1);
    if (read < 0)
        return FAILED;
    target[read] = '\0';
    strcpy(left, next);
    if (snprintf(walk->rest, PATH_MAX, "%s%s%s", target, *left ? "/" : "", left) >= PATH_MAX)
        return vest_refuse(ENAMETOOLONG);
    walk->at = walk->rest;
    if (*target == '/' && walk->length != 0) {
        walk->length = 0;
        restart(walk);
    }
    walk->place->path[walk->length] = '\0';
    return ONWARD;
}

static void at_root(struct vest_place *place)
{
    strcpy(place->path, "/");
    strcpy(place->upper, vest_layer);
    place->exists = place->in_upper = place->in_lower = place->merged = true;
    place->mode = S_IFDIR | 0755;
}

/* One part of the path. */
static int step(struct walk *walk)
{
    struct vest_place *place = walk->place;
    const char *name = walk->at + strspn(walk->at, "/");
    size_t length = strcspn(name, "/"), longer = walk->length + 1 + length;
    char *next = (char *)name + length + strspn(name + length, "/");
    bool last = !*next, slash = name[length] == '/';
    if (length == 0 || (length == 1 && *name == '.')) {
        walk->at = next;
        if (!last)
            return ONWARD;
        if (walk->length == 0)
            at_root(place);
        return DONE;
    }
    if (length == 2 && name[0] == '.' && name[1] == '.')
        return go_up(walk, next);
    if (!set_path(place, walk->length, name, length))
        return vest_refuse(ENAMETOOLONG);
    if (vest_is_kept(place->path))
        return leave(walk, longer, slash, next);
    look(place, walk->up, walk->low);
    if (place->exists && S_ISLNK(place->mode) && (!last || walk->follow || slash))
        return follow_link(walk, next);
    if (last)
        return place->exists && slash && !S_ISDIR(place->mode) ? vest_refuse(ENOTDIR) : DONE;
    if (!place->exists || !S_ISDIR(place->mode))
        return vest_refuse(place->exists ? ENOTDIR : ENOENT);
    walk->up = place->in_upper;
    walk->low = place->merged;
    walk->length = longer;
    walk->at = next;
    return ONWARD;
}

int vest_locate(int folder, const char *path, bool follow, struct vest_place *place)
{
    struct walk walk = {.place = place, .follow = follow};
    vest_configure();
    place->kept = false;
    if (begin(folder, path, walk.rest) != 0)
        return -1;
    if (!vest_layer_length) {
        place->kept = true;
        strcpy(place->path, walk.rest);
        return 0;
    }
    restart(&walk);
    int result = ONWARD;
    while (result == ONWARD)
        result = step(&walk);
    return result;
}
