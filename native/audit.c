/* Keeps the real libraries out: a loader audit module (LD_AUDIT, see rtld-audit(7)).
 *
 * The stand-ins are preloaded under the real libraries' names, which settles every dependency by name. But PyTorch also
 * opens the real files by their full path when it is imported. They would do no harm, being searched after the
 * stand-ins, yet cost over 200 MB of the host's memory; and on a machine with a driver nothing should open it. So a
 * path whose last part is the name of a preloaded stand-in leads to the stand-in.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STAND_INS 32

static char *stand_ins[MAX_STAND_INS];
static int count;

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
    return version;
}

char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    (void)cookie, (void)flag;
    const char *last = strrchr(name, '/');
    for (int i = 0; last && i < count; i++)
        if (strcmp(strrchr(stand_ins[i], '/'), last) == 0)
            return stand_ins[i];
    return (char *)name;
}
