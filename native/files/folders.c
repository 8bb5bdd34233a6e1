/* Calls that list folders, and the working directory. A folder of which the layer has a part is listed as the job sees
 * it; the stream handed out is a real one, of the layer's part. */
#include "layer.h"

#include <dirent.h>
#include <pthread.h>

struct listing {
    struct listing *next;
    DIR *stream;
    struct vest_place *place;
    struct dirent64 *entries;
    size_t count, room, at;
};

_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "one layout for both");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct listing *listings;

static void hold(void) { pthread_mutex_lock(&lock); }
static void release(void) { pthread_mutex_unlock(&lock); }
__attribute__((constructor)) static void hold_across_fork(void) { pthread_atfork(hold, release, release); }

static int add(const char *name, void *data)
{
    struct listing *listing = data;
    if (listing->count == listing->room) {
        size_t room = listing->room ? 2 * listing->room : 32;
        void *longer = realloc(listing->entries, room * sizeof *listing->entries);
        if (!longer)
            return -1;
        listing->entries = longer;
        listing->room = room;
    }
    struct dirent64 *entry = &listing->entries[listing->count];
    memset(entry, 0, sizeof *entry);
    snprintf(entry->d_name, sizeof entry->d_name, "%s", name);
    entry->d_type = DT_UNKNOWN;
    entry->d_reclen = sizeof *entry;
    char path[PATH_MAX];
    struct stat facts;
    const char *folders[] = {listing->place->upper, listing->place->path};
    for (int i = listing->place->in_upper ? 0 : 1; i < 2; i++)
        if (snprintf(path, sizeof path, "%s/%s", folders[i], name) < (int)sizeof path && sys_lstat(path, &facts) == 0) {
            entry->d_ino = facts.st_ino;
            entry->d_type = IFTODT(facts.st_mode);
            break;
        }
    entry->d_off = (off64_t)++listing->count;
    return 0;
}

static int fill(struct listing *listing)
{
    listing->count = listing->at = 0;
    if (add(".", listing) != 0 || add("..", listing) != 0)
        return -1;
    return vest_each(listing->place, add, listing);
}

static void forget(struct listing *listing)
{
    free(listing->entries);
    free(listing->place);
    free(listing);
}

/* Remembers that this stream reads a folder that is partly in the layer. Owns `place` from now on. */
static bool list(DIR *stream, struct vest_place *place)
{
    struct listing *listing = calloc(1, sizeof *listing);
    if (!listing) {
        free(place);
        return false;
    }
    *listing = (struct listing){.stream = stream, .place = place};
    if (fill(listing) != 0) {
        forget(listing);
        return false;
    }
    hold();
    listing->next = listings;
    listings = listing;
    release();
    return true;
}

static struct listing *find(DIR *stream)
{
    if (!__atomic_load_n(&listings, __ATOMIC_ACQUIRE))
        return NULL;
    hold();
    struct listing *listing = listings;
    while (listing && listing->stream != stream)
        listing = listing->next;
    release();
    return listing;
}

static DIR *failed(struct vest_place *place)
{
    int reason = errno;
    free(place);
    errno = reason;
    return NULL;
}

EXPORT DIR *opendir(const char *path)
{
    NEXT(opendir);
    NEXT(closedir);
    struct vest_place *place = malloc(sizeof *place);
    if (!place || vest_locate(AT_FDCWD, path, true, place) != 0)
        return failed(place);
    if (!place->kept && !place->exists) {
        errno = ENOENT;
        return failed(place);
    }
    DIR *stream = next_opendir(vest_readable(place));
    if (!stream || place->kept || !place->in_upper) {
        failed(place);
        return stream;
    }
    if (list(stream, place))
        return stream;
    next_closedir(stream);
    errno = ENOMEM;
    return NULL;
}

EXPORT DIR *fdopendir(int folder)
{
    NEXT(fdopendir);
    struct vest_place *place = malloc(sizeof *place);
    DIR *stream = next_fdopendir(folder);
    int before = errno;
    if (stream && place && vest_locate(folder, ".", true, place) == 0 && !place->kept && place->in_upper)
        list(stream, place);
    else
        free(place);
    errno = before;
    return stream;
}

EXPORT struct dirent64 *readdir64(DIR *stream)
{
    NEXT(readdir64);
    struct listing *listing = find(stream);
    if (!listing)
        return next_readdir64(stream);
    return listing->at < listing->count ? &listing->entries[listing->at++] : NULL;
}
EXPORT struct dirent *readdir(DIR *stream) { return (struct dirent *)readdir64(stream); }

EXPORT void rewinddir(DIR *stream)
{
    NEXT(rewinddir);
    struct listing *listing = find(stream);
    if (listing)
        fill(listing);
    next_rewinddir(stream);
}

EXPORT long telldir(DIR *stream)
{
    NEXT(telldir);
    struct listing *listing = find(stream);
    return listing ? (long)listing->at : next_telldir(stream);
}

EXPORT void seekdir(DIR *stream, long at)
{
    NEXT(seekdir);
    struct listing *listing = find(stream);
    if (listing)
        listing->at = (size_t)at;
    else
        next_seekdir(stream, at);
}

EXPORT int closedir(DIR *stream)
{
    NEXT(closedir);
    struct listing *listing = find(stream);
    if (listing) {
        hold();
        struct listing **link = &listings;
        while (*link != listing)
            link = &(*link)->next;
        *link = listing->next;
        release();
        forget(listing);
    }
    return next_closedir(stream);
}

EXPORT int chdir(const char *path)
{
    struct vest_place place;
    if (vest_locate(AT_FDCWD, path, true, &place) != 0)
        return -1;
    if (!place.kept && !place.exists) {
        errno = ENOENT;
        return -1;
    }
    return (int)syscall(SYS_chdir, vest_readable(&place));
}

EXPORT char *getcwd(char *buffer, size_t size)
{
    char path[PATH_MAX];
    if (syscall(SYS_getcwd, path, sizeof path) < 0)
        return NULL;
    struct vest_place unused;
    vest_locate(AT_FDCWD, "/", true, &unused); /* so that the layer is known */
    const char *seen = vest_seen(path);
    size_t needed = strlen(seen) + 1;
    if (size && size < needed) {
        errno = ERANGE;
        return NULL;
    }
    if (!buffer && !(buffer = malloc(size ? size : needed)))
        return NULL;
    return memcpy(buffer, seen, needed);
}
EXPORT char *__getcwd_chk(char *buffer, size_t size, size_t room) { return getcwd(buffer, size < room ? size : room); }
EXPORT char *get_current_dir_name(void) { return getcwd(NULL, 0); }

EXPORT char *realpath(const char *path, char *resolved)
{
    struct vest_place place;
    NEXT(realpath);
    if (!path || vest_locate(AT_FDCWD, path, true, &place) != 0) {
        errno = path ? errno : EINVAL;
        return NULL;
    }
    if (place.kept)
        return next_realpath(place.path, resolved);
    if (!place.exists) {
        errno = ENOENT;
        return NULL;
    }
    if (!resolved)
        return strdup(place.path);
    return strcpy(resolved, place.path);
}
EXPORT char *__realpath_chk(const char *path, char *resolved, size_t room)
{
    (void)room;
    return realpath(path, resolved);
}
EXPORT char *canonicalize_file_name(const char *path) { return realpath(path, NULL); }
