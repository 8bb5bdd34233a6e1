/* Calls that make, move and remove names. */
#include "layer.h"

#include <linux/fs.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Finds a name that is to be made, and makes its folder in the layer. */
static int locate_new(int folder, const char *path, struct vest_place *place)
{
    if (vest_locate(folder, path, false, place) != 0)
        return -1;
    if (place->kept)
        return 0;
    if (place->exists)
        return vest_refuse(EEXIST);
    return vest_may_change(place) == 0 ? vest_make_parents(place) : -1;
}

static const char *new_path(const struct vest_place *place) { return place->kept ? place->path : place->upper; }

static int made(int result, const struct vest_place *place)
{
    if (result == 0 && !place->kept)
        vest_unmark(place);
    return result;
}

static int one_name(const char *name, void *data)
{
    (void)name, (void)data;
    return 1;
}

static int remove_file(int folder, const char *path)
{
    struct vest_place place;
    if (vest_locate(folder, path, false, &place) != 0)
        return -1;
    if (place.kept)
        return sys_unlink(place.path);
    if (!place.exists)
        return vest_refuse(ENOENT);
    if (S_ISDIR(place.mode))
        return vest_refuse(EISDIR);
    if (vest_may_change(&place) != 0 || (place.in_lower && vest_mark_deleted(&place) != 0))
        return -1;
    return place.in_upper ? sys_unlink(place.upper) : 0;
}

static int remove_folder(int folder, const char *path)
{
    struct vest_place place;
    if (vest_locate(folder, path, false, &place) != 0)
        return -1;
    if (place.kept)
        return (int)syscall(SYS_rmdir, place.path);
    if (!place.exists)
        return vest_refuse(ENOENT);
    if (!S_ISDIR(place.mode))
        return vest_refuse(ENOTDIR);
    if (vest_each(&place, one_name, NULL) != 0)
        return vest_refuse(ENOTEMPTY);
    if (vest_may_change(&place) != 0 || (place.in_lower && vest_mark_deleted(&place) != 0))
        return -1;
    return place.in_upper ? vest_remove_upper_folder(&place) : 0;
}

EXPORT int unlinkat(int folder, const char *path, int flags)
{
    return flags & AT_REMOVEDIR ? remove_folder(folder, path) : remove_file(folder, path);
}
EXPORT int unlink(const char *path) { return remove_file(AT_FDCWD, path); }
EXPORT int rmdir(const char *path) { return remove_folder(AT_FDCWD, path); }
EXPORT int remove(const char *path)
{
    int result = remove_file(AT_FDCWD, path);
    return result != 0 && errno == EISDIR ? remove_folder(AT_FDCWD, path) : result;
}

EXPORT int mkdirat(int folder, const char *path, mode_t mode)
{
    struct vest_place place;
    if (locate_new(folder, path, &place) != 0)
        return -1;
    int result = sys_mkdir(new_path(&place), mode);
    if (result == 0 && !place.kept && place.in_lower)
        result = vest_mark_opaque(place.upper);
    return made(result, &place);
}
EXPORT int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

EXPORT int mknodat(int folder, const char *path, mode_t mode, dev_t device)
{
    struct vest_place place;
    if (locate_new(folder, path, &place) != 0)
        return -1;
    return made((int)syscall(SYS_mknodat, AT_FDCWD, new_path(&place), mode, device), &place);
}
EXPORT int mknod(const char *path, mode_t mode, dev_t device) { return mknodat(AT_FDCWD, path, mode, device); }
EXPORT int mkfifoat(int folder, const char *path, mode_t mode) { return mknodat(folder, path, mode | S_IFIFO, 0); }
EXPORT int mkfifo(const char *path, mode_t mode) { return mknodat(AT_FDCWD, path, mode | S_IFIFO, 0); }
EXPORT int __xmknod(int version, const char *path, mode_t mode, dev_t *device)
{
    (void)version;
    return mknodat(AT_FDCWD, path, mode, *device);
}

EXPORT int symlinkat(const char *target, int folder, const char *path)
{
    struct vest_place place;
    if (locate_new(folder, path, &place) != 0)
        return -1;
    return made((int)syscall(SYS_symlink, target, new_path(&place)), &place);
}
EXPORT int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }

EXPORT int linkat(int old_folder, const char *old_path, int new_folder, const char *path, int flags)
{
    struct vest_place old, place;
    if (flags & AT_EMPTY_PATH && !*old_path) {
        if (locate_new(new_folder, path, &place) != 0)
            return -1;
        return made((int)syscall(SYS_linkat, old_folder, "", AT_FDCWD, new_path(&place), flags), &place);
    }
    if (vest_locate(old_folder, old_path, flags & AT_SYMLINK_FOLLOW, &old) != 0)
        return -1;
    if (!old.kept && !old.exists)
        return vest_refuse(ENOENT);
    if (!old.kept && S_ISDIR(old.mode))
        return vest_refuse(EPERM);
    if (locate_new(new_folder, path, &place) != 0 || (!old.kept && vest_copy_up(&old, true) != 0))
        return -1;
    /* A descriptor by its name in /proc is the one case where the kernel must follow (O_TMPFILE). */
    return made((int)syscall(SYS_linkat, AT_FDCWD, vest_readable(&old), AT_FDCWD, new_path(&place),
                             old.kept ? flags : 0),
                &place);
}
EXPORT int link(const char *old_path, const char *path) { return linkat(AT_FDCWD, old_path, AT_FDCWD, path, 0); }

static int check_replaced(const struct vest_place *old, const struct vest_place *new, unsigned flags)
{
    if (flags & ~(unsigned)RENAME_NOREPLACE)
        return vest_refuse(EINVAL);
    if (!new->exists)
        return 0;
    if (flags & RENAME_NOREPLACE)
        return vest_refuse(EEXIST);
    if (S_ISDIR(new->mode) != S_ISDIR(old->mode))
        return vest_refuse(S_ISDIR(new->mode) ? EISDIR : ENOTDIR);
    return S_ISDIR(new->mode) && vest_each(new, one_name, NULL) != 0 ? vest_refuse(ENOTEMPTY) : 0;
}

static int move_folder(struct vest_place *old, const struct vest_place *new)
{
    if (vest_copy_tree(old) != 0)
        return -1;
    if (new->exists && new->in_upper && vest_remove_upper_folder(new) != 0)
        return -1;
    if (new->in_lower && vest_mark_opaque(old->upper) != 0)
        return -1;
    return (int)syscall(SYS_rename, old->upper, new->upper);
}

static int move_file(const struct vest_place *old, const struct vest_place *new)
{
    if (old->in_upper)
        return (int)syscall(SYS_rename, old->upper, new->upper);
    return vest_copy_file(old->path, new->upper, true);
}

/* Between the layer and what is kept out of it. */
static int move_across(struct vest_place *old, struct vest_place *new, unsigned flags)
{
    if (!old->kept && !old->exists)
        return vest_refuse(ENOENT);
    if (!new->kept && (vest_may_change(new) != 0 || vest_make_parents(new) != 0))
        return -1;
    if (!old->kept && vest_copy_up(old, true) != 0)
        return -1;
    if (syscall(SYS_renameat2, AT_FDCWD, vest_readable(old), AT_FDCWD, new_path(new), flags) != 0)
        return -1;
    if (!new->kept)
        vest_unmark(new);
    return !old->kept && old->in_lower ? vest_mark_deleted(old) : 0;
}

/* "." and ".." cannot be moved. */
static bool ends_in_dots(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

EXPORT int renameat2(int old_folder, const char *old_path, int new_folder, const char *new_name, unsigned flags)
{
    struct vest_place old, new;
    if (vest_locate(old_folder, old_path, false, &old) != 0 || vest_locate(new_folder, new_name, false, &new) != 0)
        return -1;
    if (ends_in_dots(old_path) || ends_in_dots(new_name))
        return vest_refuse(EBUSY);
    if (old.kept || new.kept)
        return old.kept && new.kept ? (int)syscall(SYS_renameat2, AT_FDCWD, old.path, AT_FDCWD, new.path, flags)
                                    : move_across(&old, &new, flags);
    if (!old.exists)
        return vest_refuse(ENOENT);
    if (strcmp(old.path, new.path) == 0)
        return 0;
    size_t length = strlen(old.path);
    if (S_ISDIR(old.mode) && strncmp(old.path, new.path, length) == 0 && new.path[length] == '/')
        return vest_refuse(EINVAL);
    if (check_replaced(&old, &new, flags) != 0 || vest_may_change(&old) != 0 || vest_may_change(&new) != 0 ||
        vest_make_parents(&new) != 0)
        return -1;
    if ((S_ISDIR(old.mode) ? move_folder(&old, &new) : move_file(&old, &new)) != 0)
        return -1;
    vest_unmark(&new);
    return old.in_lower ? vest_mark_deleted(&old) : 0;
}
EXPORT int renameat(int old_folder, const char *old_path, int new_folder, const char *new_path_)
{
    return renameat2(old_folder, old_path, new_folder, new_path_, 0);
}
EXPORT int rename(const char *old_path, const char *new_path_)
{
    return renameat2(AT_FDCWD, old_path, AT_FDCWD, new_path_, 0);
}

/* Sockets with a name, where the layer's path still fits into the address. */
static const struct sockaddr *led(const struct sockaddr *address, socklen_t *size, bool create,
                                  struct sockaddr_un *buffer, struct vest_place *place)
{
    const struct sockaddr_un *named = (const void *)address;
    char path[sizeof named->sun_path + 1] = "";
    place->kept = true;
    if (!address || *size <= offsetof(struct sockaddr_un, sun_path) || *size > sizeof *named ||
        named->sun_family != AF_UNIX || !named->sun_path[0])
        return address;
    memcpy(path, named->sun_path, *size - offsetof(struct sockaddr_un, sun_path));
    int before = errno;
    bool found = create ? locate_new(AT_FDCWD, path, place) == 0
                        : vest_locate(AT_FDCWD, path, true, place) == 0 && !place->kept && place->in_upper;
    errno = before;
    if (!found || place->kept || strlen(place->upper) >= sizeof buffer->sun_path) {
        place->kept = true;
        return address;
    }
    *buffer = (struct sockaddr_un){.sun_family = AF_UNIX};
    strcpy(buffer->sun_path, place->upper);
    *size = sizeof *buffer;
    return (const struct sockaddr *)buffer;
}

EXPORT int bind(int socket, const struct sockaddr *address, socklen_t size)
{
    struct sockaddr_un buffer;
    struct vest_place place;
    address = led(address, &size, true, &buffer, &place);
    return made((int)syscall(SYS_bind, socket, address, size), &place);
}

EXPORT int connect(int socket, const struct sockaddr *address, socklen_t size)
{
    struct sockaddr_un buffer;
    struct vest_place place;
    NEXT(connect);
    address = led(address, &size, false, &buffer, &place);
    return next_connect(socket, address, size);
}
