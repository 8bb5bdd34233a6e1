/* What the core's files know of each other; the locks and their order are at the end. */
#ifndef VEST_MEMORY_H
#define VEST_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Whose device memory it is. Only its owner can free it. */
enum vest_owner {
    VEST_OWNER_JOB,     /* allocated or mapped by the program */
    VEST_OWNER_POOL,    /* a pool's chunk: counted like the job's, and not freed until the pool is trimmed */
    VEST_OWNER_CONTEXT, /* has addresses, but counts as overhead */
};
void *vest_alloc_for(enum vest_owner owner, int device, uint64_t bytes);
bool vest_free_for(enum vest_owner owner, void *address);

struct vest_physical;
int vest_physical_device(const struct vest_physical *memory);

/* What one process holds on a device, or several together: allocations, and contexts and libraries in addition. */
struct vest_held {
    uint64_t used, outside;
};

/* What the processes of a run hold, in a file they share; see shared.c. Called with vest_memory_lock held. */
void vest_shared_join(void);                                    /* this process uses the device */
struct vest_held vest_shared_begin(int device);                 /* locks the file; what the other processes hold */
bool vest_shared_recount(int device, struct vest_held *others); /* between the two: false if all of them still live */
void vest_shared_end(int device, struct vest_held ours);        /* publishes what we hold, and unlocks the file */
void vest_shared_forked(void);                                  /* in the child */
bool vest_shared_knows(int process);                            /* needs no lock */

extern unsigned vest_fork_generation; /* of this process: what an older one allocated is the parent's memory */
void vest_watch_exit(void);           /* this process's exit is recorded from now on */

/* Discards what was written there: it reads as zeros again and costs the host nothing. */
void vest_content_forget(void *address, uint64_t bytes);

/* A thread that holds several of these has locked them in this order; fork.c holds them all across fork(). */
extern pthread_mutex_t vest_pool_lock, vest_memory_lock, vest_content_lock;
/* Never held together with another. */
extern pthread_mutex_t vest_host_lock, vest_stream_lock, vest_names_lock;

#endif
