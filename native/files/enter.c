/* Starts the job in its own mount namespace, where overlays catch all it writes (launch/files/overlay.py plans them).
 *
 *   veritasest-enter STATUS_FD step... exec command...
 *
 *   user UID GID                     a user namespace first, for those who are not root; the ids stay as they are
 *   overlay LOWER TARGET UPPER WORK OPTIONS
 *   overlay-or-readonly ...          the same; a file system that cannot be the lower part of one becomes read-only
 *   bind SOURCE TARGET               as it is outside, with all that is mounted below
 *   readonly SOURCE TARGET
 *   root FOLDER                      becomes the root
 *   set NAME=VALUE                   for the job's environment only: this program must not load the stand-ins
 *   folder PATH                      the working directory
 *
 * The command replaces this program: process, session, descriptors and signals are those of a plain start. Until then
 * STATUS_FD reports what failed, as "step errno"; it closes when the command runs. Every path is opened before the
 * first mount, since an overlay hides what is below it, and named by its descriptor, since paths may have commas and
 * colons.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_STEPS 512

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#define ATTRIBUTE_READONLY 1 /* MOUNT_ATTR_RDONLY */

extern char **environ;

static int status;

static const struct verb {
    const char *name;
    int words, paths; /* how many of the words are paths to open beforehand */
} verbs[] = {
    {"user", 2, 0}, {"overlay", 5, 4}, {"overlay-or-readonly", 5, 4}, {"bind", 2, 1}, {"readonly", 2, 1},
    {"root", 1, 0}, {"set", 1, 0},     {"folder", 1, 0},
};

struct step {
    const struct verb *verb;
    char **words;
    int fds[4];
};

_Noreturn static void fail(const char *what)
{
    dprintf(status, "%s %d", what, errno);
    _exit(126);
}

static bool is(const struct step *step, const char *name) { return strcmp(step->verb->name, name) == 0; }

static void write_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
        fail("user");
    close(file);
}

static void enter_user_namespace(const char *uid, const char *gid)
{
    char line[64];
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        fail("user");
    write_file("/proc/self/setgroups", "deny");
    snprintf(line, sizeof line, "%s %s 1", uid, uid);
    write_file("/proc/self/uid_map", line);
    snprintf(line, sizeof line, "%s %s 1", gid, gid);
    write_file("/proc/self/gid_map", line);
}

static void enter_namespace(const struct step *first)
{
    if (is(first, "user"))
        enter_user_namespace(first->words[0], first->words[1]);
    else if (unshare(CLONE_NEWNS) != 0)
        fail("unshare");
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        fail("slave");
}

static const char *fd_path(int fd, char *buffer)
{
    sprintf(buffer, "/proc/self/fd/%d", fd);
    return buffer;
}

static int bind(int source, const char *target, bool all)
{
    char from[32];
    return mount(fd_path(source, from), target, NULL, all ? MS_BIND | MS_REC : MS_BIND, NULL);
}

static int bind_readonly(int source, const char *target)
{
    struct mount_attr attributes = {.attr_set = ATTRIBUTE_READONLY};
    if (bind(source, target, false) != 0)
        return -1;
    return (int)syscall(SYS_mount_setattr, AT_FDCWD, target, 0, &attributes, sizeof attributes);
}

static int overlay(const struct step *step)
{
    char options[256], lower[32], upper[32], work[32];
    snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s,workdir=%s,%s", fd_path(step->fds[0], lower),
             fd_path(step->fds[2], upper), fd_path(step->fds[3], work), step->words[4]);
    return mount("veritasest", step->words[1], "overlay", 0, options);
}

static void change_root(const char *folder)
{
    if (chdir(folder) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 ||
        chdir("/") != 0)
        fail("root");
}

static void perform(const struct step *step)
{
    int result = 0;
    if (is(step, "overlay"))
        result = overlay(step);
    else if (is(step, "overlay-or-readonly"))
        result = overlay(step) == 0 ? 0 : bind_readonly(step->fds[0], step->words[1]);
    else if (is(step, "bind"))
        result = bind(step->fds[0], step->words[1], true);
    else if (is(step, "readonly"))
        result = bind_readonly(step->fds[0], step->words[1]);
    else if (is(step, "root"))
        change_root(step->words[0]);
    else if (is(step, "set"))
        result = putenv(step->words[0]);
    else if (is(step, "folder"))
        result = chdir(step->words[0]);
    if (result != 0)
        fail(step->verb->name);
}

/* An overlay's target is its second word; the lower folder, like the layer's own two, is opened. */
static void open_paths(struct step *step)
{
    for (int i = 0; i < step->verb->paths; i++) {
        if (step->verb->paths == 4 && i == 1)
            continue;
        step->fds[i] = open(step->words[i], O_PATH | O_CLOEXEC);
        if (step->fds[i] < 0)
            fail(step->verb->name);
    }
}

/* execvp() would hand a file without #! to a shell, which a plain start of the job does not. */
static void run(char **command)
{
    const char *search = strchr(command[0], '/') ? NULL : getenv("PATH");
    if (!search) {
        execve(command[0], command, environ);
        return;
    }
    int reason = ENOENT;
    for (const char *entry = search; entry; entry = strchr(entry, ':')) {
        char path[PATH_MAX];
        entry += *entry == ':';
        int length = (int)strcspn(entry, ":");
        snprintf(path, sizeof path, "%.*s%s%s", length, entry, length ? "/" : "", command[0]);
        execve(path, command, environ);
        if (errno != ENOENT && errno != ENOTDIR)
            reason = errno;
    }
    errno = reason;
}

int main(int count, char **words)
{
    static struct step steps[MAX_STEPS];
    int total = 0, at = 2;
    if (count < 4)
        return 2;
    status = atoi(words[1]);
    fcntl(status, F_SETFD, FD_CLOEXEC);
    for (; at < count && strcmp(words[at], "exec") != 0; total++) {
        struct step *step = &steps[total];
        for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
            if (strcmp(verbs[i].name, words[at]) == 0)
                step->verb = &verbs[i];
        errno = EINVAL;
        if (!step->verb || total == MAX_STEPS - 1 || at + step->verb->words >= count)
            fail("usage");
        step->words = words + at + 1;
        at += 1 + step->verb->words;
    }
    errno = EINVAL;
    if (total == 0 || at + 1 >= count)
        fail("usage");
    enter_namespace(&steps[0]);
    for (int i = 0; i < total; i++)
        open_paths(&steps[i]);
    for (int i = 0; i < total; i++)
        perform(&steps[i]);
    run(words + at + 1);
    fail("exec");
}
