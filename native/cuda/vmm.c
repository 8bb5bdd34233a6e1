/* Virtual memory management, as expandable segments use it. */
#include "cuda.h"

#define GRANULARITY (2ull << 20)

VEST_EXPORT int cuMemGetAllocationGranularity(size_t *bytes, const void *properties, int option)
{
    (void)properties, (void)option;
    *bytes = GRANULARITY;
    return SUCCESS;
}

VEST_EXPORT int cuMemAddressReserve(address_t *out, size_t bytes, size_t alignment, address_t hint,
                                    unsigned long long flags)
{
    (void)hint, (void)flags;
    *out = (uintptr_t)vest_reserve(bytes, alignment);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

VEST_EXPORT int cuMemAddressFree(address_t address, size_t bytes)
{
    return vest_unreserve(pointer(address), bytes) ? SUCCESS : INVALID_VALUE;
}

/* The start of CUmemAllocationProp. */
struct allocation_properties {
    int type, handle_types;
    int location_type, location;
};

VEST_EXPORT int cuMemCreate(struct vest_physical **out, size_t bytes, const struct allocation_properties *properties,
                            unsigned long long flags)
{
    (void)flags;
    if (known_device(properties->location) != SUCCESS)
        return INVALID_DEVICE;
    *out = vest_physical_create(properties->location, bytes);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

VEST_EXPORT int cuMemRelease(struct vest_physical *memory)
{
    return memory && vest_physical_release(memory) ? SUCCESS : INVALID_VALUE;
}

VEST_EXPORT int cuMemMap(address_t address, size_t bytes, size_t offset, struct vest_physical *memory,
                         unsigned long long flags)
{
    (void)offset, (void)flags;
    return vest_map(pointer(address), bytes, memory) ? SUCCESS : INVALID_VALUE;
}

VEST_EXPORT int cuMemUnmap(address_t address, size_t bytes)
{
    return vest_unmap(pointer(address), bytes) ? SUCCESS : INVALID_VALUE;
}

VEST_EXPORT int cuMemRetainAllocationHandle(struct vest_physical **out, void *address)
{
    *out = vest_mapped_at(address);
    if (!*out)
        return INVALID_VALUE;
    vest_physical_retain(*out);
    return SUCCESS;
}

VEST_EXPORT int cuMemGetAccess(unsigned long long *flags, const void *location, address_t address)
{
    (void)location, (void)address;
    *flags = 3; /* read and write */
    return SUCCESS;
}
