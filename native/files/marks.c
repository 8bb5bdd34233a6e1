/* Marks in the layer, and what the job sees in a folder. See layer.h. */
#include "layer.h"

#include <dirent.h>

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
    if (!vest_mark_path(place->upper, mark))
        return vest_refuse(ENAMETOOLONG);
    return vest_make_parents(place) == 0 ? touch(mark) : -1;
}

void vest_unmark(const struct vest_place *place)
{
    char mark[PATH_MAX];
    int before = errno;
    if (place->in_lower && vest_mark_path(place->upper, mark))
        sys_unlink(mark);
    errno = before;
}

int vest_mark_opaque(const char *upper)
{
    char mark[PATH_MAX];
    return vest_in_folder(upper, OPAQUE_MARK, mark) ? touch(mark) : vest_refuse(ENAMETOOLONG);
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
        if (vest_is_private(entry->d_name) && vest_in_folder(place->upper, entry->d_name, path))
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
