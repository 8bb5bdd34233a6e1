/* Allocation of device and pinned memory; copies and fills. */
#include "cuda.h"

VEST_EXPORT int cuMemAlloc_v2(address_t *out, size_t bytes)
{
    *out = (uintptr_t)vest_alloc(vest_device(), bytes);
    return *out ? SUCCESS : bytes ? OUT_OF_MEMORY : INVALID_VALUE;
}

VEST_EXPORT int cuMemAllocManaged(address_t *out, size_t bytes, unsigned flags)
{
    (void)flags;
    return cuMemAlloc_v2(out, bytes);
}

static int free_memory(address_t address)
{
    void *memory = pointer(address);
    return !memory || vest_pool_free(memory) || vest_free(memory) ? SUCCESS : INVALID_VALUE;
}

VEST_EXPORT int cuMemFree_v2(address_t address)
{
    vest_synchronize();
    return free_memory(address);
}

VEST_EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    vest_memory_info(vest_device(), free_bytes, total_bytes);
    return SUCCESS;
}

VEST_EXPORT int cuMemGetAddressRange_v2(address_t *base, size_t *bytes, address_t address)
{
    struct vest_extent extent;
    if (!vest_find(pointer(address), &extent))
        return INVALID_VALUE;
    if (base)
        *base = extent.base;
    if (bytes)
        *bytes = extent.bytes;
    return SUCCESS;
}

VEST_EXPORT int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    *out = vest_host_alloc(bytes);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

VEST_EXPORT int cuMemAllocHost_v2(void **out, size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }
VEST_EXPORT int cuMemFreeHost(void *address) { return vest_host_free(address) ? SUCCESS : INVALID_VALUE; }

VEST_EXPORT int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
    (void)flags;
    return vest_host_register(address, bytes) ? SUCCESS : INVALID_VALUE;
}

VEST_EXPORT int cuMemHostUnregister(void *address) { return vest_host_unregister(address) ? SUCCESS : INVALID_VALUE; }

VEST_EXPORT int cuMemHostGetDevicePointer_v2(address_t *out, void *address, unsigned flags)
{
    (void)flags;
    *out = (uintptr_t)address;
    return SUCCESS;
}

VEST_EXPORT int cuMemAllocAsync(address_t *out, size_t bytes, stream_t stream)
{
    (void)stream;
    *out = (uintptr_t)vest_pool_alloc(vest_device(), bytes);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

VEST_EXPORT int cuMemFreeAsync(address_t address, stream_t stream)
{
    (void)stream;
    return free_memory(address);
}

/* Every copy is the same copy: addresses say which side is the device. The host waits for all of them. */

static int copy(address_t to, address_t from, size_t bytes)
{
    vest_copy_waited(pointer(to), pointer(from));
    vest_copy(pointer(to), pointer(from), bytes);
    return SUCCESS;
}

VEST_EXPORT int cuMemcpy(address_t to, address_t from, size_t bytes) { return copy(to, from, bytes); }

VEST_EXPORT int cuMemcpyPeer(address_t to, void *to_context, address_t from, void *from_context, size_t bytes)
{
    (void)to_context, (void)from_context;
    return copy(to, from, bytes);
}

static int fill(address_t to, uint32_t value, size_t value_bytes, size_t count)
{
    vest_fill(pointer(to), &value, value_bytes, count); /* little-endian: the low bytes come first */
    return SUCCESS;
}

VEST_EXPORT int cuMemsetD8_v2(address_t to, unsigned char value, size_t count) { return fill(to, value, 1, count); }
VEST_EXPORT int cuMemsetD16_v2(address_t to, unsigned short value, size_t count) { return fill(to, value, 2, count); }
VEST_EXPORT int cuMemsetD32_v2(address_t to, unsigned value, size_t count) { return fill(to, value, 4, count); }
