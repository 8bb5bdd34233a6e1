/* Device memory: addresses in the driver's order, and books per device.
 *
 * Addresses matter because PyTorch's best-fit breaks ties by the lower one. Seen on an H200 (driver 580) with the
 * process's mappings logged at every cudaMalloc (benchmarks/workspaces/log_addresses.c): the driver takes address ranges
 * of whole 32 MiB from the process's own address space, each in the highest hole with room for it and its alignment, and
 * places an allocation at the lowest address where a gap in its ranges is large enough; an empty range is given back.
 * Everything is counted in 2 MiB. So the ranges here come from the same address space in the same way, and fall among the
 * job's own mappings as they do on the GPU.
 *
 * The ranges are host memory that is mapped but not backed until it is written (content.c).
 */
#include "memory.h"
#include "settings.h"
#include "vest.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GRANULE (2ull << 20)
#define RANGE_GRANULE (32ull << 20)
#define ADDRESS_BITS 47
#define LARGEST (16ull << 40)

struct vest_physical {
    int device;
    unsigned generation;
    int handles, mappings; /* it lives while there is any of either */
    uint64_t bytes;
};

/* A live allocation, or a mapping inside a reservation. */
struct piece {
    struct piece *next;
    uintptr_t base;
    uint64_t bytes;
    enum vest_owner owner;
    unsigned generation;
    struct vest_physical *memory; /* NULL: allocated directly */
};

struct range {
    struct range *next; /* ascending addresses */
    uintptr_t base;
    uint64_t bytes;
    int device;
    bool reservation; /* made by vest_reserve: filled by mappings only */
    struct piece *pieces;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_mutex_t vest_memory_lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges;
static uint64_t used[VEST_MAX_DEVICES];      /* by the job's allocations */
static uint64_t libraries[VEST_MAX_DEVICES]; /* by libraries for themselves, beyond the context at its start */
static bool booked[VEST_MAX_DEVICES];        /* whether the context is in the books that processes share */
static unsigned generation;                  /* of forks: what an older one allocated is the parent's memory */
static uint8_t *is_ours; /* one byte for each 32 MiB of address space */

static uint64_t round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

static void refuse_address_space(uint64_t bytes)
{
    fprintf(stderr,
            "veritasest: cannot map %llu MiB of address space for device memory: %s.\n"
            "  Lift the limit on address space (ulimit -v unlimited), or set vm.overcommit_memory to 0 or 1.\n",
            (unsigned long long)(bytes >> 20), strerror(errno));
}

static void *map_lazily(uintptr_t hint, uint64_t bytes)
{
    void *start = mmap((void *)hint, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        refuse_address_space(bytes);
        return NULL;
    }
    return start;
}

/* With the setting addresses=upwards each range lies above the last: another order of addresses, to see what depends on it.
 * From here on there are some 400 GiB below the host's own mappings. */
#define UPWARDS_FROM 0x7e9000000000ull
static uintptr_t next_upwards; /* 0: the driver's order */

static void set_up(void)
{
    const char *order = vest_setting("addresses");
    next_upwards = order && strcmp(order, "upwards") == 0 ? UPWARDS_FROM : 0;
    is_ours = map_lazily(0, (1ull << ADDRESS_BITS) / RANGE_GRANULE);
    if (!is_ours)
        abort();
}

bool vest_is_device(const void *address)
{
    pthread_once(&once, set_up);
    uintptr_t number = (uintptr_t)address;
    return number >> ADDRESS_BITS == 0 && __atomic_load_n(&is_ours[number / RANGE_GRANULE], __ATOMIC_RELAXED);
}

static struct range *range_of(uintptr_t address)
{
    for (struct range *range = ranges; range && range->base <= address; range = range->next)
        if (address < range->base + range->bytes)
            return range;
    return NULL;
}

static struct piece *piece_of(const struct range *range, uintptr_t address)
{
    for (struct piece *piece = range ? range->pieces : NULL; piece && piece->base <= address; piece = piece->next)
        if (address < piece->base + piece->bytes)
            return piece;
    return NULL;
}

/* As the driver does it: room for the range and its alignment from the highest hole, the rest given back. */
static uintptr_t map_range(uint64_t bytes, uint64_t alignment)
{
    void *start = map_lazily(next_upwards, bytes + alignment);
    if (!start)
        return 0;
    uintptr_t first = (uintptr_t)start, end = first + bytes + alignment, base = (end - bytes) / alignment * alignment;
    if (base > first)
        munmap(start, base - first);
    if (base + bytes < end)
        munmap((void *)(base + bytes), end - base - bytes);
    /* A huge page would back 2 MiB for every small copy. The advice may be unknown to the kernel: no harm. */
    madvise((void *)base, bytes, MADV_NOHUGEPAGE);
    madvise((void *)base, bytes, MADV_DONTDUMP);
    if (next_upwards)
        next_upwards = base + bytes;
    return base;
}

static void claim(const struct range *range, uint8_t value)
{
    for (uintptr_t at = range->base; at < range->base + range->bytes; at += RANGE_GRANULE)
        __atomic_store_n(&is_ours[at / RANGE_GRANULE], value, __ATOMIC_RELAXED);
}

static struct range *add_range(int device, uint64_t bytes, uint64_t alignment, bool reservation)
{
    uintptr_t base = map_range(bytes, alignment);
    struct range *range = base ? calloc(1, sizeof *range) : NULL;
    if (!range)
        return NULL;
    *range = (struct range){.base = base, .bytes = bytes, .device = device, .reservation = reservation};
    struct range **link = &ranges;
    while (*link && (*link)->base < base)
        link = &(*link)->next;
    range->next = *link;
    *link = range;
    claim(range, 1);
    return range;
}

static void drop_range(struct range *range)
{
    struct range **link = &ranges;
    while (*link != range)
        link = &(*link)->next;
    *link = range->next;
    claim(range, 0);
    munmap((void *)range->base, range->bytes);
    free(range);
}

static bool add_piece(struct range *range, struct piece made)
{
    struct piece *piece = malloc(sizeof *piece);
    if (!piece)
        return false;
    struct piece **link = &range->pieces;
    while (*link && (*link)->base < made.base)
        link = &(*link)->next;
    *piece = made;
    piece->generation = generation;
    piece->next = *link;
    *link = piece;
    return true;
}

static void drop_piece(struct range *range, struct piece *piece)
{
    struct piece **link = &range->pieces;
    while (*link != piece)
        link = &(*link)->next;
    *link = piece->next;
    free(piece);
}

/* The lowest gap of the range that holds `bytes`; 0 when there is none. */
static uintptr_t lowest_gap(const struct range *range, uint64_t bytes)
{
    uintptr_t gap = range->base;
    for (const struct piece *piece = range->pieces; piece; piece = piece->next) {
        if (piece->base - gap >= bytes)
            return gap;
        gap = piece->base + piece->bytes;
    }
    return range->base + range->bytes - gap >= bytes ? gap : 0;
}

static uintptr_t place(enum vest_owner owner, int device, uint64_t bytes)
{
    for (struct range *range = ranges; range; range = range->next) {
        uintptr_t gap = range->device == device && !range->reservation ? lowest_gap(range, bytes) : 0;
        if (gap)
            return add_piece(range, (struct piece){.base = gap, .bytes = bytes, .owner = owner}) ? gap : 0;
    }
    struct range *fresh = add_range(device, round_up(bytes, RANGE_GRANULE), RANGE_GRANULE, false);
    bool added = fresh && add_piece(fresh, (struct piece){.base = fresh->base, .bytes = bytes, .owner = owner});
    return added ? fresh->base : 0;
}

static uint64_t at_most(uint64_t bytes, uint64_t limit) { return bytes < limit ? bytes : limit; }

static uint64_t less(uint64_t bytes, uint64_t taken) { return bytes - at_most(taken, bytes); }

/* What contexts and libraries, and all that other processes hold, leave of the device. */
static uint64_t left_for_job(int device, struct vest_held others)
{
    uint64_t outside = vest_gpu()->context_bytes + libraries[device];
    return less(vest_gpu()->total_bytes, outside + others.used + others.outside);
}

/* What this process's allocations may add up to. Without a limit the device is as large as anybody wants. */
static uint64_t room(int device, struct vest_held others)
{
    uint64_t limit = vest_gpu()->limit_bytes;
    return limit == UINT64_MAX ? limit : at_most(left_for_job(device, others), less(limit, others.used));
}

static struct vest_held ours(int device)
{
    uint64_t context = booked[device] ? vest_gpu()->context_bytes : 0;
    return (struct vest_held){.used = used[device], .outside = context + libraries[device]};
}

static bool fits(uint64_t bytes, uint64_t taken, uint64_t limit) { return taken <= limit && bytes <= limit - taken; }

/* Books `bytes` if the device has them left. */
static bool take(int device, uint64_t bytes)
{
    struct vest_held others = vest_shared_begin(device);
    if (!fits(bytes, used[device], room(device, others)))
        vest_shared_recount(device, &others);
    uint64_t limit = room(device, others);
    bool fit = fits(bytes, used[device], limit);
    if (fit)
        used[device] += bytes;
    vest_shared_end(device, ours(device));
    if (!fit)
        vest_log_refused("job", device, bytes, used[device], limit);
    return fit;
}

static void give_unseen(int device, uint64_t bytes)
{
    vest_shared_begin(device);
    used[device] -= bytes;
    vest_shared_end(device, ours(device));
}

/* Logged before others can take it, as what is taken is logged afterwards: who adds up the log of several processes never
 * finds more than there is. */
static void give(int device, uint64_t bytes, uintptr_t address)
{
    vest_log_segment("free", device, bytes, address, used[device] - bytes);
    give_unseen(device, bytes);
}

static void log_library(const char *library, int device, int64_t bytes, uint64_t now)
{
    if (bytes)
        vest_log_library(library, device, bytes, now);
}

static void book_library(const char *library, int device, int64_t bytes)
{
    uint64_t now = libraries[device] + (uint64_t)bytes;
    if (bytes < 0)
        log_library(library, device, bytes, now);
    vest_shared_begin(device);
    libraries[device] = now;
    vest_shared_end(device, ours(device));
    if (bytes > 0)
        log_library(library, device, bytes, now);
}

static bool take_for_library(int device, uint64_t bytes, uint64_t *limit)
{
    struct vest_held others = vest_shared_begin(device);
    if (!fits(bytes, used[device], left_for_job(device, others)))
        vest_shared_recount(device, &others);
    bool unlimited = !bytes || vest_gpu()->limit_bytes == UINT64_MAX;
    bool fit = unlimited || fits(bytes, used[device], left_for_job(device, others));
    *limit = room(device, others);
    if (fit)
        libraries[device] += bytes;
    vest_shared_end(device, ours(device));
    return fit;
}

uint64_t vest_outside_bytes(int device)
{
    pthread_mutex_lock(&vest_memory_lock);
    uint64_t bytes = vest_gpu()->context_bytes + libraries[device];
    pthread_mutex_unlock(&vest_memory_lock);
    return bytes;
}

/* What the context holds, where it bears on addresses. On an H200: 64 MiB, a range with 24 MiB to spare, and the kernels'
 * local memory, 414 MiB; at the first launch that pool is exchanged for one of 506 MiB. Sizes differ on other GPUs, the
 * order is taken to be the same. */
#define LOCAL_MEMORY (414ull << 20)
#define LOCAL_MEMORY_LAUNCHED (506ull << 20)

/* Beside what that pool grows by, the first launch brings 2 MiB of machine code. */
#define CODE (2ull << 20)

/* Local memory is there for every thread that the device can hold at once: 132 x 2048 of them on an H200. */
static uint64_t launch_growth(void)
{
    const struct vest_gpu *gpu = vest_gpu();
    uint64_t threads = (uint64_t)gpu->sms * (uint64_t)gpu->threads_sm;
    return round_up((LOCAL_MEMORY_LAUNCHED - LOCAL_MEMORY) / 2048 * threads / 132, GRANULE) + CODE;
}

static struct range *local_memory[VEST_MAX_DEVICES];

static struct range *add_context_range(int device, uint64_t bytes)
{
    struct range *range = add_range(device, round_up(bytes, RANGE_GRANULE), RANGE_GRANULE, false);
    if (!range)
        return NULL;
    const struct piece held = {.base = range->base, .bytes = bytes, .owner = VEST_OWNER_CONTEXT};
    return add_piece(range, held) ? range : NULL;
}

/* Whether there is room for the context: a process alone always has it. Wants the lock held. */
static bool book_context(int device)
{
    if (booked[device])
        return true;
    vest_shared_join();
    struct vest_held others = vest_shared_begin(device);
    uint64_t bytes = vest_gpu()->context_bytes;
    if (bytes > less(vest_gpu()->total_bytes, others.used + others.outside))
        vest_shared_recount(device, &others);
    uint64_t left = less(vest_gpu()->total_bytes, others.used + others.outside);
    booked[device] = vest_gpu()->limit_bytes == UINT64_MAX || bytes <= left;
    vest_shared_end(device, ours(device));
    if (!booked[device])
        vest_log_refused("context", device, bytes, 0, left);
    return booked[device];
}

static bool created[VEST_MAX_DEVICES];

/* Wants the lock held. */
static bool create_context(int device)
{
    if (!book_context(device))
        return false;
    if (created[device])
        return true;
    created[device] = true;
    add_context_range(device, 64ull << 20);
    add_context_range(device, 72ull << 20);
    local_memory[device] = add_context_range(device, LOCAL_MEMORY);
    return true;
}

static void remove_piece(struct range *range, struct piece *piece)
{
    drop_piece(range, piece);
    if (!range->pieces)
        drop_range(range);
}

static bool launched[VEST_MAX_DEVICES];

void vest_launched(void)
{
    int device = vest_device();
    vest_issue();
    if (__atomic_exchange_n(&launched[device], true, __ATOMIC_RELAXED))
        return;
    pthread_once(&once, set_up);
    pthread_mutex_lock(&vest_memory_lock);
    create_context(device);
    struct range *old = local_memory[device];
    local_memory[device] = add_context_range(device, LOCAL_MEMORY_LAUNCHED);
    if (old)
        remove_piece(old, old->pieces);
    book_library("kernels", device, (int64_t)launch_growth());
    pthread_mutex_unlock(&vest_memory_lock);
}

bool vest_library_takes(struct vest_library *library, int device)
{
    pthread_once(&once, set_up);
    pthread_mutex_lock(&vest_memory_lock);
    bool first = !library->known[device];
    uint64_t bytes = library->handle_bytes + (first ? library->first_bytes : 0), limit = 0;
    bool fit = book_context(device) && take_for_library(device, bytes, &limit);
    if (fit) {
        if (first && library->first_addresses) {
            create_context(device);
            place(VEST_OWNER_CONTEXT, device, round_up(library->first_addresses, GRANULE));
        }
        library->known[device] = true;
        log_library(library->name, device, (int64_t)bytes, libraries[device]);
    } else if (booked[device]) {
        vest_log_refused(library->name, device, bytes, used[device], limit);
    }
    pthread_mutex_unlock(&vest_memory_lock);
    return fit;
}

void vest_library_gives(const struct vest_library *library, int device)
{
    pthread_mutex_lock(&vest_memory_lock);
    book_library(library->name, device, -(int64_t)library->handle_bytes);
    pthread_mutex_unlock(&vest_memory_lock);
}

void *vest_alloc_for(enum vest_owner owner, int device, uint64_t bytes)
{
    if (bytes == 0 || bytes > LARGEST)
        return NULL;
    pthread_once(&once, set_up);
    bytes = round_up(bytes, GRANULE);
    pthread_mutex_lock(&vest_memory_lock);
    uintptr_t address = 0;
    if (create_context(device) && take(device, bytes)) {
        address = place(owner, device, bytes);
        if (address)
            vest_log_segment("alloc", device, bytes, address, used[device]);
        else
            give_unseen(device, bytes);
    }
    pthread_mutex_unlock(&vest_memory_lock);
    return (void *)address;
}

bool vest_free_for(enum vest_owner owner, void *address)
{
    pthread_once(&once, set_up);
    pthread_mutex_lock(&vest_memory_lock);
    struct range *range = range_of((uintptr_t)address);
    struct piece *piece = piece_of(range, (uintptr_t)address);
    bool known = piece && piece->base == (uintptr_t)address && piece->owner == owner && !range->reservation;
    if (known) {
        int device = range->device;
        uint64_t bytes = piece->bytes;
        bool inherited = piece->generation != generation;
        vest_content_forget(address, bytes);
        remove_piece(range, piece);
        if (!inherited)
            give(device, bytes, (uintptr_t)address);
    } else {
        vest_log_misuse("free of device memory that is not allocated", (uintptr_t)address);
    }
    pthread_mutex_unlock(&vest_memory_lock);
    return known;
}

void *vest_alloc(int device, uint64_t bytes) { return vest_alloc_for(VEST_OWNER_JOB, device, bytes); }
bool vest_free(void *address) { return vest_free_for(VEST_OWNER_JOB, address); }

bool vest_find(const void *address, struct vest_extent *out)
{
    pthread_once(&once, set_up);
    pthread_mutex_lock(&vest_memory_lock);
    struct range *range = range_of((uintptr_t)address);
    struct piece *piece = piece_of(range, (uintptr_t)address);
    bool found = piece && piece->owner != VEST_OWNER_CONTEXT;
    if (found)
        *out = (struct vest_extent){.device = piece->memory ? piece->memory->device : range->device,
                                    .base = piece->base,
                                    .bytes = piece->bytes};
    pthread_mutex_unlock(&vest_memory_lock);
    return found;
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

uint64_t vest_used_bytes(int device)
{
    pthread_mutex_lock(&vest_memory_lock);
    uint64_t bytes = used[device];
    pthread_mutex_unlock(&vest_memory_lock);
    return bytes;
}

void *vest_reserve(uint64_t bytes, uint64_t alignment)
{
    if (bytes == 0 || bytes > LARGEST || alignment > RANGE_GRANULE)
        return NULL;
    pthread_once(&once, set_up);
    pthread_mutex_lock(&vest_memory_lock);
    struct range *range = add_range(-1, round_up(bytes, RANGE_GRANULE), RANGE_GRANULE, true);
    pthread_mutex_unlock(&vest_memory_lock);
    return range ? (void *)range->base : NULL;
}

bool vest_unreserve(void *address, uint64_t bytes)
{
    pthread_mutex_lock(&vest_memory_lock);
    struct range *range = range_of((uintptr_t)address);
    bool known = range && range->reservation && range->base == (uintptr_t)address && !range->pieces &&
                 range->bytes == round_up(bytes, RANGE_GRANULE);
    if (known)
        drop_range(range);
    else
        vest_log_misuse("release of an address range that is not reserved, or still mapped", (uintptr_t)address);
    pthread_mutex_unlock(&vest_memory_lock);
    return known;
}

struct vest_physical *vest_physical_create(int device, uint64_t bytes)
{
    if (bytes == 0 || bytes > LARGEST)
        return NULL;
    bytes = round_up(bytes, GRANULE);
    struct vest_physical *memory = malloc(sizeof *memory);
    pthread_mutex_lock(&vest_memory_lock);
    if (memory && book_context(device) && take(device, bytes)) {
        *memory = (struct vest_physical){.device = device, .generation = generation, .handles = 1, .bytes = bytes};
        vest_log_segment("alloc", device, bytes, 0, used[device]);
    } else {
        free(memory);
        memory = NULL;
    }
    pthread_mutex_unlock(&vest_memory_lock);
    return memory;
}

void vest_physical_retain(struct vest_physical *memory)
{
    pthread_mutex_lock(&vest_memory_lock);
    memory->handles++;
    pthread_mutex_unlock(&vest_memory_lock);
}

static void free_unless_held(struct vest_physical *memory)
{
    if (memory->handles || memory->mappings)
        return;
    if (memory->generation == generation)
        give(memory->device, memory->bytes, 0);
    free(memory);
}

bool vest_physical_release(struct vest_physical *memory)
{
    pthread_mutex_lock(&vest_memory_lock);
    bool held = memory->handles > 0;
    if (held) {
        memory->handles--;
        free_unless_held(memory);
    } else {
        vest_log_misuse("release of physical memory that only its mappings still hold", (uintptr_t)memory);
    }
    pthread_mutex_unlock(&vest_memory_lock);
    return held;
}

/* Whole granules inside the reservation, with nothing mapped between the two addresses. */
static bool can_map(const struct range *range, uintptr_t base, uint64_t bytes)
{
    if (base % GRANULE || bytes % GRANULE || bytes == 0 || bytes > range->base + range->bytes - base)
        return false;
    for (const struct piece *piece = range->pieces; piece; piece = piece->next)
        if (piece->base < base + bytes && base < piece->base + piece->bytes)
            return false;
    return true;
}

bool vest_map(void *address, uint64_t bytes, struct vest_physical *memory)
{
    uintptr_t base = (uintptr_t)address;
    pthread_mutex_lock(&vest_memory_lock);
    struct range *range = range_of(base);
    bool fits = memory && range && range->reservation && bytes <= memory->bytes && can_map(range, base, bytes) &&
                add_piece(range, (struct piece){.base = base, .bytes = bytes, .memory = memory});
    if (fits)
        memory->mappings++;
    else
        vest_log_misuse("mapping outside a reservation, over another mapping, or of more than there is", base);
    pthread_mutex_unlock(&vest_memory_lock);
    return fits;
}

bool vest_unmap(void *address, uint64_t bytes)
{
    uintptr_t base = (uintptr_t)address, end = base + bytes;
    bool any = false;
    pthread_mutex_lock(&vest_memory_lock);
    struct range *range = range_of(base);
    for (struct piece *piece = range && range->reservation ? range->pieces : NULL, *next; piece; piece = next) {
        next = piece->next;
        if (piece->base < base || piece->base + piece->bytes > end)
            continue;
        vest_content_forget((void *)piece->base, piece->bytes);
        piece->memory->mappings--;
        free_unless_held(piece->memory);
        drop_piece(range, piece);
        any = true;
    }
    if (!any)
        vest_log_misuse("unmapping of an address where nothing is mapped", base);
    pthread_mutex_unlock(&vest_memory_lock);
    return any;
}

struct vest_physical *vest_mapped_at(const void *address)
{
    pthread_once(&once, set_up);
    pthread_mutex_lock(&vest_memory_lock);
    struct piece *piece = piece_of(range_of((uintptr_t)address), (uintptr_t)address);
    struct vest_physical *memory = piece ? piece->memory : NULL;
    pthread_mutex_unlock(&vest_memory_lock);
    return memory;
}

void vest_memory_forked(void)
{
    generation++;
    memset(used, 0, sizeof used);
    memset(libraries, 0, sizeof libraries);
    memset(booked, 0, sizeof booked);
    memset(created, 0, sizeof created);
    memset(launched, 0, sizeof launched);
}
