/* Functions by name, and interfaces that are not public. */
#include "cuda.h"

#include <dlfcn.h>
#include <string.h>

/* The driver's log stays empty: nothing is ever reported to the callback. */
VEST_EXPORT int cuLogsRegisterCallback(void *callback, void *data, void **handle)
{
    (void)callback, (void)data;
    if (handle)
        *handle = NULL;
    return SUCCESS;
}

VEST_EXPORT int cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return NOT_FOUND;
}

/* Lookup by name. The header maps some plain names to a later version of the function. */

#define VEST_VERSION(plain, versioned) {#plain, #versioned},
static const struct {
    const char *plain, *versioned;
} versions[] = {
#include "symbols/cuda_versions.def"
};

VEST_EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    (void)version, (void)flags;
    const char *exported = name;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strcmp(versions[i].plain, name) == 0)
            exported = versions[i].versioned;
    *function = dlsym(RTLD_DEFAULT, exported);
    if (status)
        *status = *function ? 0 : 1; /* found, or symbol not found */
    return *function ? SUCCESS : NOT_FOUND;
}

VEST_EXPORT int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
