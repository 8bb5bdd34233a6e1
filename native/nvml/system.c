/* The library itself: start and end, versions, errors. */
#include "nvml.h"
#include "facts/facts.h"

#include <stdio.h>
#include <string.h>

#include "symbols/nvml_noop.def"
#include "symbols/nvml_unsupported.def"

static int users; /* nvmlInit calls not yet matched by nvmlShutdown */

static int open_library(void)
{
    __atomic_add_fetch(&users, 1, __ATOMIC_RELAXED);
    return SUCCESS;
}

bool is_initialized(void) { return __atomic_load_n(&users, __ATOMIC_RELAXED) != 0; }

VEST_EXPORT int nvmlInit(void) { return open_library(); }
VEST_EXPORT int nvmlInit_v2(void) { return open_library(); }

VEST_EXPORT int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return open_library();
}

VEST_EXPORT int nvmlShutdown(void)
{
    if (!is_initialized())
        return UNINITIALIZED;
    __atomic_sub_fetch(&users, 1, __ATOMIC_RELAXED);
    return SUCCESS;
}

VEST_EXPORT const char *nvmlErrorString(int status)
{
    switch (status) {
    case SUCCESS: return "Success";
    case UNINITIALIZED: return "Uninitialized";
    case INVALID_ARGUMENT: return "Invalid Argument";
    case NOT_SUPPORTED: return "Not Supported";
    case NOT_FOUND: return "Not Found";
    case INSUFFICIENT_SIZE: return "Insufficient Size";
    case VERSION_MISMATCH: return "Argument version mismatch";
    default: return "Unknown Error";
    }
}

int copy_text(const char *text, char *out, unsigned bytes)
{
    if (!out)
        return INVALID_ARGUMENT;
    if (strlen(text) + 1 > bytes)
        return INSUFFICIENT_SIZE;
    strcpy(out, text);
    return SUCCESS;
}

/* 580.65.06; NVML's own version has CUDA's major version in front. */
static int copy_driver_version(const char *prefix, char *out, unsigned bytes)
{
    const int *parts = vest_version(VEST_DRIVER, 0)->parts;
    char text[32];
    snprintf(text, sizeof text, "%s%d.%02d.%02d", prefix, parts[0], parts[1], parts[2]);
    return copy_text(text, out, bytes);
}

VEST_EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned bytes) { return copy_driver_version("", out, bytes); }
VEST_EXPORT int nvmlSystemGetNVMLVersion(char *out, unsigned bytes) { return copy_driver_version("13.", out, bytes); }

VEST_EXPORT int nvmlSystemGetCudaDriverVersion(int *version)
{
    *version = vest_gpu()->driver;
    return SUCCESS;
}

VEST_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version) { return nvmlSystemGetCudaDriverVersion(version); }
