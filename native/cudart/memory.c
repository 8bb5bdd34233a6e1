/* Allocation of device and pinned memory, and what an address belongs to. */
#include "cudart.h"

#include <string.h>

VEST_EXPORT int cudaMalloc(void **out, size_t bytes)
{
    *out = NULL;
    if (bytes == 0)
        return SUCCESS;
    *out = vest_alloc(vest_device(), bytes);
    return *out ? SUCCESS : fail(OUT_OF_MEMORY);
}

int free_memory(void *address)
{
    return !address || vest_pool_free(address) || vest_free(address) ? SUCCESS : fail(INVALID_VALUE);
}

VEST_EXPORT int cudaFree(void *address)
{
    vest_synchronize();
    return free_memory(address);
}

VEST_EXPORT int cudaMallocManaged(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    return cudaMalloc(out, bytes);
}

VEST_EXPORT int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(out, *pitch * height);
}

VEST_EXPORT int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    vest_memory_info(vest_device(), free_bytes, total_bytes);
    return SUCCESS;
}

VEST_EXPORT int cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    *out = vest_host_alloc(bytes);
    return *out || bytes == 0 ? SUCCESS : fail(OUT_OF_MEMORY);
}

VEST_EXPORT int cudaMallocHost(void **out, size_t bytes) { return cudaHostAlloc(out, bytes, 0); }
VEST_EXPORT int cudaFreeHost(void *address)
{
    return !address || vest_host_free(address) ? SUCCESS : fail(INVALID_VALUE);
}

VEST_EXPORT int cudaHostRegister(void *address, size_t bytes, unsigned flags)
{
    (void)flags;
    return vest_host_register(address, bytes) ? SUCCESS : fail(INVALID_VALUE);
}

VEST_EXPORT int cudaHostUnregister(void *address)
{
    return vest_host_unregister(address) ? SUCCESS : fail(INVALID_VALUE);
}

VEST_EXPORT int cudaHostGetDevicePointer(void **out, void *address, unsigned flags)
{
    (void)flags;
    *out = address;
    return SUCCESS;
}

VEST_EXPORT int cudaHostGetFlags(unsigned *flags, void *address)
{
    *flags = 0;
    return vest_is_pinned(address) ? SUCCESS : fail(INVALID_VALUE);
}

struct pointer_attributes {
    int type; /* 0 unregistered, 1 pinned host, 2 device */
    int device;
    void *device_pointer, *host_pointer;
    long reserved[8];
};

VEST_EXPORT int cudaPointerGetAttributes(struct pointer_attributes *out, const void *address)
{
    struct vest_extent extent;
    bool device = vest_is_device(address) && vest_find(address, &extent);
    bool pinned = !device && vest_is_pinned(address);
    out->type = device ? 2 : pinned ? 1 : 0;
    out->device = device ? extent.device : pinned ? vest_device() : -2;
    out->device_pointer = device || pinned ? (void *)address : NULL;
    out->host_pointer = device ? NULL : (void *)address;
#if VEST_CUDA_MAJOR >= 13
    memset(out->reserved, 0, sizeof out->reserved);
#endif
    return SUCCESS;
}
