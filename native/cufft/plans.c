/* Plans: numbers with a work area. */
#include "cufft.h"
#include "versions.h"

#include <pthread.h>
#include <stdlib.h>

#include "symbols/cufft_noop.def"
#include "symbols/cufft_unsupported.def"

struct plan {
    bool used, manual; /* manual: the caller brings the work area */
    size_t work_bytes;
    void *work;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct plan *plans;
static int capacity;

static bool grow(void)
{
    int larger = capacity ? 2 * capacity : 64;
    struct plan *moved = realloc(plans, (size_t)larger * sizeof *plans);
    if (!moved)
        return false;
    for (int i = capacity; i < larger; i++)
        moved[i] = (struct plan){0};
    plans = moved;
    capacity = larger;
    return true;
}

/* Called with the lock held. There is no handle 0: callers use it for "none". */
static struct plan *find(int handle)
{
    return handle > 0 && handle < capacity && plans[handle].used ? &plans[handle] : NULL;
}

static struct vest_library overhead = {.name = "cufft", .first_bytes = FACT_VALUE(CUFFT_FIRST_PLAN)};

VEST_EXPORT int cufftCreate(int *handle)
{
    if (!handle)
        return INVALID_VALUE;
    if (!vest_overhead_acquire(&overhead, vest_device()))
        return ALLOC_FAILED;
    pthread_mutex_lock(&lock);
    int free_slot = 1;
    while (free_slot < capacity && plans[free_slot].used)
        free_slot++;
    bool ok = free_slot < capacity || grow();
    if (ok) {
        plans[free_slot] = (struct plan){.used = true};
        *handle = free_slot;
    }
    pthread_mutex_unlock(&lock);
    return ok ? SUCCESS : ALLOC_FAILED;
}

VEST_EXPORT int cufftDestroy(int handle)
{
    pthread_mutex_lock(&lock);
    struct plan *plan = find(handle);
    void *work = plan ? plan->work : NULL;
    if (plan)
        *plan = (struct plan){0};
    pthread_mutex_unlock(&lock);
    if (work)
        vest_free(work);
    return plan ? SUCCESS : INVALID_PLAN;
}

VEST_EXPORT int cufftSetAutoAllocation(int handle, int automatic)
{
    pthread_mutex_lock(&lock);
    struct plan *plan = find(handle);
    if (plan)
        plan->manual = !automatic;
    pthread_mutex_unlock(&lock);
    return plan ? SUCCESS : INVALID_PLAN;
}

int make(const char *name, int handle, struct shape shape, size_t *out)
{
    size_t bytes = 0;
    int status = size_of(name, &shape, &bytes);
    if (status)
        return status;
    pthread_mutex_lock(&lock);
    struct plan *plan = find(handle);
    bool allocate = plan && !plan->manual && bytes;
    if (plan)
        plan->work_bytes = bytes;
    if (allocate && !plan->work)
        plan->work = vest_alloc(vest_device(), bytes);
    if (!plan)
        status = INVALID_PLAN;
    else if (allocate && !plan->work)
        status = ALLOC_FAILED;
    pthread_mutex_unlock(&lock);
    if (out)
        *out = bytes;
    return status;
}

VEST_EXPORT int cufftGetSize(int handle, size_t *work_bytes)
{
    pthread_mutex_lock(&lock);
    struct plan *plan = find(handle);
    if (plan)
        *work_bytes = plan->work_bytes;
    pthread_mutex_unlock(&lock);
    return plan ? SUCCESS : INVALID_PLAN;
}

VEST_EXPORT int cufftGetVersion(int *version)
{
    *version = vest_version_number(VEST_CUFFT, 1000);
    return SUCCESS;
}

GET_PROPERTY(cufftGetProperty, VEST_CUFFT, INVALID_VALUE)
