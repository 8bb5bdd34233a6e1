/* The layer: where it is, which paths stay outside it, and how it marks deleted names. See layer.h. */
#include "layer.h"
#include "../core/settings.h"

#include <pthread.h>

#define MAX_KEPT 32

static pthread_once_t once = PTHREAD_ONCE_INIT;
char vest_layer[PATH_MAX];
size_t vest_layer_length;
static const char *kept[MAX_KEPT] = {"/proc", "/sys", "/dev", "/run"};
static size_t kept_count = 4;

static void read_configuration(void)
{
    vest_require_settings();
    const char *folder = vest_setting("layer"), *list = vest_setting("kept");
    if (!folder || folder[0] != '/' || strlen(folder) >= PATH_MAX / 2)
        return;
    strcpy(vest_layer, folder);
    vest_layer_length = strlen(vest_layer);
    char *around = strdup(vest_layer); /* what lies next to the layer is real */
    if (around)
        *strrchr(around, '/') = '\0';
    if (around && *around)
        kept[kept_count++] = around;
    char *rest = list ? strdup(list) : NULL;
    for (char *path; rest && kept_count < MAX_KEPT && (path = strsep(&rest, "\n"));)
        if (*path == '/')
            kept[kept_count++] = path;
}

void vest_configure(void) { pthread_once(&once, read_configuration); }

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool vest_is_kept(const char *path)
{
    for (size_t i = 0; i < kept_count; i++)
        if (is_below(path, kept[i]))
            return true;
    const char *name = strrchr(path, '/');
    return name && strcmp(name, "/__pycache__") == 0 && strstr(path, "/lib/python");
}

const char *vest_seen(const char *path)
{
    if (!vest_layer_length || !is_below(path, vest_layer))
        return path;
    return path[vest_layer_length] ? path + vest_layer_length : "/";
}

bool vest_exists(const char *path)
{
    struct stat facts;
    return sys_lstat(path, &facts) == 0;
}

bool vest_mark_path(const char *upper, char *buffer)
{
    const char *name = strrchr(upper, '/') + 1;
    int length = snprintf(buffer, PATH_MAX, "%.*s%s%s", (int)(name - upper), upper, DELETED_MARK, name);
    return length < PATH_MAX;
}

bool vest_in_folder(const char *folder, const char *name, char *buffer)
{
    return snprintf(buffer, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

int vest_refuse(int reason)
{
    errno = reason;
    return -1;
}
