/* A file that all processes of a run share: how much device memory each of them holds, so that they compete for it as
 * they would on the GPU.
 *
 * The engine makes the file (setting `books`) and reads it; every process that uses the device maps it and owns one
 * slot. Any process may be killed at any instruction: a slot has its owner's numbers only, the lock names its owner,
 * and both are reclaimed from a process that no longer exists. Without the file a process is alone.
 *
 * Known limitations: processes in different PID namespaces do not see whether the others live; cudaIpc memory is
 * counted where it was allocated.
 */
#include "memory.h"
#include "settings.h"
#include "vest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct slot {
    uint64_t process; /* 0: free */
    uint64_t started; /* in clock ticks since boot: distinguishes a process from a later one with the same id */
    struct vest_held held[VEST_MAX_DEVICES];
};

struct shared_file {
    uint64_t lock;  /* process << 32 | slot + 1 of its owner; 0: free */
    uint64_t slots; /* how many have ever been in use */
    uint64_t unused[6];
    struct slot slot[];
};

/* Far below the addresses of device memory, whose order it must not change. Only a hint. */
#define WHERE ((void *)0x100000000000ull)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct shared_file *shared;
static uint64_t capacity;
static struct slot *mine;

static void map_file(void)
{
    const char *path = vest_setting("books");
    int file = path && *path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct stat known;
    if (file >= 0 && fstat(file, &known) == 0 && known.st_size > (off_t)(sizeof *shared + sizeof(struct slot))) {
        void *start = mmap(WHERE, (size_t)known.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (start != MAP_FAILED) {
            shared = start;
            capacity = ((uint64_t)known.st_size - sizeof *shared) / sizeof(struct slot);
        }
    }
    if (file >= 0)
        close(file);
}

static uint64_t load(const uint64_t *number) { return __atomic_load_n(number, __ATOMIC_ACQUIRE); }
static void store(uint64_t *number, uint64_t value) { __atomic_store_n(number, value, __ATOMIC_RELEASE); }

static bool replace(uint64_t *number, uint64_t old, uint64_t value)
{
    return __atomic_compare_exchange_n(number, &old, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* State, number of threads and start of a process, from /proc/PID/stat; false: there is no such process. */
static bool look_up(uint64_t process, char *state, long *threads, uint64_t *started)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (length <= 0) {
        *state = '?';
        return kill((pid_t)process, 0) == 0 || errno != ESRCH;
    }
    text[length] = '\0';
    /* The name, in parentheses, may hold anything. Fields 3, 20 and 22 follow. */
    const char *rest = strrchr(text, ')');
    unsigned long long start = 0;
    const char *format = " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %llu";
    if (!rest || sscanf(rest + 1, format, state, threads, &start) != 3)
        *state = '?';
    *started = start;
    return true;
}

/* A zombie holds no memory, unless only its first thread has ended. */
static bool lives(uint64_t process, uint64_t started)
{
    char state = '?';
    long threads = 1;
    uint64_t since = 0;
    if (!look_up(process, &state, &threads, &since))
        return false;
    if (state == '?')
        return true;
    return !(strchr("ZXx", state) && threads <= 1) && (!started || since == started);
}

static bool owner_lives(uint64_t owner)
{
    uint64_t process = owner >> 32, index = owner & UINT32_MAX;
    struct slot *slot = index ? &shared->slot[index - 1] : NULL;
    return lives(process, slot && load(&slot->process) == process ? load(&slot->started) : 0);
}

#define SPINS 1000
#define PAUSE_US 50

static void lock(void)
{
    uint64_t self = (uint64_t)getpid() << 32 | (mine ? (uint64_t)(mine - shared->slot) + 1 : 0);
    for (unsigned spins = 1; !replace(&shared->lock, 0, self); spins++) {
        if (spins % SPINS)
            continue;
        uint64_t owner = load(&shared->lock);
        if (owner && !owner_lives(owner) && replace(&shared->lock, owner, self))
            return;
        usleep(PAUSE_US);
    }
}

static void unlock(void) { store(&shared->lock, 0); }

static uint64_t taken_slots(void)
{
    uint64_t slots = load(&shared->slots);
    return slots < capacity ? slots : capacity;
}

/* Frees the slots of processes that have ended. One that is not ours, yet has our process id, belonged to the program
 * that this process ran before exec(). Called with the lock held. */
static bool reclaim(void)
{
    bool any = false;
    uint64_t self = (uint64_t)getpid();
    for (uint64_t i = 0; i < taken_slots(); i++) {
        struct slot *slot = &shared->slot[i];
        uint64_t process = load(&slot->process);
        if (!process || slot == mine || (process != self && lives(process, load(&slot->started))))
            continue;
        memset(slot->held, 0, sizeof slot->held);
        store(&slot->started, 0);
        store(&slot->process, 0);
        vest_log_gone((int)process);
        any = true;
    }
    return any;
}

static struct slot *take_slot(uint64_t process)
{
    for (uint64_t i = 0; i < capacity; i++) {
        struct slot *slot = &shared->slot[i];
        if (!replace(&slot->process, 0, process))
            continue;
        uint64_t slots = load(&shared->slots);
        while (slots < i + 1 && !replace(&shared->slots, slots, i + 1))
            slots = load(&shared->slots);
        return slot;
    }
    return NULL;
}

void vest_shared_join(void)
{
    vest_watch_exit();
    pthread_once(&once, map_file);
    if (!shared || mine)
        return;
    uint64_t self = (uint64_t)getpid(), started = 0;
    char state;
    long threads;
    /* What has ended by now must not be added to our memory. */
    lock();
    reclaim();
    unlock();
    mine = take_slot(self);
    if (!mine) {
        vest_log_own_error("books", "more processes use the device at once than the shared file has slots for");
        shared = NULL;
        return;
    }
    if (look_up(self, &state, &threads, &started))
        store(&mine->started, started);
}

static struct vest_held others(int device)
{
    struct vest_held sum = {0};
    for (uint64_t i = 0; i < taken_slots(); i++) {
        const struct slot *slot = &shared->slot[i];
        if (slot == mine || !load(&slot->process))
            continue;
        sum.used += load(&slot->held[device].used);
        sum.outside += load(&slot->held[device].outside);
    }
    return sum;
}

struct vest_held vest_shared_begin(int device)
{
    pthread_once(&once, map_file);
    if (!shared)
        return (struct vest_held){0};
    lock();
    return others(device);
}

bool vest_shared_recount(int device, struct vest_held *sum)
{
    if (!shared || !(sum->used || sum->outside) || !reclaim())
        return false;
    *sum = others(device);
    return true;
}

void vest_shared_end(int device, struct vest_held ours)
{
    if (mine) {
        store(&mine->held[device].used, ours.used);
        store(&mine->held[device].outside, ours.outside);
    }
    if (shared)
        unlock();
}

bool vest_shared_knows(int process)
{
    pthread_once(&once, map_file);
    for (uint64_t i = 0; shared && i < taken_slots(); i++)
        if (load(&shared->slot[i].process) == (uint64_t)process)
            return true;
    return false;
}

void vest_shared_forked(void) { mine = NULL; }
