/* Devices: handles, names and places on the bus. */
#include "nvml.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { UUID_TEXT_BYTES = 41 };

/* A device handle is the address of one of these. */
static char devices[VEST_MAX_DEVICES];

int index_of(const void *handle)
{
    const char *place = handle;
    if (place < devices || place >= devices + vest_gpu()->count)
        return -1;
    return (int)(place - devices);
}

VEST_EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    if (!is_initialized())
        return UNINITIALIZED;
    if (!count)
        return INVALID_ARGUMENT;
    *count = (unsigned)vest_gpu()->count;
    return SUCCESS;
}

VEST_EXPORT int nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }

VEST_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
    if (!is_initialized())
        return UNINITIALIZED;
    if (!handle || index >= (unsigned)vest_gpu()->count)
        return INVALID_ARGUMENT;
    *handle = &devices[index];
    return SUCCESS;
}

VEST_EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, void **handle)
{
    return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

static void uuid_text(int device, char out[UUID_TEXT_BYTES])
{
    unsigned char id[16];
    vest_uuid(device, id);
    snprintf(out, UUID_TEXT_BYTES, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", id[0],
             id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12], id[13], id[14],
             id[15]);
}

VEST_EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle)
{
    if (!uuid || !handle)
        return INVALID_ARGUMENT;
    for (int device = 0; device < vest_gpu()->count; device++) {
        char text[UUID_TEXT_BYTES];
        uuid_text(device, text);
        if (strcasecmp(text, uuid) == 0) {
            *handle = &devices[device];
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

struct place {
    unsigned domain, bus, slot;
};

static struct place place_of(int device)
{
    char text[32] = "";
    struct place place = {0};
    vest_pci_bus_id(device, text, sizeof text);
    sscanf(text, "%x:%x:%x", &place.domain, &place.bus, &place.slot);
    return place;
}

VEST_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *text, void **handle)
{
    struct place wanted;
    if (!text || !handle || sscanf(text, "%x:%x:%x", &wanted.domain, &wanted.bus, &wanted.slot) != 3)
        return INVALID_ARGUMENT;
    for (int device = 0; device < vest_gpu()->count; device++) {
        struct place place = place_of(device);
        if (place.domain == wanted.domain && place.bus == wanted.bus && place.slot == wanted.slot) {
            *handle = &devices[device];
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

VEST_EXPORT int nvmlDeviceGetHandleByPciBusId(const char *text, void **handle)
{
    return nvmlDeviceGetHandleByPciBusId_v2(text, handle);
}

struct pci_info {
    char short_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
};

static int describe_place(const void *handle, struct pci_info *out)
{
    int device = index_of(handle);
    if (device < 0 || !out)
        return INVALID_ARGUMENT;
    struct place place = place_of(device);
    *out = (struct pci_info){.domain = place.domain, .bus = place.bus, .device = place.slot};
    snprintf(out->short_id, sizeof out->short_id, "%04x:%02x:%02x.0", place.domain & 0xffff, place.bus & 0xff,
             place.slot & 0xff);
    return SUCCESS;
}

VEST_EXPORT int nvmlDeviceGetPciInfo_v3(void *handle, struct pci_info *out)
{
    enum { LONG_ID_BYTES = 32 };
    int status = describe_place(handle, out);
    if (!status) /* the long form follows: "00000000:01:00.0" */
        snprintf((char *)(out + 1), LONG_ID_BYTES, "%08x:%02x:%02x.0", out->domain, out->bus, out->device);
    return status;
}

VEST_EXPORT int nvmlDeviceGetPciInfo_v2(void *handle, struct pci_info *out) { return describe_place(handle, out); }
VEST_EXPORT int nvmlDeviceGetPciInfo(void *handle, struct pci_info *out) { return describe_place(handle, out); }

VEST_EXPORT int nvmlDeviceGetName(void *handle, char *out, unsigned bytes)
{
    return index_of(handle) < 0 ? INVALID_ARGUMENT : copy_text(vest_gpu()->name, out, bytes);
}

VEST_EXPORT int nvmlDeviceGetUUID(void *handle, char *out, unsigned bytes)
{
    int device = index_of(handle);
    if (device < 0)
        return INVALID_ARGUMENT;
    char text[UUID_TEXT_BYTES];
    uuid_text(device, text);
    return copy_text(text, out, bytes);
}

VEST_EXPORT int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor)
{
    if (index_of(handle) < 0 || !major || !minor)
        return INVALID_ARGUMENT;
    *major = vest_gpu()->cc / 10;
    *minor = vest_gpu()->cc % 10;
    return SUCCESS;
}
