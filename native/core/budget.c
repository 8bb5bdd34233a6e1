/* The limit on device memory, and what counts against it: the job's allocations, the CUDA context, and what libraries
 * and kernels hold in addition. Other processes of the run use the same device; shared.c knows how much.
 */
#include "budget.h"
#include "vest.h"

#include <string.h>

static uint64_t used[VEST_MAX_DEVICES];         /* by the job's allocations */
static uint64_t overhead[VEST_MAX_DEVICES];     /* by libraries and kernels, beyond the initial context */
static bool context_counted[VEST_MAX_DEVICES]; /* whether other processes know of the context */

static uint64_t at_most(uint64_t bytes, uint64_t limit) { return bytes < limit ? bytes : limit; }

/* Never below zero. */
static uint64_t less(uint64_t bytes, uint64_t taken) { return bytes - at_most(taken, bytes); }

/* What contexts and libraries, and everything of other processes, leave of the device. */
static uint64_t left_for_job(int device, struct vest_held others)
{
    uint64_t outside = vest_gpu()->context_bytes + overhead[device];
    return less(vest_gpu()->total_bytes, outside + others.used + others.outside);
}

/* What this process's allocations may add up to. Without a limit the device is as large as the job wants. */
static uint64_t budget(int device, struct vest_held others)
{
    uint64_t limit = vest_gpu()->limit_bytes;
    return limit == UINT64_MAX ? limit : at_most(left_for_job(device, others), less(limit, others.used));
}

static struct vest_held ours(int device)
{
    uint64_t context = context_counted[device] ? vest_gpu()->context_bytes : 0;
    return (struct vest_held){.used = used[device], .outside = context + overhead[device]};
}

static bool fits(uint64_t bytes, uint64_t taken, uint64_t limit) { return taken <= limit && bytes <= limit - taken; }

bool vest_budget_reserve(int device, uint64_t bytes)
{
    struct vest_held others = vest_shared_begin(device);
    if (!fits(bytes, used[device], budget(device, others)))
        vest_shared_recount(device, &others);
    uint64_t limit = budget(device, others);
    bool fit = fits(bytes, used[device], limit);
    if (fit)
        used[device] += bytes;
    vest_shared_end(device, ours(device));
    if (!fit)
        vest_log_refused("job", device, bytes, used[device], limit);
    return fit;
}

void vest_budget_cancel(int device, uint64_t bytes)
{
    vest_shared_begin(device);
    used[device] -= bytes;
    vest_shared_end(device, ours(device));
}

/* Recorded before other processes can have the memory, as an allocation is recorded after it: whoever adds up the
 * records of several processes never finds more than the device has. */
void vest_budget_release(int device, uint64_t bytes, uintptr_t address)
{
    vest_log_segment("free", device, bytes, address, used[device] - bytes);
    vest_budget_cancel(device, bytes);
}

static void log_overhead(const char *library, int device, int64_t bytes, uint64_t now)
{
    if (bytes)
        vest_log_library(library, device, bytes, now);
}

void vest_budget_add_overhead(const char *library, int device, int64_t bytes)
{
    uint64_t now = overhead[device] + (uint64_t)bytes;
    if (bytes < 0)
        log_overhead(library, device, bytes, now);
    vest_shared_begin(device);
    overhead[device] = now;
    vest_shared_end(device, ours(device));
    if (bytes > 0)
        log_overhead(library, device, bytes, now);
}

bool vest_budget_reserve_overhead(const char *library, int device, uint64_t bytes)
{
    struct vest_held others = vest_shared_begin(device);
    if (!fits(bytes, used[device], left_for_job(device, others)))
        vest_shared_recount(device, &others);
    bool unlimited = !bytes || vest_gpu()->limit_bytes == UINT64_MAX;
    bool fit = unlimited || fits(bytes, used[device], left_for_job(device, others));
    uint64_t limit = budget(device, others);
    if (fit)
        overhead[device] += bytes;
    vest_shared_end(device, ours(device));
    if (fit)
        log_overhead(library, device, (int64_t)bytes, overhead[device]);
    else
        vest_log_refused(library, device, bytes, used[device], limit);
    return fit;
}

bool vest_budget_reserve_context(int device)
{
    if (context_counted[device])
        return true;
    vest_shared_join();
    struct vest_held others = vest_shared_begin(device);
    uint64_t bytes = vest_gpu()->context_bytes;
    if (bytes > less(vest_gpu()->total_bytes, others.used + others.outside))
        vest_shared_recount(device, &others);
    uint64_t left = less(vest_gpu()->total_bytes, others.used + others.outside);
    context_counted[device] = vest_gpu()->limit_bytes == UINT64_MAX || bytes <= left;
    vest_shared_end(device, ours(device));
    if (!context_counted[device])
        vest_log_refused("context", device, bytes, 0, left);
    return context_counted[device];
}

uint64_t vest_budget_used(int device) { return used[device]; }

uint64_t vest_used_bytes(int device)
{
    pthread_mutex_lock(&vest_memory_lock);
    uint64_t bytes = used[device];
    pthread_mutex_unlock(&vest_memory_lock);
    return bytes;
}

uint64_t vest_overhead_bytes(int device)
{
    pthread_mutex_lock(&vest_memory_lock);
    uint64_t bytes = vest_gpu()->context_bytes + overhead[device];
    pthread_mutex_unlock(&vest_memory_lock);
    return bytes;
}

void vest_memory_info(int device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    pthread_mutex_lock(&vest_memory_lock);
    struct vest_held others = vest_shared_begin(device);
    vest_shared_recount(device, &others);
    vest_shared_end(device, ours(device));
    uint64_t usable = at_most(left_for_job(device, others), less(vest_gpu()->limit_bytes, others.used));
    *free_bytes = less(usable, used[device]);
    pthread_mutex_unlock(&vest_memory_lock);
    *total_bytes = vest_gpu()->total_bytes;
}

void vest_budget_forked(void)
{
    memset(used, 0, sizeof used);
    memset(overhead, 0, sizeof overhead);
    memset(context_counted, 0, sizeof context_counted);
}
