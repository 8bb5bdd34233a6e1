/* Pinned and registered host memory: a short list, so that pointer queries distinguish it from pageable memory. */
#include "memory.h"
#include "vest.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

struct region {
    struct region *next;
    uintptr_t base;
    size_t bytes;
    bool ours; /* allocated here, not just registered */
};

pthread_mutex_t vest_host_lock = PTHREAD_MUTEX_INITIALIZER;
static struct region *regions;

static bool add(void *address, size_t bytes, bool ours)
{
    struct region *region = malloc(sizeof *region);
    if (!region)
        return false;
    pthread_mutex_lock(&vest_host_lock);
    *region = (struct region){.next = regions, .base = (uintptr_t)address, .bytes = bytes, .ours = ours};
    regions = region;
    pthread_mutex_unlock(&vest_host_lock);
    return true;
}

/* Removes the region that starts at `address` from the list; its size, or 0. */
static size_t take(void *address, bool ours)
{
    size_t bytes = 0;
    pthread_mutex_lock(&vest_host_lock);
    for (struct region **link = &regions; *link; link = &(*link)->next) {
        struct region *region = *link;
        if (region->base != (uintptr_t)address || region->ours != ours)
            continue;
        bytes = region->bytes;
        *link = region->next;
        free(region);
        break;
    }
    pthread_mutex_unlock(&vest_host_lock);
    return bytes;
}

void *vest_host_alloc(size_t bytes)
{
    if (bytes == 0)
        return NULL;
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED)
        return NULL;
    if (!add(address, bytes, true)) {
        munmap(address, bytes);
        return NULL;
    }
    return address;
}

bool vest_host_free(void *address)
{
    size_t bytes = take(address, true);
    if (!bytes) {
        vest_log_misuse("free of pinned memory that is not allocated", (uintptr_t)address);
        return false;
    }
    munmap(address, bytes);
    return true;
}

bool vest_host_register(void *address, size_t bytes) { return bytes && add(address, bytes, false); }
bool vest_host_unregister(void *address) { return take(address, false) != 0; }

bool vest_is_pinned(const void *address)
{
    bool found = false;
    pthread_mutex_lock(&vest_host_lock);
    for (struct region *region = regions; region && !found; region = region->next)
        found = (uintptr_t)address - region->base < region->bytes;
    pthread_mutex_unlock(&vest_host_lock);
    return found;
}
