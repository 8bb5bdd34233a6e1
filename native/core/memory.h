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

/* What one process holds on a device, or several together: allocations, and the contexts and libraries beside them. */
struct vest_held {
    uint64_t used, outside;
};

/* The books shared by the processes of a run; see shared.c. Wanted with vest_memory_lock held. */
void vest_shared_join(void); /* this process uses the device */
struct vest_held vest_shared_begin(int device); /* locks them; what the others hold there */
bool vest_shared_recount(int device, struct vest_held *others); /* between the two: false if none of them has gone */
void vest_shared_end(int device, struct vest_held ours); /* publishes, and unlocks them */
void vest_shared_forked(void); /* in the child */
bool vest_shared_knows(int process); /* needs no lock */

void vest_memory_forked(void); /* in the child: device memory stays its parent's */
void vest_watch_exit(void);    /* this process's exit is recorded from now on */

/* Drops what was written there: it reads as zeros again and costs the host nothing. */
void vest_content_forget(void *address, uint64_t bytes);

/* Each file's lock; fork.c holds them all across fork(). A thread takes them in this order. */
extern pthread_mutex_t vest_pool_lock, vest_memory_lock, vest_content_lock;
/* And these alone. */
extern pthread_mutex_t vest_host_lock, vest_stream_lock, vest_names_lock;

#endif
