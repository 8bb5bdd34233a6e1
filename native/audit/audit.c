/* Keeps the real libraries out: a loader audit module (LD_AUDIT, see rtld-audit(7)).
 *
 * The stand-ins are preloaded under the real libraries' names, which satisfies every dependency by name. But PyTorch
 * also opens the real files by their full path when it is imported. They would do no harm, being searched after the
 * stand-ins, but cost over 200 MB of the host's memory; and on a machine with a driver nothing should open it. So a
 * path whose last part is the name of a preloaded stand-in is replaced by the stand-in's.
 *
 * Where the interposer (files/) protects the user's files, a library that the job has compiled is in the layer.
 */
#define _GNU_SOURCE
#include "../core/settings.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_STAND_INS 32

static char *stand_ins[MAX_STAND_INS];
static int count;
static const char *layer;

unsigned la_version(unsigned version)
{
    const char *marker = "/libveritasest.so", *text = getenv("LD_PRELOAD");
    char *rest = text ? strdup(text) : NULL, *home = NULL;
    for (char *path; rest && (path = strsep(&rest, ": "));) {
        char *end = strstr(path, marker);
        if (end && end[strlen(marker)] == '\0')
            home = strndup(path, (size_t)(end - path)); /* the folder of the stand-ins; it comes first in the list */
        else if (home && strncmp(path, home, strlen(home)) == 0 && count < MAX_STAND_INS)
            stand_ins[count++] = path;
    }
    layer = vest_setting("layer");
    return version;
}

/* The path in the layer, if it exists there. The loader copies the text. */
static char *in_layer(const char *name)
{
    static char path[PATH_MAX]; /* the loader calls us under its lock */
    if (!layer || *name != '/' || snprintf(path, sizeof path, "%s%s", layer, name) >= (int)sizeof path)
        return NULL;
    return access(path, R_OK) == 0 ? path : NULL;
}

char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    (void)cookie, (void)flag;
    const char *last = strrchr(name, '/');
    for (int i = 0; last && i < count; i++)
        if (strcmp(strrchr(stand_ins[i], '/'), last) == 0)
            return stand_ins[i];
    char *copy = in_layer(name);
    return copy ? copy : (char *)name;
}
