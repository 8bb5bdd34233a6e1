/* Handles, their settings, versions. */
#include "cusolver.h"
#include "object.h"
#include "versions.h"

#include "symbols/cusolver_noop.def"
#include "symbols/cusolver_unsupported.def"

struct handle {
    int device;
    void *stream;
    int deterministic, math_mode, emulation_strategy;
};

#define OBJECT(creator, destroyer)                                                                                     \
    VEST_EXPORT int creator(void **out) { return create(out, sizeof(struct handle)); }                                 \
    VEST_EXPORT int destroyer(void *object) { return destroy(object); }

static struct vest_library overhead = {.name = "cusolver", .handle_bytes = FACT_VALUE(CUSOLVER_HANDLE)};

VEST_EXPORT int cusolverDnCreate(struct handle **out)
{
    int device = vest_device();
    if (!out)
        return INVALID_VALUE;
    if (!vest_overhead_acquire(&overhead, device))
        return ALLOC_FAILED;
    int status = create((void **)out, sizeof **out);
    if (status == SUCCESS)
        (*out)->device = device;
    return status;
}

VEST_EXPORT int cusolverDnDestroy(struct handle *handle)
{
    if (handle)
        vest_overhead_release(&overhead, handle->device);
    return destroy(handle);
}

OBJECT(cusolverSpCreate, cusolverSpDestroy)
OBJECT(cusolverDnCreateParams, cusolverDnDestroyParams)
OBJECT(cusolverDnCreateSyevjInfo, cusolverDnDestroySyevjInfo)
OBJECT(cusolverDnCreateGesvdjInfo, cusolverDnDestroyGesvdjInfo)

SETTING(cusolverDnSetStream, cusolverDnGetStream, void *, stream)
SETTING(cusolverSpSetStream, cusolverSpGetStream, void *, stream)
SETTING(cusolverDnSetDeterministicMode, cusolverDnGetDeterministicMode, int, deterministic)
SETTING(cusolverDnSetMathMode, cusolverDnGetMathMode, int, math_mode)
SETTING(cusolverDnSetEmulationStrategy, cusolverDnGetEmulationStrategy, int, emulation_strategy)

VEST_EXPORT int cusolverGetVersion(int *version)
{
    *version = vest_version_number(VEST_CUSOLVER, 1000);
    return SUCCESS;
}

GET_PROPERTY(cusolverGetProperty, VEST_CUSOLVER, INVALID_VALUE)

int no_errors(int *info, int64_t count)
{
    static const int zero = 0;
    if (info && count > 0)
        vest_fill(info, &zero, sizeof zero, (size_t)count);
    return SUCCESS;
}
