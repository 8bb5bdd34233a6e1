/* The interposer: protects the user's files where no overlay can be mounted.
 *
 * Preloaded, it redirects every C library call that names a file. What is only read is read where it is; what is
 * written is first copied into the layer, a folder (setting `layer`) that mirrors the file system from its root. A
 * deleted name is marked there by an empty file, a folder that hides what was there before by another. All processes of
 * the job share the layer, and there is no state but these files.
 *
 * Paths in the setting `kept` (one per line), the kernel's own, and byte code of installed packages are left alone.
 *
 * Known limitations: programs that make system calls directly (static ones, Go, some Rust programs) are not redirected;
 * nor are glob(), ftw() and scandir() of the C library. Attributes changed through a descriptor that was opened for
 * reading are applied to a copy.
 */
#ifndef VEST_FILES_LAYER_H
#define VEST_FILES_LAYER_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define PRIVATE_PREFIX ".veritasest-"
#define DELETED_MARK PRIVATE_PREFIX "deleted."
#define OPAQUE_MARK PRIVATE_PREFIX "opaque"

/* One name, looked up in what the job sees. `path` has no symbolic link in it, except perhaps its last part. */
struct vest_place {
    char path[PATH_MAX];
    char upper[PATH_MAX];   /* the same in the layer */
    bool kept;              /* outside the layer: use `path` as it is; nothing else is filled in */
    bool exists, in_upper;  /* it may be in the layer, in the real file system, or (folders) in both */
    bool in_lower;          /* the real file system has that name, deleted or not, where the job would see it */
    bool merged;            /* a folder whose real part shows through */
    mode_t mode;
};

/* 0, or -1 with errno: where a folder on the way is missing. A missing last part is no error. */
int vest_locate(int folder, const char *path, bool follow, struct vest_place *place);

/* Where the place can be read. */
static inline const char *vest_readable(const struct vest_place *place)
{
    return place->kept || !place->in_upper ? place->path : place->upper;
}

int vest_may_change(const struct vest_place *place);  /* 0 if its real folder could be written; else -1 */
int vest_make_parents(const struct vest_place *place);
int vest_copy_up(struct vest_place *place, bool content);
int vest_copy_tree(struct vest_place *place); /* a folder with all that shows through */
int vest_copy_file(const char *from, const char *to, bool content);
int vest_mark_deleted(const struct vest_place *place);
void vest_unmark(const struct vest_place *place);
int vest_mark_opaque(const char *upper);
int vest_remove_upper_folder(const struct vest_place *place); /* an empty one, with its marks */

/* What the job sees of a path that a system call has returned. */
const char *vest_seen(const char *path);

/* Whether the real part's `name` is hidden in the folder `upper`: by a mark, or by what the layer has there. */
bool vest_hidden(const char *upper, const char *name);
static inline bool vest_is_private(const char *name)
{
    return strncmp(name, PRIVATE_PREFIX, sizeof PRIVATE_PREFIX - 1) == 0;
}

/* For the layer's own files. `buffer` has PATH_MAX bytes; false: the path is longer. */
extern char vest_layer[PATH_MAX]; /* its folder */
extern size_t vest_layer_length;  /* 0: there is no layer */
void vest_configure(void);        /* sets the two */
bool vest_is_kept(const char *path);
bool vest_exists(const char *path);
bool vest_mark_path(const char *upper, char *buffer); /* the mark of a deleted name */
bool vest_in_folder(const char *folder, const char *name, char *buffer);
int vest_refuse(int reason); /* sets errno; -1 */

/* Calls `visit` for each name the job sees in a folder but . and .., until it returns non-zero. */
int vest_each(const struct vest_place *folder, int (*visit)(const char *name, void *data), void *data);

/* The next definition: the C library's, or that of another preloaded library. */
#define NEXT(name)                                                                                                     \
    static __typeof__(&name) next_##name;                                                                              \
    if (!next_##name)                                                                                                  \
        next_##name = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* System calls: the C library's functions would lead back here. */
static inline int sys_lstat(const char *path, struct stat *facts)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW);
}
static inline int sys_open(const char *path, int flags, mode_t mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
static inline int sys_unlink(const char *path) { return (int)syscall(SYS_unlink, path); }
static inline int sys_mkdir(const char *path, mode_t mode) { return (int)syscall(SYS_mkdir, path, mode); }
static inline ssize_t sys_readlink(const char *path, char *buffer, size_t size)
{
    return syscall(SYS_readlink, path, buffer, size);
}

#endif
