/* fork() while other threads are running: the child has the forking thread alone, so a lock that another one held would
 * stay locked, and a list that it was changing stay inconsistent. Data loaders fork like this, next to the thread that
 * pins their batches. */
#include "budget.h"
#include "memory.h"
#include "overhead.h"

unsigned vest_fork_generation;

static pthread_mutex_t *const locks[] = {&vest_pool_lock, &vest_memory_lock, &vest_content_lock,
                                         &vest_host_lock, &vest_stream_lock, &vest_names_lock};
#define LOCKS (sizeof locks / sizeof *locks)

static void before_fork(void)
{
    for (size_t i = 0; i < LOCKS; i++)
        pthread_mutex_lock(locks[i]);
}

static void after_fork(void)
{
    for (size_t i = LOCKS; i-- > 0;)
        pthread_mutex_unlock(locks[i]);
}

static void after_fork_in_child(void)
{
    vest_fork_generation++;
    vest_budget_forked();
    vest_overhead_forked();
    vest_shared_forked();
    after_fork();
}

__attribute__((constructor)) static void hold_locks_across_fork(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
