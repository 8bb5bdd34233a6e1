/* The device's default memory pool (cudaMallocAsync): blocks of 512 bytes' multiples, best fit, cut from chunks.
 *
 * Known limitation: the real pool's growth and reuse rules are not published; chunks of 32 MiB and best fit are a
 * guess, so a job that allocates this way says so in its estimate.
 */
#include "memory.h"
#include "vest.h"

#include <pthread.h>
#include <stdlib.h>

#define BLOCK 512ull
#define CHUNK (32ull << 20)
#define LARGE_GRANULE (2ull << 20)

struct block {
    struct block *next; /* neighbour above in the same chunk */
    uintptr_t base;
    uint64_t bytes;
    bool taken;
};

struct chunk {
    struct chunk *next;
    int device;
    uintptr_t base;
    uint64_t bytes;
    struct block *blocks;
};

pthread_mutex_t vest_pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *chunks;
static uint64_t numbers[VEST_MAX_DEVICES][4];

static void count(int device, enum vest_pool_number now, int64_t change)
{
    uint64_t *all = numbers[device];
    all[now] += (uint64_t)change;
    if (all[now] > all[now + 1]) /* the high-water mark follows its number */
        all[now + 1] = all[now];
}

static struct block *best_fit(int device, uint64_t bytes)
{
    struct block *best = NULL;
    for (struct chunk *chunk = chunks; chunk; chunk = chunk->next)
        for (struct block *block = chunk->device == device ? chunk->blocks : NULL; block; block = block->next)
            if (!block->taken && block->bytes >= bytes && (!best || block->bytes < best->bytes))
                best = block;
    return best;
}

static struct block *add_chunk(int device, uint64_t bytes)
{
    bytes = bytes <= CHUNK ? CHUNK : (bytes + LARGE_GRANULE - 1) / LARGE_GRANULE * LARGE_GRANULE;
    struct chunk *chunk = calloc(1, sizeof *chunk);
    struct block *block = calloc(1, sizeof *block);
    void *base = chunk && block ? vest_alloc_for(VEST_OWNER_POOL, device, bytes) : NULL;
    if (!base) {
        free(chunk);
        free(block);
        return NULL;
    }
    *block = (struct block){.base = (uintptr_t)base, .bytes = bytes};
    *chunk = (struct chunk){.next = chunks, .device = device, .base = block->base, .bytes = bytes, .blocks = block};
    chunks = chunk;
    count(device, VEST_POOL_RESERVED, (int64_t)bytes);
    return block;
}

static void split(struct block *block, uint64_t bytes)
{
    struct block *rest = block->bytes > bytes ? malloc(sizeof *rest) : NULL;
    if (!rest)
        return;
    *rest = (struct block){.next = block->next, .base = block->base + bytes, .bytes = block->bytes - bytes};
    block->next = rest;
    block->bytes = bytes;
}

void *vest_pool_alloc(int device, uint64_t bytes)
{
    vest_log_unmodelled("cudart", "growth of the cudaMallocAsync pool", "guessed");
    if (bytes == 0 || bytes > UINT64_MAX - BLOCK)
        return NULL;
    bytes = (bytes + BLOCK - 1) / BLOCK * BLOCK;
    pthread_mutex_lock(&vest_pool_lock);
    struct block *block = best_fit(device, bytes);
    if (!block)
        block = add_chunk(device, bytes);
    if (block) {
        split(block, bytes);
        block->taken = true;
        count(device, VEST_POOL_USED, (int64_t)block->bytes);
    }
    pthread_mutex_unlock(&vest_pool_lock);
    return block ? (void *)block->base : NULL;
}

static void merge_free_neighbours(struct chunk *chunk)
{
    for (struct block *block = chunk->blocks; block; block = block->next)
        while (!block->taken && block->next && !block->next->taken) {
            struct block *gone = block->next;
            block->bytes += gone->bytes;
            block->next = gone->next;
            free(gone);
        }
}

bool vest_pool_free(void *address)
{
    bool found = false;
    pthread_mutex_lock(&vest_pool_lock);
    for (struct chunk *chunk = chunks; chunk && !found; chunk = chunk->next) {
        if ((uintptr_t)address - chunk->base >= chunk->bytes)
            continue;
        for (struct block *block = chunk->blocks; block && !found; block = block->next) {
            if (block->base != (uintptr_t)address || !block->taken)
                continue;
            block->taken = false;
            found = true;
            count(chunk->device, VEST_POOL_USED, -(int64_t)block->bytes);
        }
        merge_free_neighbours(chunk);
    }
    pthread_mutex_unlock(&vest_pool_lock);
    return found;
}

void vest_pool_trim(int device)
{
    pthread_mutex_lock(&vest_pool_lock);
    for (struct chunk **link = &chunks; *link;) {
        struct chunk *chunk = *link;
        bool empty = chunk->device == device && !chunk->blocks->taken && !chunk->blocks->next;
        if (!empty) {
            link = &chunk->next;
            continue;
        }
        *link = chunk->next;
        count(device, VEST_POOL_RESERVED, -(int64_t)chunk->bytes);
        vest_free_for(VEST_OWNER_POOL, (void *)chunk->base);
        free(chunk->blocks);
        free(chunk);
    }
    pthread_mutex_unlock(&vest_pool_lock);
}

uint64_t vest_pool_number(int device, enum vest_pool_number which)
{
    pthread_mutex_lock(&vest_pool_lock);
    uint64_t number = numbers[device][which];
    pthread_mutex_unlock(&vest_pool_lock);
    return number;
}

void vest_pool_reset_high(int device, enum vest_pool_number which)
{
    pthread_mutex_lock(&vest_pool_lock);
    numbers[device][which] = numbers[device][which - 1];
    pthread_mutex_unlock(&vest_pool_lock);
}
