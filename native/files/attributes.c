/* Calls that read and change the attributes of a file: status, permissions, times, extended attributes. */
#include "layer.h"

#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

/* Where to read a name; NULL with errno when the job sees none. */
static const char *readable(int folder, const char *path, bool follow, struct vest_place *place)
{
    if (!path)
        return vest_refuse(EFAULT), NULL;
    if (vest_locate(folder, path, follow, place) != 0)
        return NULL;
    if (!place->kept && !place->exists)
        return vest_refuse(ENOENT), NULL;
    return vest_readable(place);
}

/* Where to change a name: its copy in the layer. What is not a file has none, and is changed where it is. */
static const char *changeable(int folder, const char *path, bool follow, struct vest_place *place)
{
    const char *found = readable(folder, path, follow, place);
    if (!found || place->kept || place->in_upper)
        return found;
    return vest_copy_up(place, true) == 0 ? place->upper : NULL;
}

static int facts_at(int folder, const char *path, struct stat *facts, int flags)
{
    struct vest_place place;
    if (path && !*path && flags & AT_EMPTY_PATH)
        return (int)syscall(SYS_newfstatat, folder, path, facts, flags);
    const char *found = readable(folder, path, !(flags & AT_SYMLINK_NOFOLLOW), &place);
    return found ? (int)syscall(SYS_newfstatat, AT_FDCWD, found, facts, flags) : -1;
}

#define STAT(suffix)                                                                                                   \
    EXPORT int stat##suffix(const char *path, struct stat##suffix *facts)                                              \
    {                                                                                                                  \
        return facts_at(AT_FDCWD, path, (struct stat *)facts, 0);                                                      \
    }                                                                                                                  \
    EXPORT int lstat##suffix(const char *path, struct stat##suffix *facts)                                             \
    {                                                                                                                  \
        return facts_at(AT_FDCWD, path, (struct stat *)facts, AT_SYMLINK_NOFOLLOW);                                    \
    }                                                                                                                  \
    EXPORT int fstatat##suffix(int folder, const char *path, struct stat##suffix *facts, int flags)                    \
    {                                                                                                                  \
        return facts_at(folder, path, (struct stat *)facts, flags);                                                    \
    }                                                                                                                  \
    /* what programs built before glibc 2.33 call */                                                                   \
    EXPORT int __xstat##suffix(int version, const char *path, struct stat##suffix *facts)                              \
    {                                                                                                                  \
        (void)version;                                                                                                 \
        return facts_at(AT_FDCWD, path, (struct stat *)facts, 0);                                                      \
    }                                                                                                                  \
    EXPORT int __lxstat##suffix(int version, const char *path, struct stat##suffix *facts)                             \
    {                                                                                                                  \
        (void)version;                                                                                                 \
        return facts_at(AT_FDCWD, path, (struct stat *)facts, AT_SYMLINK_NOFOLLOW);                                    \
    }                                                                                                                  \
    EXPORT int __fxstatat##suffix(int version, int folder, const char *path, struct stat##suffix *facts, int flags)    \
    {                                                                                                                  \
        (void)version;                                                                                                 \
        return facts_at(folder, path, (struct stat *)facts, flags);                                                    \
    }
STAT()
STAT(64)

EXPORT int statx(int folder, const char *path, int flags, unsigned mask, struct statx *facts)
{
    struct vest_place place;
    if (!path || (!*path && flags & AT_EMPTY_PATH))
        return (int)syscall(SYS_statx, folder, path, flags, mask, facts);
    const char *found = readable(folder, path, !(flags & AT_SYMLINK_NOFOLLOW), &place);
    return found ? (int)syscall(SYS_statx, AT_FDCWD, found, flags, mask, facts) : -1;
}

EXPORT int faccessat(int folder, const char *path, int how, int flags)
{
    struct vest_place place;
    NEXT(faccessat);
    const char *found = readable(folder, path, !(flags & AT_SYMLINK_NOFOLLOW), &place);
    return found ? next_faccessat(AT_FDCWD, found, how, flags) : -1;
}
EXPORT int access(const char *path, int how) { return faccessat(AT_FDCWD, path, how, 0); }
EXPORT int eaccess(const char *path, int how) { return faccessat(AT_FDCWD, path, how, AT_EACCESS); }
EXPORT int euidaccess(const char *path, int how) { return faccessat(AT_FDCWD, path, how, AT_EACCESS); }

EXPORT ssize_t readlinkat(int folder, const char *path, char *buffer, size_t size)
{
    struct vest_place place;
    if (path && !*path)
        return syscall(SYS_readlinkat, folder, path, buffer, size);
    const char *found = readable(folder, path, false, &place);
    ssize_t length = found ? sys_readlink(found, buffer, size) : -1;
    if (length > 0 && place.kept && (size_t)length < size) { /* a descriptor's name, in /proc */
        buffer[length] = '\0';
        const char *seen = vest_seen(buffer);
        length = (ssize_t)strlen(seen);
        memmove(buffer, seen, (size_t)length);
    }
    return length;
}
EXPORT ssize_t readlink(const char *path, char *buffer, size_t size)
{
    return readlinkat(AT_FDCWD, path, buffer, size);
}
EXPORT ssize_t __readlink_chk(const char *path, char *buffer, size_t size, size_t room)
{
    return readlinkat(AT_FDCWD, path, buffer, size < room ? size : room);
}
EXPORT ssize_t __readlinkat_chk(int folder, const char *path, char *buffer, size_t size, size_t room)
{
    return readlinkat(folder, path, buffer, size < room ? size : room);
}

/* name(path, ...) with the path redirected to where it can be read or changed. */
#define REDIRECT(how, follow, result, name, parameters, arguments)                                                     \
    EXPORT result name parameters                                                                                      \
    {                                                                                                                  \
        struct vest_place place;                                                                                       \
        NEXT(name);                                                                                                    \
        const char *found = how(AT_FDCWD, path, follow, &place);                                                       \
        return found ? next_##name arguments : -1;                                                                     \
    }
REDIRECT(readable, true, int, statfs, (const char *path, struct statfs *facts), (found, facts))
REDIRECT(readable, true, int, statfs64, (const char *path, struct statfs64 *facts), (found, facts))
REDIRECT(readable, true, int, statvfs, (const char *path, struct statvfs *facts), (found, facts))
REDIRECT(readable, true, int, statvfs64, (const char *path, struct statvfs64 *facts), (found, facts))
REDIRECT(readable, true, ssize_t, getxattr, (const char *path, const char *name, void *value, size_t size),
         (found, name, value, size))
REDIRECT(readable, false, ssize_t, lgetxattr, (const char *path, const char *name, void *value, size_t size),
         (found, name, value, size))
REDIRECT(readable, true, ssize_t, listxattr, (const char *path, char *list, size_t size), (found, list, size))
REDIRECT(readable, false, ssize_t, llistxattr, (const char *path, char *list, size_t size), (found, list, size))
REDIRECT(changeable, true, int, setxattr,
         (const char *path, const char *name, const void *value, size_t size, int flags),
         (found, name, value, size, flags))
REDIRECT(changeable, false, int, lsetxattr,
         (const char *path, const char *name, const void *value, size_t size, int flags),
         (found, name, value, size, flags))
REDIRECT(changeable, true, int, removexattr, (const char *path, const char *name), (found, name))
REDIRECT(changeable, false, int, lremovexattr, (const char *path, const char *name), (found, name))
REDIRECT(changeable, true, int, truncate, (const char *path, off_t size), (found, size))
REDIRECT(changeable, true, int, truncate64, (const char *path, off64_t size), (found, size))
REDIRECT(changeable, true, int, chmod, (const char *path, mode_t mode), (found, mode))
REDIRECT(changeable, true, int, chown, (const char *path, uid_t user, gid_t group), (found, user, group))
REDIRECT(changeable, false, int, lchown, (const char *path, uid_t user, gid_t group), (found, user, group))
REDIRECT(changeable, true, int, utime, (const char *path, const struct utimbuf *times), (found, times))
REDIRECT(changeable, true, int, utimes, (const char *path, const struct timeval times[2]), (found, times))
REDIRECT(changeable, false, int, lutimes, (const char *path, const struct timeval times[2]), (found, times))

EXPORT int fchmodat(int folder, const char *path, mode_t mode, int flags)
{
    struct vest_place place;
    NEXT(fchmodat);
    const char *found = changeable(folder, path, !(flags & AT_SYMLINK_NOFOLLOW), &place);
    return found ? next_fchmodat(AT_FDCWD, found, mode, flags) : -1;
}

EXPORT int fchownat(int folder, const char *path, uid_t user, gid_t group, int flags)
{
    struct vest_place place;
    if (path && !*path && flags & AT_EMPTY_PATH)
        return fchown(folder, user, group);
    const char *found = changeable(folder, path, !(flags & AT_SYMLINK_NOFOLLOW), &place);
    return found ? (int)syscall(SYS_fchownat, AT_FDCWD, found, user, group, flags) : -1;
}

/* The copy of a file that was opened for reading, so that its attributes are changed there; NULL if `file` itself is to
 * be changed: it was opened in the layer, or has no name. */
static const char *copy_of(int file, struct vest_place *place)
{
    char link[64], path[PATH_MAX];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = sys_readlink(link, path, sizeof path - 1);
    errno = before;
    if (length <= 0 || *path != '/')
        return NULL;
    path[length] = '\0';
    struct stat facts;
    const char *seen = vest_seen(path);
    if (seen != path || sys_lstat(path, &facts) != 0 || vest_locate(AT_FDCWD, path, false, place) != 0 || place->kept ||
        !place->exists) {
        errno = before;
        return NULL;
    }
    return vest_copy_up(place, true) == 0 ? place->upper : NULL;
}

EXPORT int fchmod(int file, mode_t mode)
{
    struct vest_place place;
    const char *copy = copy_of(file, &place);
    return (int)(copy ? syscall(SYS_chmod, copy, mode) : syscall(SYS_fchmod, file, mode));
}

EXPORT int fchown(int file, uid_t user, gid_t group)
{
    struct vest_place place;
    const char *copy = copy_of(file, &place);
    return (int)(copy ? syscall(SYS_chown, copy, user, group) : syscall(SYS_fchown, file, user, group));
}

static int set_times(int folder, const char *path, const struct timespec times[2], int flags)
{
    struct vest_place place;
    const bool follow = !(flags & AT_SYMLINK_NOFOLLOW);
    const char *found = path ? changeable(folder, path, follow, &place) : copy_of(folder, &place);
    if (found)
        return (int)syscall(SYS_utimensat, AT_FDCWD, found, times, flags);
    return path ? -1 : (int)syscall(SYS_utimensat, folder, NULL, times, flags);
}
EXPORT int utimensat(int folder, const char *path, const struct timespec times[2], int flags)
{
    return set_times(folder, path, times, flags);
}
EXPORT int futimens(int file, const struct timespec times[2]) { return set_times(file, NULL, times, 0); }
