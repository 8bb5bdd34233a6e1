/* Device addresses: ranges, and the allocations in them; see address_space.c. Callers hold vest_memory_lock. */
#ifndef VEST_ADDRESS_SPACE_H
#define VEST_ADDRESS_SPACE_H

#include "facts/facts.h"
#include "memory.h"

#define VEST_ALLOCATION_UNIT FACT_VALUE(DRIVER_GRANULE) /* device memory comes in multiples of this */
#define VEST_RANGE_UNIT FACT_VALUE(DRIVER_RANGE)        /* address ranges do, and are aligned to it */
#define VEST_LARGEST_ALLOCATION (16ull << 40)

struct vest_physical;

/* A live allocation, or a mapping inside a reservation. */
struct vest_allocation {
    struct vest_allocation *next; /* ascending addresses */
    uintptr_t base;
    uint64_t bytes;
    enum vest_owner owner;
    unsigned generation;            /* vest_fork_generation when it was made */
    struct vest_physical *physical; /* NULL: allocated directly */
};

struct vest_range {
    struct vest_range *next; /* ascending addresses */
    uintptr_t base;
    uint64_t bytes;
    int device;
    bool reservation; /* made by vest_reserve: filled by mappings only */
    struct vest_allocation *allocations;
};

void vest_address_space_init(void); /* before anything else here; needs no lock */

/* `bytes` is rounded up to whole units. NULL: the host has no address space left. */
struct vest_range *vest_range_add(int device, uint64_t bytes, bool reservation);
void vest_range_remove(struct vest_range *range);
struct vest_range *vest_range_at(uintptr_t address); /* NULL: none has it */

bool vest_allocation_add(struct vest_range *range, struct vest_allocation allocation);
void vest_allocation_remove(struct vest_range *range, struct vest_allocation *allocation);
struct vest_allocation *vest_allocation_at(const struct vest_range *range, uintptr_t address); /* `range` may be NULL */

/* Where the driver would place `bytes`; 0: no address space left. vest_allocation_drop also removes an empty range. */
uintptr_t vest_allocation_place(enum vest_owner owner, int device, uint64_t bytes);
void vest_allocation_drop(struct vest_range *range, struct vest_allocation *allocation);

#endif
