/* Makes the layer's copies of what the job changes. See layer.h. */
#include "layer.h"

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
    if (vest_exists(folder))
        return 0; /* checked before, or made by the job */
    parent_of(place->path, folder);
    return (int)syscall(SYS_faccessat, AT_FDCWD, folder, W_OK | X_OK);
}

static void copy_attributes(int file, const struct stat *facts)
{
    struct timespec times[2] = {facts->st_atim, facts->st_mtim};
    syscall(SYS_fchown, file, facts->st_uid, facts->st_gid); /* fails unless root: then the copy is the user's */
    syscall(SYS_fchmod, file, facts->st_mode & 07777);
    syscall(SYS_utimensat, file, NULL, times, 0);
}

int vest_make_parents(const struct vest_place *place)
{
    char upper[PATH_MAX];
    strcpy(upper, place->upper);
    for (char *slash = upper + vest_layer_length + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        struct stat real;
        if (sys_mkdir(upper, 0755) == 0) {
            int folder = sys_open(upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
            if (folder >= 0 && sys_lstat(upper + vest_layer_length, &real) == 0) {
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

/* A copy at `name`, where the job does not see it yet. */
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
        return vest_refuse(ENOTSUP);
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
        if (!vest_in_folder(place->upper, "x", inside))
            return vest_refuse(ENAMETOOLONG);
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
    if (entry && vest_in_folder(folder->path, name, path) && vest_locate(AT_FDCWD, path, false, entry) == 0)
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
