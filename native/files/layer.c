/* Finds names in what the job sees, and makes the layer's copies and marks. See layer.h. */
#include "layer.h"
#include "../core/settings.h"

#include <dirent.h>
#include <pthread.h>

#define MAX_LINKS 40
#define MAX_KEPT 32

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char layer[PATH_MAX];
static size_t layer_length;
static const char *kept[MAX_KEPT] = {"/proc", "/sys", "/dev", "/run"};
static size_t kept_count = 4;

static void configure(void)
{
    vest_require_settings();
    const char *folder = vest_setting("layer"), *list = vest_setting("kept");
    if (!folder || folder[0] != '/' || strlen(folder) >= PATH_MAX / 2)
        return;
    strcpy(layer, folder);
    layer_length = strlen(layer);
    char *around = strdup(layer); /* what is beside the layer is real */
    if (around)
        *strrchr(around, '/') = '\0';
    if (around && *around)
        kept[kept_count++] = around;
    char *rest = list ? strdup(list) : NULL;
    for (char *path; rest && kept_count < MAX_KEPT && (path = strsep(&rest, "\n"));)
        if (*path == '/')
            kept[kept_count++] = path;
}

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool is_kept(const char *path)
{
    for (size_t i = 0; i < kept_count; i++)
        if (is_below(path, kept[i]))
            return true;
    const char *name = strrchr(path, '/');
    return name && strcmp(name, "/__pycache__") == 0 && strstr(path, "/lib/python");
}

const char *vest_seen(const char *path)
{
    if (!layer_length || !is_below(path, layer))
        return path;
    return path[layer_length] ? path + layer_length : "/";
}

static bool exists(const char *path)
{
    struct stat facts;
    return sys_lstat(path, &facts) == 0;
}

/* "folder/PREFIXname" for an `upper` path "folder/name". */
static bool mark_path(const char *upper, char *buffer)
{
    const char *name = strrchr(upper, '/') + 1;
    int length = snprintf(buffer, PATH_MAX, "%.*s%s%s", (int)(name - upper), upper, DELETED_MARK, name);
    return length < PATH_MAX;
}

static bool in_folder(const char *folder, const char *name, char *buffer)
{
    return snprintf(buffer, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

static bool is_opaque(const char *upper)
{
    char mark[PATH_MAX];
    return in_folder(upper, OPAQUE_MARK, mark) && exists(mark);
}

bool vest_hidden(const char *upper, const char *name)
{
    char path[PATH_MAX], mark[PATH_MAX];
    return in_folder(upper, name, path) && (exists(path) || (mark_path(path, mark) && exists(mark)));
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
        bool deleted = up && place->in_lower && mark_path(place->upper, mark) && exists(mark);
        place->exists = place->in_lower && !deleted;
        place->mode = place->exists ? real.st_mode : 0;
        place->merged = place->exists && S_ISDIR(real.st_mode);
    }
}

static bool set_path(struct vest_place *place, size_t length, const char *name, size_t name_length)
{
    if (layer_length + length + 1 + name_length >= PATH_MAX)
        return false;
    place->path[length] = '/';
    memcpy(place->path + length + 1, name, name_length);
    place->path[length + 1 + name_length] = '\0';
    memcpy(place->upper, layer, layer_length);
    strcpy(place->upper + layer_length, place->path);
    return true;
}

static int refuse(int reason)
{
    errno = reason;
    return -1;
}

/* The absolute path to begin with, in what the job sees. */
static int begin(int folder, const char *path, char *rest)
{
    if (!*path)
        return refuse(ENOENT);
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
                return refuse(EBADF);
            base[read] = '\0';
            if (*base != '/')
                return refuse(ENOTDIR);
        }
        const char *seen = vest_seen(base);
        length = strlen(seen);
        memcpy(rest, seen, length);
        rest[length++] = '/';
    }
    if (length + strlen(path) >= PATH_MAX)
        return refuse(ENAMETOOLONG);
    strcpy(rest + length, path);
    return 0;
}

/* Puts a link's target before what is left of the path. */
static int follow_link(const struct vest_place *place, char *rest, const char *remaining, size_t *length)
{
    char target[PATH_MAX], left[PATH_MAX];
    ssize_t read = sys_readlink(vest_readable(place), target, sizeof target - 1);
    if (read < 0)
        return -1;
    target[read] = '\0';
    strcpy(left, remaining);
    if (snprintf(rest, PATH_MAX, "%s%s%s", target, *left ? "/" : "", left) >= PATH_MAX)
        return refuse(ENAMETOOLONG);
    if (*target == '/')
        *length = 0;
    return 0;
}

static void at_root(struct vest_place *place)
{
    strcpy(place->path, "/");
    strcpy(place->upper, layer);
    place->exists = place->in_upper = place->in_lower = place->merged = true;
    place->mode = S_IFDIR | 0755;
}

int vest_locate(int folder, const char *path, bool follow, struct vest_place *place)
{
    char rest[PATH_MAX];
    pthread_once(&once, configure);
    place->kept = false;
    if (begin(folder, path, rest) != 0)
        return -1;
    if (!layer_length) {
        place->kept = true;
        strcpy(place->path, rest);
        return 0;
    }
    size_t length = 0;
    int links = 0;
    bool up = true, low = true;
    for (char *at = rest;;) {
        at += strspn(at, "/");
        size_t name_length = strcspn(at, "/");
        char *next = at + name_length + strspn(at + name_length, "/");
        bool last = !*next;
        if (name_length == 0 || (name_length == 1 && *at == '.')) {
            if (last || name_length == 0) {
                if (length == 0)
                    at_root(place);
                return 0;
            }
            at = next;
            continue;
        }
        if (name_length == 2 && at[0] == '.' && at[1] == '.') {
            char left[PATH_MAX];
            strcpy(left, next);
            while (length > 0 && place->path[--length] != '/')
                ;
            if (snprintf(rest, sizeof rest, "%.*s/%s", (int)length, place->path, left) >= PATH_MAX)
                return refuse(ENAMETOOLONG);
            at = rest, length = 0, up = low = true; /* once more from the root: what was looked up is another folder */
            continue;
        }
        if (!set_path(place, length, at, name_length))
            return refuse(ENAMETOOLONG);
        size_t longer = length + 1 + name_length;
        if (is_kept(place->path)) {
            if (longer + 1 + strlen(next) >= PATH_MAX)
                return refuse(ENAMETOOLONG);
            place->kept = true;
            if (at[name_length])
                place->path[longer++] = '/';
            strcpy(place->path + longer, next);
            return 0;
        }
        look(place, up, low);
        bool last_given = last && !at[name_length]; /* without a slash behind it */
        if (place->exists && S_ISLNK(place->mode) && (!last || follow || !last_given)) {
            if (++links > MAX_LINKS)
                return refuse(ELOOP);
            size_t before = length;
            if (follow_link(place, rest, next, &length) != 0)
                return -1;
            place->path[length] = '\0';
            if (length != before)
                up = low = true;
            at = rest;
            continue;
        }
        if (last)
            return place->exists && !last_given && !S_ISDIR(place->mode) ? refuse(ENOTDIR) : 0;
        if (!place->exists)
            return refuse(ENOENT);
        if (!S_ISDIR(place->mode))
            return refuse(ENOTDIR);
        up = place->in_upper;
        low = place->merged;
        length = longer;
        at = next;
    }
}

static void parent_of(const char *path, char *buffer)
{
    size_t length = (size_t)(strrchr(path, '/') - path);
    memcpy(buffer, path, length);
    strcpy(buffer + length, length ? "" : "/");
}

int vest_may_change(const struct vest_place *place)
{
    char folder[PATH_MAX];
    parent_of(place->upper, folder);
    if (exists(folder))
        return 0; /* asked before, or the job's own */
    parent_of(place->path, folder);
    return (int)syscall(SYS_faccessat, AT_FDCWD, folder, W_OK | X_OK);
}

static void copy_attributes(int file, const struct stat *facts)
{
    struct timespec times[2] = {facts->st_atim, facts->st_mtim};
    syscall(SYS_fchown, file, facts->st_uid, facts->st_gid); /* fails unless root: the copy is the user's */
    syscall(SYS_fchmod, file, facts->st_mode & 07777);
    syscall(SYS_utimensat, file, NULL, times, 0);
}

int vest_make_parents(const struct vest_place *place)
{
    char upper[PATH_MAX];
    strcpy(upper, place->upper);
    for (char *slash = upper + layer_length + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        struct stat real;
        if (sys_mkdir(upper, 0755) == 0) {
            int folder = sys_open(upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
            if (folder >= 0 && sys_lstat(upper + layer_length, &real) == 0) {
                real.st_mode |= 0700;
                copy_attributes(folder, &real);
            }
            if (folder >= 0)
                syscall(SYS_close, folder);
        } else if (errno != EEXIST) {
            return -1;
        }
        *slash = '/';
    }
    return 0;
}

static int copy_content(int from, int to)
{
    for (;;) {
        ssize_t copied = copy_file_range(from, NULL, to, NULL, 1 << 30, 0);
        if (copied == 0)
            break;
        if (copied < 0) {
            char buffer[8192];
            while ((copied = syscall(SYS_read, from, buffer, sizeof buffer)) > 0)
                if (syscall(SYS_write, to, buffer, (size_t)copied) != copied)
                    return -1;
            return (int)copied;
        }
    }
    return 0;
}

/* A copy that nobody sees yet, at `name`. */
static int copy_aside(const char *from, const char *name, const struct stat *facts, bool content)
{
    if (S_ISLNK(facts->st_mode)) {
        char target[PATH_MAX];
        ssize_t length = sys_readlink(from, target, sizeof target - 1);
        if (length < 0)
            return -1;
        target[length] = '\0';
        return (int)syscall(SYS_symlink, target, name);
    }
    if (!S_ISREG(facts->st_mode))
        return refuse(ENOTSUP);
    int source = content ? sys_open(from, O_RDONLY | O_CLOEXEC, 0) : -1;
    int copy = !content || source >= 0 ? sys_open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    int result = copy < 0 ? -1 : content ? copy_content(source, copy) : 0, reason = errno;
    if (copy >= 0) {
        copy_attributes(copy, facts);
        syscall(SYS_close, copy);
    }
    if (source >= 0)
        syscall(SYS_close, source);
    errno = reason;
    return result;
}

int vest_copy_file(const char *from, const char *to, bool content)
{
    struct stat facts;
    char name[PATH_MAX];
    if (sys_lstat(from, &facts) != 0)
        return -1;
    parent_of(to, name);
    size_t end = strlen(name);
    snprintf(name + end, sizeof name - end, "/" PRIVATE_PREFIX "copy.%ld", (long)syscall(SYS_gettid));
    int result = copy_aside(from, name, &facts, content);
    if (result == 0)
        result = (int)syscall(SYS_rename, name, to);
    if (result != 0) {
        int reason = errno;
        sys_unlink(name);
        errno = reason;
    }
    return result;
}

int vest_copy_up(struct vest_place *place, bool content)
{
    if (place->in_upper)
        return 0;
    if (vest_make_parents(place) != 0)
        return -1;
    int result = 0;
    if (S_ISDIR(place->mode)) {
        char inside[PATH_MAX];
        struct vest_place child = {0};
        if (!in_folder(place->upper, "x", inside))
            return refuse(ENAMETOOLONG);
        strcpy(child.upper, inside);
        result = vest_make_parents(&child);
    } else {
        result = vest_copy_file(place->path, place->upper, content);
    }
    place->in_upper = result == 0;
    return result;
}

static int copy_entry(const char *name, void *data)
{
    const struct vest_place *folder = data;
    struct vest_place *entry = malloc(sizeof *entry);
    int result = -1;
    char path[PATH_MAX];
    if (entry && in_folder(folder->path, name, path) && vest_locate(AT_FDCWD, path, false, entry) == 0)
        result = S_ISDIR(entry->mode) ? vest_copy_tree(entry) : vest_copy_up(entry, true);
    free(entry);
    return result;
}

int vest_copy_tree(struct vest_place *place)
{
    bool merged = place->merged;
    if (vest_copy_up(place, true) != 0 || (merged && vest_each(place, copy_entry, place) != 0))
        return -1;
    place->merged = false;
    return merged ? vest_mark_opaque(place->upper) : 0;
}

static int touch(const char *path)
{
    int file = sys_open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return -1;
    syscall(SYS_close, file);
    return 0;
}

int vest_mark_deleted(const struct vest_place *place)
{
    char mark[PATH_MAX];
    if (!mark_path(place->upper, mark))
        return refuse(ENAMETOOLONG);
    return vest_make_parents(place) == 0 ? touch(mark) : -1;
}

void vest_unmark(const struct vest_place *place)
{
    char mark[PATH_MAX];
    int before = errno;
    if (place->in_lower && mark_path(place->upper, mark))
        sys_unlink(mark);
    errno = before;
}

int vest_mark_opaque(const char *upper)
{
    char mark[PATH_MAX];
    return in_folder(upper, OPAQUE_MARK, mark) ? touch(mark) : refuse(ENAMETOOLONG);
}

static DIR *open_real_folder(const char *path)
{
    NEXT(opendir);
    return next_opendir(path);
}

static struct dirent *read_real_folder(DIR *folder)
{
    NEXT(readdir);
    return next_readdir(folder);
}

static void close_real_folder(DIR *folder)
{
    NEXT(closedir);
    next_closedir(folder);
}

int vest_remove_upper_folder(const struct vest_place *place)
{
    DIR *folder = open_real_folder(place->upper);
    char path[PATH_MAX];
    for (struct dirent *entry; folder && (entry = read_real_folder(folder));)
        if (vest_is_private(entry->d_name) && in_folder(place->upper, entry->d_name, path))
            sys_unlink(path);
    if (folder)
        close_real_folder(folder);
    return (int)syscall(SYS_rmdir, place->upper);
}

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

int vest_each(const struct vest_place *place, int (*visit)(const char *name, void *data), void *data)
{
    int result = 0;
    DIR *folder = place->in_upper ? open_real_folder(place->upper) : NULL;
    for (struct dirent *entry; folder && result == 0 && (entry = read_real_folder(folder));)
        if (!is_dots(entry->d_name) && !vest_is_private(entry->d_name))
            result = visit(entry->d_name, data);
    if (folder)
        close_real_folder(folder);
    folder = place->merged && result == 0 ? open_real_folder(place->path) : NULL;
    for (struct dirent *entry; folder && result == 0 && (entry = read_real_folder(folder));)
        if (!is_dots(entry->d_name) && !(place->in_upper && vest_hidden(place->upper, entry->d_name)))
            result = visit(entry->d_name, data);
    if (folder)
        close_real_folder(folder);
    return result;
}
