/* The addresses of device memory, in the driver's order.
 *
 * They matter because PyTorch's best-fit search breaks ties by the lower address. Measured on an H200 (driver 580) with
 * the process's mappings logged at every cudaMalloc (benchmarks/workspaces/log_addresses.c): the driver takes ranges of
 * whole 32 MiB from the process's own address space, each from the highest hole that holds it with its alignment, and
 * places an allocation at the lowest address where a gap in its ranges is large enough; an empty range is unmapped. All
 * sizes are multiples of 2 MiB. The ranges here come from the same address space in the same way, so they fall among
 * the job's own mappings as they do on the GPU.
 *
 * A range is host memory that is mapped but not backed until it is written (content.c).
 */
#include "address_space.h"
#include "round.h"
#include "settings.h"
#include "vest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ADDRESS_BITS 47

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct vest_range *ranges;
static uint8_t *is_ours; /* one byte for each VEST_RANGE_UNIT of address space */

static void report_no_address_space(uint64_t bytes)
{
    fprintf(stderr,
            "veritasest: cannot map %llu MiB of address space for device memory: %s.\n"
            "  Lift the limit on address space (ulimit -v unlimited), or set vm.overcommit_memory to 0 or 1.\n",
            (unsigned long long)(bytes >> 20), strerror(errno));
}

static void *map_lazily(uintptr_t hint, uint64_t bytes)
{
    void *start = mmap((void *)hint, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        report_no_address_space(bytes);
        return NULL;
    }
    return start;
}

/* With the setting addresses=upwards each range lies above the last: another order of addresses, to see what depends on
 * it. Above this address there are some 400 GiB below the host's own mappings. */
#define UPWARDS_FROM 0x7e9000000000ull
static uintptr_t next_upwards; /* 0: the driver's order */

static void set_up(void)
{
    const char *order = vest_setting("addresses");
    next_upwards = order && strcmp(order, "upwards") == 0 ? UPWARDS_FROM : 0;
    is_ours = map_lazily(0, (1ull << ADDRESS_BITS) / VEST_RANGE_UNIT);
    if (!is_ours)
        abort();
}

void vest_address_space_init(void) { pthread_once(&once, set_up); }

bool vest_is_device(const void *address)
{
    vest_address_space_init();
    uintptr_t number = (uintptr_t)address;
    return number >> ADDRESS_BITS == 0 && __atomic_load_n(&is_ours[number / VEST_RANGE_UNIT], __ATOMIC_RELAXED);
}

struct vest_range *vest_range_at(uintptr_t address)
{
    for (struct vest_range *range = ranges; range && range->base <= address; range = range->next)
        if (address < range->base + range->bytes)
            return range;
    return NULL;
}

struct vest_allocation *vest_allocation_at(const struct vest_range *range, uintptr_t address)
{
    struct vest_allocation *allocation = range ? range->allocations : NULL;
    for (; allocation && allocation->base <= address; allocation = allocation->next)
        if (address < allocation->base + allocation->bytes)
            return allocation;
    return NULL;
}

/* As the driver does it: maps room for the range and its alignment in the highest hole, and unmaps the rest. */
static uintptr_t map_range(uint64_t bytes, uint64_t alignment)
{
    void *start = map_lazily(next_upwards, bytes + alignment);
    if (!start)
        return 0;
    uintptr_t first = (uintptr_t)start, end = first + bytes + alignment, base = (end - bytes) / alignment * alignment;
    if (base > first)
        munmap(start, base - first);
    if (base + bytes < end)
        munmap((void *)(base + bytes), end - base - bytes);
    /* A huge page would back 2 MiB for every small copy. A kernel that does not know the advice ignores it. */
    madvise((void *)base, bytes, MADV_NOHUGEPAGE);
    madvise((void *)base, bytes, MADV_DONTDUMP);
    if (next_upwards)
        next_upwards = base + bytes;
    return base;
}

static void set_ours(const struct vest_range *range, uint8_t value)
{
    for (uintptr_t at = range->base; at < range->base + range->bytes; at += VEST_RANGE_UNIT)
        __atomic_store_n(&is_ours[at / VEST_RANGE_UNIT], value, __ATOMIC_RELAXED);
}

struct vest_range *vest_range_add(int device, uint64_t bytes, bool reservation)
{
    bytes = vest_round_up(bytes, VEST_RANGE_UNIT);
    uintptr_t base = map_range(bytes, VEST_RANGE_UNIT);
    struct vest_range *range = base ? calloc(1, sizeof *range) : NULL;
    if (!range)
        return NULL;
    *range = (struct vest_range){.base = base, .bytes = bytes, .device = device, .reservation = reservation};
    struct vest_range **link = &ranges;
    while (*link && (*link)->base < base)
        link = &(*link)->next;
    range->next = *link;
    *link = range;
    set_ours(range, 1);
    return range;
}

void vest_range_remove(struct vest_range *range)
{
    struct vest_range **link = &ranges;
    while (*link != range)
        link = &(*link)->next;
    *link = range->next;
    set_ours(range, 0);
    munmap((void *)range->base, range->bytes);
    free(range);
}

bool vest_allocation_add(struct vest_range *range, struct vest_allocation made)
{
    struct vest_allocation *allocation = malloc(sizeof *allocation);
    if (!allocation)
        return false;
    struct vest_allocation **link = &range->allocations;
    while (*link && (*link)->base < made.base)
        link = &(*link)->next;
    *allocation = made;
    allocation->generation = vest_fork_generation;
    allocation->next = *link;
    *link = allocation;
    return true;
}

void vest_allocation_remove(struct vest_range *range, struct vest_allocation *allocation)
{
    struct vest_allocation **link = &range->allocations;
    while (*link != allocation)
        link = &(*link)->next;
    *link = allocation->next;
    free(allocation);
}

void vest_allocation_drop(struct vest_range *range, struct vest_allocation *allocation)
{
    vest_allocation_remove(range, allocation);
    if (!range->allocations)
        vest_range_remove(range);
}

/* The lowest gap of the range that holds `bytes`; 0 when there is none. */
static uintptr_t lowest_gap(const struct vest_range *range, uint64_t bytes)
{
    uintptr_t gap = range->base;
    for (const struct vest_allocation *at = range->allocations; at; at = at->next) {
        if (at->base - gap >= bytes)
            return gap;
        gap = at->base + at->bytes;
    }
    return range->base + range->bytes - gap >= bytes ? gap : 0;
}

uintptr_t vest_allocation_place(enum vest_owner owner, int device, uint64_t bytes)
{
    struct vest_allocation placed = {.bytes = bytes, .owner = owner};
    for (struct vest_range *range = ranges; range; range = range->next) {
        placed.base = range->device == device && !range->reservation ? lowest_gap(range, bytes) : 0;
        if (placed.base)
            return vest_allocation_add(range, placed) ? placed.base : 0;
    }
    struct vest_range *fresh = vest_range_add(device, bytes, false);
    placed.base = fresh ? fresh->base : 0;
    return fresh && vest_allocation_add(fresh, placed) ? placed.base : 0;
}
