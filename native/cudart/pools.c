/* Memory pools (cudaMallocAsync): one per device, its handle is the device's number plus one. */
#include "cudart.h"

enum { /* the public numbers of cudaMemPoolAttr */
    cudaMemPoolReuseFollowEventDependencies = 1,
    cudaMemPoolReuseAllowOpportunistic = 2,
    cudaMemPoolReuseAllowInternalDependencies = 3,
    cudaMemPoolAttrReleaseThreshold = 4,
    cudaMemPoolAttrReservedMemCurrent = 5,
    cudaMemPoolAttrReservedMemHigh = 6,
    cudaMemPoolAttrUsedMemCurrent = 7,
    cudaMemPoolAttrUsedMemHigh = 8,
};

static int pool_device(const void *pool) { return (int)(uintptr_t)pool - 1; }

VEST_EXPORT int cudaDeviceGetDefaultMemPool(void **pool, int device)
{
    *pool = (void *)(uintptr_t)(device + 1);
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceGetMemPool(void **pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }

VEST_EXPORT int cudaMallocFromPoolAsync(void **out, size_t bytes, void *pool, stream_t stream)
{
    (void)stream;
    *out = bytes ? vest_pool_alloc(pool_device(pool), bytes) : NULL;
    return *out || !bytes ? SUCCESS : fail(OUT_OF_MEMORY);
}

VEST_EXPORT int cudaMallocAsync(void **out, size_t bytes, stream_t stream)
{
    return cudaMallocFromPoolAsync(out, bytes, (void *)(uintptr_t)(vest_device() + 1), stream);
}

VEST_EXPORT int cudaFreeAsync(void *address, stream_t stream)
{
    (void)stream;
    return free_memory(address);
}

static uint64_t release_threshold[VEST_MAX_DEVICES];

VEST_EXPORT int cudaMemPoolGetAttribute(void *pool, int which, void *value)
{
    int device = pool_device(pool);
    switch (which) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies: *(int *)value = 1; break;
    case cudaMemPoolAttrReleaseThreshold: *(uint64_t *)value = release_threshold[device]; break;
    case cudaMemPoolAttrReservedMemCurrent: *(uint64_t *)value = vest_pool_number(device, VEST_POOL_RESERVED); break;
    case cudaMemPoolAttrReservedMemHigh: *(uint64_t *)value = vest_pool_number(device, VEST_POOL_RESERVED_HIGH); break;
    case cudaMemPoolAttrUsedMemCurrent: *(uint64_t *)value = vest_pool_number(device, VEST_POOL_USED); break;
    case cudaMemPoolAttrUsedMemHigh: *(uint64_t *)value = vest_pool_number(device, VEST_POOL_USED_HIGH); break;
    default: return fail(INVALID_VALUE);
    }
    return SUCCESS;
}

VEST_EXPORT int cudaMemPoolSetAttribute(void *pool, int which, void *value)
{
    int device = pool_device(pool);
    if (which == cudaMemPoolAttrReleaseThreshold)
        release_threshold[device] = *(uint64_t *)value;
    else if (which == cudaMemPoolAttrReservedMemHigh) /* to zero: the mark starts again */
        vest_pool_reset_high(device, VEST_POOL_RESERVED_HIGH);
    else if (which == cudaMemPoolAttrUsedMemHigh)
        vest_pool_reset_high(device, VEST_POOL_USED_HIGH);
    return SUCCESS;
}

VEST_EXPORT int cudaMemPoolTrimTo(void *pool, size_t keep)
{
    (void)keep;
    vest_pool_trim(pool_device(pool));
    return SUCCESS;
}
