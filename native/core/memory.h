/* What the core's files know of each other. */
#ifndef VEST_MEMORY_H
#define VEST_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Who holds a piece of device memory. Nobody frees what another took. */
enum vest_owner {
    VEST_OWNER_JOB,     /* allocated or mapped by the program */
    VEST_OWNER_POOL,    /* a pool's chunk: in the books, and not freed until the pool is trimmed */
    VEST_OWNER_CONTEXT, /* has addresses, but is in nobody's books */
};
void *vest_alloc_for(enum vest_owner owner, int device, uint64_t bytes);
bool vest_free_for(enum vest_owner owner, void *address);

/* Drops what was written there: it reads as zeros again and costs the host nothing. */
void vest_content_forget(void *address, uint64_t bytes);

/* Each file's lock; fork.c holds them all across fork(). A thread takes them in this order. */
extern pthread_mutex_t vest_pool_lock, vest_memory_lock, vest_content_lock;
/* And these alone. */
extern pthread_mutex_t vest_host_lock, vest_stream_lock, vest_names_lock;

#endif
