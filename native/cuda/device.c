/* Devices. */
#include "cuda.h"

#include <stdio.h>

VEST_EXPORT int cuDriverGetVersion(int *version)
{
    *version = vest_gpu()->driver;
    return SUCCESS;
}

VEST_EXPORT int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return known_device(ordinal);
}

VEST_EXPORT int cuDeviceGetCount(int *count)
{
    *count = vest_gpu()->count;
    return SUCCESS;
}

VEST_EXPORT int cuDeviceGetName(char *name, int bytes, int device)
{
    snprintf(name, (size_t)bytes, "%s", vest_gpu()->name);
    return known_device(device);
}

VEST_EXPORT int cuDeviceGetUuid_v2(unsigned char uuid[16], int device)
{
    vest_uuid(device, uuid);
    return known_device(device);
}

VEST_EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = vest_gpu()->total_bytes;
    return known_device(device);
}

VEST_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    if (!vest_attribute(attribute, device, value)) {
        char name[64];
        snprintf(name, sizeof name, "cuDeviceGetAttribute(%d)", attribute);
        vest_log_unmodelled(VEST_LIBRARY, name, "guessed");
    }
    return known_device(device);
}

VEST_EXPORT int cuDeviceComputeCapability(int *major, int *minor, int device)
{
    *major = vest_gpu()->cc / 10;
    *minor = vest_gpu()->cc % 10;
    return known_device(device);
}

VEST_EXPORT int cuDeviceGetPCIBusId(char *text, int bytes, int device)
{
    vest_pci_bus_id(device, text, bytes);
    return known_device(device);
}

VEST_EXPORT int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer;
    return SUCCESS;
}
