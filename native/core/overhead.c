/* Device memory that the job did not allocate: the CUDA context, and what kernels and libraries add to it. */
#include "overhead.h"
#include "address_space.h"
#include "budget.h"
#include "facts/facts.h"
#include "round.h"
#include "vest.h"

#include <string.h>

/* What the context holds, where it affects addresses: two ranges, and the kernels' local memory; at the first launch that
 * pool is exchanged for a larger one, and machine code is added. Sizes differ on other GPUs, the order is assumed to be the
 * same.
 *
 * Local memory exists for every thread that the device can hold at once: 132 x 2048 of them on an H200. */
static uint64_t launch_growth(void)
{
    const struct vest_gpu *gpu = vest_gpu();
    uint64_t threads = (uint64_t)gpu->sms * (uint64_t)gpu->threads_sm;
    uint64_t growth = FACT_VALUE(KERNEL_LOCAL_MEMORY) / 2048 * threads / 132;
    return vest_round_up(growth, VEST_ALLOCATION_UNIT) + FACT_VALUE(KERNEL_CODE);
}

static bool created[VEST_MAX_DEVICES], launched[VEST_MAX_DEVICES];
static struct vest_range *local_memory[VEST_MAX_DEVICES];

static struct vest_range *add_context_range(int device, uint64_t bytes)
{
    struct vest_range *range = vest_range_add(device, bytes, false);
    if (!range)
        return NULL;
    const struct vest_allocation held = {.base = range->base, .bytes = bytes, .owner = VEST_OWNER_CONTEXT};
    return vest_allocation_add(range, held) ? range : NULL;
}

bool vest_context_create(int device)
{
    if (!vest_budget_reserve_context(device))
        return false;
    if (created[device])
        return true;
    created[device] = true;
    add_context_range(device, FACT_VALUE(CONTEXT_FIRST));
    add_context_range(device, FACT_VALUE(CONTEXT_SECOND));
    local_memory[device] = add_context_range(device, FACT_VALUE(LOCAL_MEMORY));
    return true;
}

void vest_on_kernel_launch(void)
{
    int device = vest_device();
    vest_issue();
    if (__atomic_exchange_n(&launched[device], true, __ATOMIC_RELAXED))
        return;
    vest_address_space_init();
    pthread_mutex_lock(&vest_memory_lock);
    vest_context_create(device);
    struct vest_range *old = local_memory[device];
    local_memory[device] = add_context_range(device, FACT_VALUE(LOCAL_MEMORY_LAUNCHED));
    if (old)
        vest_allocation_drop(old, old->allocations);
    vest_budget_add_overhead("kernels", device, (int64_t)launch_growth());
    pthread_mutex_unlock(&vest_memory_lock);
}

bool vest_overhead_acquire(struct vest_library *library, int device)
{
    vest_address_space_init();
    pthread_mutex_lock(&vest_memory_lock);
    bool first = !library->known[device];
    uint64_t bytes = library->handle_bytes + (first ? library->first_bytes : 0);
    bool fit = vest_budget_reserve_context(device) && vest_budget_reserve_overhead(library->name, device, bytes);
    if (fit && first && library->first_addresses) {
        vest_context_create(device);
        uint64_t addresses = vest_round_up(library->first_addresses, VEST_ALLOCATION_UNIT);
        vest_allocation_place(VEST_OWNER_CONTEXT, device, addresses);
    }
    library->known[device] |= fit;
    pthread_mutex_unlock(&vest_memory_lock);
    return fit;
}

void vest_overhead_release(const struct vest_library *library, int device)
{
    pthread_mutex_lock(&vest_memory_lock);
    vest_budget_add_overhead(library->name, device, -(int64_t)library->handle_bytes);
    pthread_mutex_unlock(&vest_memory_lock);
}

void vest_overhead_forked(void)
{
    memset(created, 0, sizeof created);
    memset(launched, 0, sizeof launched);
}
