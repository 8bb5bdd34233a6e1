/* What an address belongs to. */
#include "cuda.h"

enum { /* the public numbers of CUpointer_attribute */
    CU_POINTER_ATTRIBUTE_CONTEXT = 1,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
    CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
    CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
    CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
    CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
    CU_POINTER_ATTRIBUTE_MAPPED = 13,
    CU_POINTER_ATTRIBUTE_MAPPING_SIZE = 18,
    CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = 19,
};

enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2 }; /* CUmemorytype */

static int pointer_attribute(void *value, int which, address_t address)
{
    struct vest_extent extent = {0};
    bool device = vest_is_device(pointer(address)) && vest_find(pointer(address), &extent);
    bool pinned = !device && vest_is_pinned(pointer(address));
    if (!device && !pinned)
        return INVALID_VALUE;
    switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(void **)value = vest_context(extent.device); break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)value = device ? MEMORY_DEVICE : MEMORY_HOST; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: *(address_t *)value = address; break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned char *)value = 0; break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)value = extent.base; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)value = extent.device; break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED: *(unsigned char *)value = 1; break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: *(address_t *)value = extent.base; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: *(size_t *)value = extent.bytes; break;
    default: return INVALID_VALUE;
    }
    return SUCCESS;
}

VEST_EXPORT int cuPointerGetAttribute(void *value, int which, address_t address)
{
    return pointer_attribute(value, which, address);
}

VEST_EXPORT int cuPointerGetAttributes(unsigned count, const int *which, void **values, address_t address)
{
    for (unsigned i = 0; i < count; i++)
        if (pointer_attribute(values[i], which[i], address) != SUCCESS && which[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *(unsigned *)values[i] = 0; /* pageable host memory has no type */
    return SUCCESS;
}
