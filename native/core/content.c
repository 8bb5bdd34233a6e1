/* Contents of device memory: real where it is cheap, zeros elsewhere.
 *
 * Kernels do not run, so most device memory is never written; it stays unbacked and reads as zeros. Copies and fills of
 * up to COPY_LIMIT really happen, so that what was copied in comes out again, until RESIDENT_LIMIT of host memory is in
 * use; from then on only small ones do. Which 64 KiB granules hold anything is kept in a bitmap, so that moving
 * never-written memory about (most of a training step's device-to-device copies) costs nothing.
 *
 * The agent computes some values on the CPU, right in device memory: it claims the bytes first. It may lift the limits.
 */
#include "memory.h"
#include "vest.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COPY_LIMIT (64ull << 20)
#define SMALL_COPY (16ull << 20)
#define SMALLEST_COPY (1ull << 20) /* small, under a limit that was asked for */
#define RESIDENT_LIMIT (1ull << 30)
#define LONGEST_ANSWER 8
#define GRANULE (64ull << 10)
#define PAGE 4096ull
#define ADDRESS_BITS 47

static pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_mutex_t vest_content_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *written; /* one bit a granule */
static uint64_t resident_granules;
static uint64_t copy_limit = COPY_LIMIT, resident_limit = RESIDENT_LIMIT, small_copy = SMALL_COPY;

/* What the calling thread's next reads of one number find; see vest_answer_reads. */
static _Thread_local struct {
    bool on;
    int64_t value;
} answer;
static _Thread_local bool dropping; /* see vest_drop_copies */

static void map_bitmap(void)
{
    size_t bytes = (1ull << ADDRESS_BITS) / GRANULE / 8;
    written = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (written == MAP_FAILED) {
        perror("veritasest: cannot map the table of written device memory");
        abort();
    }
}

static uint64_t granule_of(uintptr_t address) { return address / GRANULE; }
static bool is_set(uint64_t granule) { return written[granule / 8] >> (granule % 8) & 1; }

/* Both take the lock's protection for granted. */
static bool any_written(const void *address, size_t bytes)
{
    uint64_t last = granule_of((uintptr_t)address + bytes - 1);
    for (uint64_t granule = granule_of((uintptr_t)address); granule <= last; granule++)
        if (is_set(granule))
            return true;
    return false;
}

static void mark(const void *address, size_t bytes)
{
    uint64_t last = granule_of((uintptr_t)address + bytes - 1);
    for (uint64_t granule = granule_of((uintptr_t)address); granule <= last; granule++) {
        if (is_set(granule))
            continue;
        written[granule / 8] |= (uint8_t)(1u << (granule % 8));
        resident_granules++;
    }
}

static void unmark(const void *address, size_t bytes)
{
    uint64_t first = granule_of((uintptr_t)address + GRANULE - 1);
    uint64_t end = granule_of((uintptr_t)address + bytes);
    for (uint64_t granule = first; granule < end; granule++) {
        if (!is_set(granule))
            continue;
        written[granule / 8] &= (uint8_t)~(1u << (granule % 8));
        resident_granules--;
    }
}

/* Zeros for whole pages come from the kernel for free; only the ragged ends are written. */
static void clear(uintptr_t address, size_t bytes)
{
    uintptr_t first = (address + PAGE - 1) / PAGE * PAGE, end = (address + bytes) / PAGE * PAGE;
    if (first >= end) {
        memset((void *)address, 0, bytes);
        return;
    }
    memset((void *)address, 0, first - address);
    madvise((void *)first, end - first, MADV_DONTNEED);
    memset((void *)end, 0, address + bytes - end);
}

static void zero(void *address, size_t bytes)
{
    if (!any_written(address, bytes))
        return;
    clear((uintptr_t)address, bytes);
    unmark(address, bytes);
}

void vest_content_forget(void *address, uint64_t bytes)
{
    pthread_once(&once, map_bitmap);
    pthread_mutex_lock(&vest_content_lock);
    zero(address, bytes);
    pthread_mutex_unlock(&vest_content_lock);
}

/* Only memory inside live allocations may be touched: the rest of a range belongs to nobody. */
static bool is_live(const void *address, size_t bytes)
{
    struct vest_extent extent;
    while (bytes) {
        if (!vest_find(address, &extent))
            return false;
        size_t inside = extent.base + extent.bytes - (uintptr_t)address;
        if (inside >= bytes)
            return true;
        address = (const char *)address + inside; /* expandable segments map side by side */
        bytes -= inside;
    }
    return true;
}

/* Whether `bytes` more of device memory may be backed by the host; books them if so. */
static bool may_write(const void *to, size_t bytes)
{
    if (bytes > copy_limit || (bytes > small_copy && resident_granules * GRANULE + bytes > resident_limit))
        return false;
    mark(to, bytes);
    return true;
}

static bool prepare_upload(void *to, size_t bytes)
{
    if (dropping)
        zero(to, bytes);
    return !dropping && may_write(to, bytes);
}

static bool prepare_device_copy(void *to, const void *from, size_t bytes)
{
    bool source_written = any_written(from, bytes);
    if (!source_written)
        zero(to, bytes);
    return source_written && may_write(to, bytes);
}

void vest_copy(void *to, const void *from, size_t bytes)
{
    if (bytes == 0 || to == from)
        return;
    bool to_device = vest_is_device(to), from_device = vest_is_device(from);
    if (!to_device && !from_device) {
        memmove(to, from, bytes);
        return;
    }
    const void *dead = to_device && !is_live(to, bytes) ? to : from_device && !is_live(from, bytes) ? from : NULL;
    if (dead) {
        vest_log_misuse("copy to or from device memory that is not allocated", (uintptr_t)dead);
        return;
    }
    pthread_once(&once, map_bitmap);
    pthread_mutex_lock(&vest_content_lock);
    bool real = to_device && from_device ? prepare_device_copy(to, from, bytes)
                : to_device              ? prepare_upload(to, bytes)
                                         : bytes <= copy_limit;
    pthread_mutex_unlock(&vest_content_lock);
    if (answer.on && !to_device && bytes <= LONGEST_ANSWER)
        memcpy(to, &answer.value, bytes); /* little endian: the low bytes come first */
    else if (real)
        memmove(to, from, bytes);
}

static vest_move_callback *move_watcher;

void vest_watch_moves(vest_move_callback *callback) { __atomic_store_n(&move_watcher, callback, __ATOMIC_RELEASE); }

void vest_move(void *to, const void *from, size_t bytes)
{
    if (bytes == 0 || to == from)
        return;
    vest_copy(to, from, bytes);
    vest_move_callback *callback = __atomic_load_n(&move_watcher, __ATOMIC_ACQUIRE);
    if (callback)
        callback(to, from, bytes);
}

bool vest_claim(void *to, size_t bytes)
{
    if (bytes == 0)
        return true;
    if (!vest_is_device(to) || !is_live(to, bytes))
        return false;
    pthread_once(&once, map_bitmap);
    pthread_mutex_lock(&vest_content_lock);
    bool granted = may_write(to, bytes);
    pthread_mutex_unlock(&vest_content_lock);
    return granted;
}

void vest_content_limit(uint64_t bytes)
{
    pthread_mutex_lock(&vest_content_lock);
    copy_limit = resident_limit = bytes;
    small_copy = SMALLEST_COPY;
    pthread_mutex_unlock(&vest_content_lock);
}

uint64_t vest_content_bytes(void)
{
    pthread_mutex_lock(&vest_content_lock);
    uint64_t bytes = resident_granules * GRANULE;
    pthread_mutex_unlock(&vest_content_lock);
    return bytes;
}

void vest_drop_copies(bool on) { dropping = on; }

void vest_answer_reads(bool on, int64_t value)
{
    answer.on = on;
    answer.value = value;
}

void vest_fill(void *to, const void *pattern, size_t pattern_bytes, size_t count)
{
    size_t bytes = pattern_bytes * count;
    if (bytes == 0)
        return;
    bool to_device = vest_is_device(to);
    if (to_device && !is_live(to, bytes)) {
        vest_log_misuse("fill of device memory that is not allocated", (uintptr_t)to);
        return;
    }
    static const char zeros[16];
    pthread_once(&once, map_bitmap);
    if (to_device && memcmp(pattern, zeros, pattern_bytes) == 0) {
        vest_content_forget(to, bytes);
        return;
    }
    pthread_mutex_lock(&vest_content_lock);
    bool real = !to_device || may_write(to, bytes);
    pthread_mutex_unlock(&vest_content_lock);
    if (!real)
        return;
    for (size_t i = 0; i < count; i++)
        memcpy((char *)to + i * pattern_bytes, pattern, pattern_bytes);
}
