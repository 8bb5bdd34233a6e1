/* How the processes that use the device end: by exit() or _exit(), with which code, or killed by another of the run.
 *
 * Nothing else records it: a worker's parent need not look at its exit code, and multiprocessing ends its forked
 * children by os._exit(), past Python's own exit handlers. A process without such a record was ended by a signal.
 */
#include "memory.h"
#include "vest.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t watched; /* this process's id, if it used the device; a forked child still has its parent's here */

static void note_exit(int status, void *unused)
{
    (void)unused;
    if (__atomic_load_n(&watched, __ATOMIC_RELAXED) != getpid())
        return;
    __atomic_store_n(&watched, 0, __ATOMIC_RELAXED);
    vest_log_exit(status & 0xff);
}

void vest_watch_exit(void)
{
    static bool registered;
    pid_t self = getpid();
    if (__atomic_exchange_n(&watched, self, __ATOMIC_RELAXED) != self &&
        !__atomic_exchange_n(&registered, true, __ATOMIC_RELAXED))
        on_exit(note_exit, NULL);
}

/* Also called by a child of vfork(), which shares this memory: its id is not the watched one. */
VEST_EXPORT void _exit(int status)
{
    note_exit(status, NULL);
    for (;;)
        syscall(SYS_exit_group, status);
}

VEST_EXPORT void _Exit(int status) { _exit(status); }

static void note_signal(int process, int number)
{
    int before = errno;
    if (number && process > 0 && process != getpid() && vest_shared_knows(process))
        vest_log_killed(process, number);
    errno = before;
}

VEST_EXPORT int kill(pid_t process, int number)
{
    note_signal(process, number);
    return (int)syscall(SYS_kill, process, number);
}
