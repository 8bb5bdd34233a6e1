/* Calls that open files, and run programs. */
#include "layer.h"

#include <spawn.h>
#include <stdarg.h>
#include <time.h>

/* Makes `place` fit for an open with these flags. Returns the path to open, or NULL with errno. */
static const char *prepare(int folder, const char *path, int flags, struct vest_place *place)
{
    bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
    bool exclusive = (flags & O_CREAT) && (flags & O_EXCL);
    if (vest_locate(folder, path, !(flags & O_NOFOLLOW) && !exclusive, place) != 0)
        return NULL;
    if (place->kept)
        return place->path;
    if ((flags & O_TMPFILE) == O_TMPFILE)
        return !place->exists                          ? (vest_refuse(ENOENT), NULL)
               : vest_copy_up(place, true) == 0        ? place->upper
                                                       : NULL;
    if (!place->exists) {
        if (!(flags & O_CREAT))
            return vest_refuse(ENOENT), NULL;
        return vest_may_change(place) == 0 && vest_make_parents(place) == 0 ? place->upper : NULL;
    }
    if (exclusive)
        return vest_refuse(EEXIST), NULL;
    if (!writes || flags & O_PATH || place->in_upper || !S_ISREG(place->mode))
        return vest_readable(place); /* the kernel refuses to open a folder for writing */
    if (syscall(SYS_faccessat, AT_FDCWD, place->path, W_OK) != 0)
        return NULL;
    return vest_copy_up(place, !(flags & O_TRUNC)) == 0 ? place->upper : NULL;
}

static void opened(bool well, const struct vest_place *place)
{
    if (well && !place->kept && !place->exists)
        vest_unmark(place);
}

static int open_file(int folder, const char *path, int flags, mode_t mode)
{
    struct vest_place place;
    const char *target = prepare(folder, path, flags, &place);
    if (!target)
        return -1;
    int file = sys_open(target, flags, mode);
    opened(file >= 0, &place);
    return file;
}

static mode_t mode_in(int flags, va_list arguments)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name, ...)                                                                                                \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode_t mode = mode_in(flags, arguments);                                                                       \
        va_end(arguments);                                                                                             \
        return open_file(__VA_ARGS__, path, flags, mode);                                                              \
    }
EXPORT int open(const char *path, int flags, ...) OPEN(open, AT_FDCWD)
EXPORT int open64(const char *path, int flags, ...) OPEN(open64, AT_FDCWD)
EXPORT int openat(int folder, const char *path, int flags, ...) OPEN(openat, folder)
EXPORT int openat64(int folder, const char *path, int flags, ...) OPEN(openat64, folder)

/* What the fortified headers call when no mode is given. */
EXPORT int __open_2(const char *path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
EXPORT int __open64_2(const char *path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
EXPORT int __openat_2(int folder, const char *path, int flags) { return open_file(folder, path, flags, 0); }
EXPORT int __openat64_2(int folder, const char *path, int flags) { return open_file(folder, path, flags, 0); }

#define CREATING (O_CREAT | O_WRONLY | O_TRUNC)
EXPORT int creat(const char *path, mode_t mode) { return open_file(AT_FDCWD, path, CREATING, mode); }
EXPORT int creat64(const char *path, mode_t mode) { return open_file(AT_FDCWD, path, CREATING, mode); }

static int stream_flags(const char *mode)
{
    int both = strchr(mode, '+') ? O_RDWR : 0;
    int exclusive = strchr(mode, 'x') ? O_EXCL : 0;
    if (mode[0] == 'w')
        return (both ? both : O_WRONLY) | O_CREAT | O_TRUNC | exclusive;
    if (mode[0] == 'a')
        return (both ? both : O_WRONLY) | O_CREAT | O_APPEND | exclusive;
    return both;
}

#define FOPEN(name)                                                                                                    \
    EXPORT FILE *name(const char *path, const char *mode)                                                              \
    {                                                                                                                  \
        struct vest_place place;                                                                                       \
        NEXT(name);                                                                                                    \
        const char *target = prepare(AT_FDCWD, path, stream_flags(mode), &place);                                      \
        FILE *stream = target ? next_##name(target, mode) : NULL;                                                      \
        opened(stream, &place);                                                                                        \
        return stream;                                                                                                 \
    }
FOPEN(fopen)
FOPEN(fopen64)

#define FREOPEN(name)                                                                                                  \
    EXPORT FILE *name(const char *path, const char *mode, FILE *stream)                                                \
    {                                                                                                                  \
        struct vest_place place;                                                                                       \
        NEXT(name);                                                                                                    \
        const char *target = path ? prepare(AT_FDCWD, path, stream_flags(mode), &place) : NULL;                        \
        FILE *again = next_##name(target ? target : path, mode, stream);                                               \
        opened(again && target, &place);                                                                               \
        return again;                                                                                                  \
    }
FREOPEN(freopen)
FREOPEN(freopen64)

/* The C library's own go to the kernel without passing open(). */
static void fill(char *letters)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    static unsigned long counter;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned long value = (unsigned long)now.tv_nsec * 2654435761u + (unsigned long)now.tv_sec * 40503u +
                          (unsigned long)getpid() * 7919u + __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED) * 104729u;
    for (int i = 0; i < 6; i++, value = value / 62 * 31 + value % 9973)
        letters[i] = alphabet[value % 62];
}

static int make_temporary(char *template, int suffix, int flags, bool folder)
{
    size_t length = strlen(template);
    if (suffix < 0 || length < 6 + (size_t)suffix || memcmp(template + length - (size_t)suffix - 6, "XXXXXX", 6) != 0)
        return vest_refuse(EINVAL);
    for (int attempts = 0; attempts < 1000; attempts++) {
        fill(template + length - (size_t)suffix - 6);
        int made = folder ? mkdir(template, 0700)
                          : open_file(AT_FDCWD, template, flags | O_RDWR | O_CREAT | O_EXCL, 0600);
        if (made >= 0 || errno != EEXIST)
            return made;
    }
    return vest_refuse(EEXIST);
}

EXPORT int mkstemp(char *template) { return make_temporary(template, 0, 0, false); }
EXPORT int mkstemp64(char *template) { return make_temporary(template, 0, 0, false); }
EXPORT int mkostemp(char *template, int flags) { return make_temporary(template, 0, flags, false); }
EXPORT int mkostemp64(char *template, int flags) { return make_temporary(template, 0, flags, false); }
EXPORT int mkstemps(char *template, int suffix) { return make_temporary(template, suffix, 0, false); }
EXPORT int mkstemps64(char *template, int suffix) { return make_temporary(template, suffix, 0, false); }
EXPORT int mkostemps(char *template, int suffix, int flags) { return make_temporary(template, suffix, flags, false); }
EXPORT char *mkdtemp(char *template) { return make_temporary(template, 0, 0, true) == 0 ? template : NULL; }

/* A program that the job has written itself. */
static const char *program(const char *path, struct vest_place *place)
{
    int before = errno;
    bool found = strchr(path, '/') && vest_locate(AT_FDCWD, path, true, place) == 0 && !place->kept && place->exists;
    errno = before;
    return found && place->in_upper ? place->upper : path;
}

EXPORT int execve(const char *path, char *const words[], char *const environment[])
{
    struct vest_place place;
    return (int)syscall(SYS_execve, program(path, &place), words, environment);
}
EXPORT int execv(const char *path, char *const words[]) { return execve(path, words, environ); }

EXPORT int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const words[], char *const environment[])
{
    struct vest_place place;
    NEXT(posix_spawn);
    return next_posix_spawn(child, program(path, &place), actions, attributes, words, environment);
}
