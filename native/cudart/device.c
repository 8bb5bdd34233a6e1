/* The device: count, versions, attributes, limits. */
#include "cudart.h"
#include "facts/facts.h"

#include <stdio.h>
#include <strings.h>

VEST_EXPORT int cudaGetDeviceCount(int *count)
{
    *count = vest_gpu()->count;
    return SUCCESS;
}

VEST_EXPORT int cudaGetDevice(int *device)
{
    *device = vest_device();
    return SUCCESS;
}

VEST_EXPORT int cudaSetDevice(int device) { return vest_set_device(device) ? SUCCESS : fail(INVALID_DEVICE); }
VEST_EXPORT int cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    (void)device_flags, (void)flags;
    return device >= 0 && device < vest_gpu()->count ? SUCCESS : fail(INVALID_DEVICE);
}

VEST_EXPORT int cudaDriverGetVersion(int *version)
{
    *version = vest_gpu()->driver;
    return SUCCESS;
}

VEST_EXPORT int cudaRuntimeGetVersion(int *version)
{
    const int *parts = vest_version(VEST_CUDART, VEST_CUDA_MAJOR)->parts;
    *version = parts[0] * 1000 + parts[1] * 10;
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    if (vest_attribute(attribute, device, value))
        return SUCCESS;
    char name[64];
    snprintf(name, sizeof name, "cudaDeviceGetAttribute(%d)", attribute);
    vest_log_unmodelled(VEST_LIBRARY, name, "guessed");
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    vest_pci_bus_id(device, text, bytes);
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceGetByPCIBusId(int *device, const char *text)
{
    for (*device = 0; *device < vest_gpu()->count; ++*device) {
        char candidate[32];
        vest_pci_bus_id(*device, candidate, sizeof candidate);
        if (strcasecmp(candidate, text) == 0)
            return SUCCESS;
    }
    return fail(INVALID_VALUE);
}

VEST_EXPORT int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return SUCCESS;
}

static size_t limits[8] = {1024, 1048576, 8388608, 2, 2048, 64, 0, 0};

VEST_EXPORT int cudaDeviceGetLimit(size_t *value, int which)
{
    if (which < 0 || which >= 8)
        return fail(INVALID_VALUE);
    *value = limits[which];
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceSetLimit(int which, size_t value)
{
    if (which < 0 || which >= 8)
        return fail(INVALID_VALUE);
    limits[which] = value;
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer;
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceGetP2PAttribute(int *value, int which, int source, int target)
{
    const int performance_rank = 1;
    *value = which != performance_rank && source != target;
    return SUCCESS;
}

VEST_EXPORT int cudaGetDeviceFlags(unsigned *flags)
{
    *flags = 0;
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceGetCacheConfig(int *config)
{
    *config = 0;
    return SUCCESS;
}
