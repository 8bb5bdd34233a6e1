/* Device memory as the job allocates it: within the budget (budget.c), at the driver's addresses (address_space.c). */
#include "memory.h"
#include "address_space.h"
#include "budget.h"
#include "overhead.h"
#include "round.h"
#include "vest.h"

pthread_mutex_t vest_memory_lock = PTHREAD_MUTEX_INITIALIZER;

void *vest_alloc_for(enum vest_owner owner, int device, uint64_t bytes)
{
    if (bytes == 0 || bytes > VEST_LARGEST_ALLOCATION)
        return NULL;
    vest_address_space_init();
    bytes = vest_round_up(bytes, VEST_ALLOCATION_UNIT);
    pthread_mutex_lock(&vest_memory_lock);
    uintptr_t address = 0;
    if (vest_context_create(device) && vest_budget_reserve(device, bytes)) {
        address = vest_allocation_place(owner, device, bytes);
        if (address)
            vest_log_segment("alloc", device, bytes, address, vest_budget_used(device));
        else
            vest_budget_cancel(device, bytes);
    }
    pthread_mutex_unlock(&vest_memory_lock);
    return (void *)address;
}

bool vest_free_for(enum vest_owner owner, void *address)
{
    vest_address_space_init();
    pthread_mutex_lock(&vest_memory_lock);
    struct vest_range *range = vest_range_at((uintptr_t)address);
    struct vest_allocation *found = vest_allocation_at(range, (uintptr_t)address);
    bool known = found && found->base == (uintptr_t)address && found->owner == owner && !range->reservation;
    if (known) {
        int device = range->device;
        uint64_t bytes = found->bytes;
        bool inherited = found->generation != vest_fork_generation;
        vest_content_forget(address, bytes);
        vest_allocation_drop(range, found);
        if (!inherited)
            vest_budget_release(device, bytes, (uintptr_t)address);
    } else {
        vest_log_misuse("free of device memory that is not allocated", (uintptr_t)address);
    }
    pthread_mutex_unlock(&vest_memory_lock);
    return known;
}

void *vest_alloc(int device, uint64_t bytes) { return vest_alloc_for(VEST_OWNER_JOB, device, bytes); }
bool vest_free(void *address) { return vest_free_for(VEST_OWNER_JOB, address); }

bool vest_find(const void *address, struct vest_extent *out)
{
    vest_address_space_init();
    pthread_mutex_lock(&vest_memory_lock);
    struct vest_range *range = vest_range_at((uintptr_t)address);
    struct vest_allocation *found = vest_allocation_at(range, (uintptr_t)address);
    bool live = found && found->owner != VEST_OWNER_CONTEXT;
    if (live) {
        int device = found->physical ? vest_physical_device(found->physical) : range->device;
        *out = (struct vest_extent){.device = device, .base = found->base, .bytes = found->bytes};
    }
    pthread_mutex_unlock(&vest_memory_lock);
    return live;
}
