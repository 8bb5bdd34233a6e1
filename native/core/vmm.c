/* Virtual memory management (cuMemCreate, cuMemMap...), as expandable segments use it: physical memory counts against
 * the budget, reserved addresses do not. */
#include "address_space.h"
#include "budget.h"
#include "round.h"
#include "vest.h"

#include <stdlib.h>

struct vest_physical {
    int device;
    unsigned generation;   /* vest_fork_generation when it was made */
    int handles, mappings; /* it lives while there is any of either */
    uint64_t bytes;
};

int vest_physical_device(const struct vest_physical *memory) { return memory->device; }

void *vest_reserve(uint64_t bytes, uint64_t alignment)
{
    if (bytes == 0 || bytes > VEST_LARGEST_ALLOCATION || alignment > VEST_RANGE_UNIT)
        return NULL;
    vest_address_space_init();
    pthread_mutex_lock(&vest_memory_lock);
    struct vest_range *range = vest_range_add(-1, bytes, true);
    pthread_mutex_unlock(&vest_memory_lock);
    return range ? (void *)range->base : NULL;
}

bool vest_unreserve(void *address, uint64_t bytes)
{
    pthread_mutex_lock(&vest_memory_lock);
    struct vest_range *range = vest_range_at((uintptr_t)address);
    bool known = range && range->reservation && range->base == (uintptr_t)address && !range->allocations &&
                 range->bytes == vest_round_up(bytes, VEST_RANGE_UNIT);
    if (known)
        vest_range_remove(range);
    else
        vest_log_misuse("release of an address range that is not reserved, or still mapped", (uintptr_t)address);
    pthread_mutex_unlock(&vest_memory_lock);
    return known;
}

struct vest_physical *vest_physical_create(int device, uint64_t bytes)
{
    if (bytes == 0 || bytes > VEST_LARGEST_ALLOCATION)
        return NULL;
    bytes = vest_round_up(bytes, VEST_ALLOCATION_UNIT);
    struct vest_physical *memory = malloc(sizeof *memory);
    pthread_mutex_lock(&vest_memory_lock);
    if (memory && vest_budget_reserve_context(device) && vest_budget_reserve(device, bytes)) {
        const unsigned generation = vest_fork_generation;
        *memory = (struct vest_physical){.device = device, .generation = generation, .handles = 1, .bytes = bytes};
        vest_log_segment("alloc", device, bytes, 0, vest_budget_used(device));
    } else {
        free(memory);
        memory = NULL;
    }
    pthread_mutex_unlock(&vest_memory_lock);
    return memory;
}

void vest_physical_retain(struct vest_physical *memory)
{
    pthread_mutex_lock(&vest_memory_lock);
    memory->handles++;
    pthread_mutex_unlock(&vest_memory_lock);
}

static void free_unless_held(struct vest_physical *memory)
{
    if (memory->handles || memory->mappings)
        return;
    if (memory->generation == vest_fork_generation)
        vest_budget_release(memory->device, memory->bytes, 0);
    free(memory);
}

bool vest_physical_release(struct vest_physical *memory)
{
    pthread_mutex_lock(&vest_memory_lock);
    bool held = memory->handles > 0;
    if (held) {
        memory->handles--;
        free_unless_held(memory);
    } else {
        vest_log_misuse("release of physical memory that only its mappings still hold", (uintptr_t)memory);
    }
    pthread_mutex_unlock(&vest_memory_lock);
    return held;
}

/* Whole units inside the reservation, with nothing mapped between the two addresses. */
static bool can_map(const struct vest_range *range, uintptr_t base, uint64_t bytes)
{
    if (base % VEST_ALLOCATION_UNIT || bytes % VEST_ALLOCATION_UNIT || bytes == 0 ||
        bytes > range->base + range->bytes - base)
        return false;
    for (const struct vest_allocation *at = range->allocations; at; at = at->next)
        if (at->base < base + bytes && base < at->base + at->bytes)
            return false;
    return true;
}

bool vest_map(void *address, uint64_t bytes, struct vest_physical *memory)
{
    const struct vest_allocation mapping = {.base = (uintptr_t)address, .bytes = bytes, .physical = memory};
    pthread_mutex_lock(&vest_memory_lock);
    struct vest_range *range = vest_range_at(mapping.base);
    bool fits = memory && range && range->reservation && bytes <= memory->bytes &&
                can_map(range, mapping.base, bytes) && vest_allocation_add(range, mapping);
    if (fits)
        memory->mappings++;
    else
        vest_log_misuse("mapping outside a reservation, over another mapping, or of more than there is", mapping.base);
    pthread_mutex_unlock(&vest_memory_lock);
    return fits;
}

bool vest_unmap(void *address, uint64_t bytes)
{
    uintptr_t base = (uintptr_t)address, end = base + bytes;
    bool any = false;
    pthread_mutex_lock(&vest_memory_lock);
    struct vest_range *range = vest_range_at(base);
    struct vest_allocation *mapping = range && range->reservation ? range->allocations : NULL;
    for (struct vest_allocation *next; mapping; mapping = next) {
        next = mapping->next;
        if (mapping->base < base || mapping->base + mapping->bytes > end)
            continue;
        vest_content_forget((void *)mapping->base, mapping->bytes);
        mapping->physical->mappings--;
        free_unless_held(mapping->physical);
        vest_allocation_remove(range, mapping);
        any = true;
    }
    if (!any)
        vest_log_misuse("unmapping of an address where nothing is mapped", base);
    pthread_mutex_unlock(&vest_memory_lock);
    return any;
}

struct vest_physical *vest_mapped_at(const void *address)
{
    vest_address_space_init();
    pthread_mutex_lock(&vest_memory_lock);
    struct vest_allocation *found = vest_allocation_at(vest_range_at((uintptr_t)address), (uintptr_t)address);
    struct vest_physical *memory = found ? found->physical : NULL;
    pthread_mutex_unlock(&vest_memory_lock);
    return memory;
}
