/* Contents of device memory: real where it is cheap, zeros elsewhere.
 *
 * Kernels do not run, so most device memory is never written; it stays unbacked and reads as zeros. Copies and fills of
 * up to COPY_LIMIT really happen, so that what was copied to the device can be read back, until RESIDENT_LIMIT of host
 * memory is in use; from then on only small ones do. A bitmap knows which 64 KiB units were written, so that copying
 * memory that never was (most of a training step's device-to-device copies) costs nothing.
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
#define SMALLEST_COPY (1ull << 20) /* the same under vest_content_limit */
#define RESIDENT_LIMIT (1ull << 30)
#define LONGEST_ANSWER 8
#define BACKING_UNIT (64ull << 10) /* what is written is tracked in these */
#define PAGE 4096ull
#define ADDRESS_BITS 47

static pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_mutex_t vest_content_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *written; /* one bit per unit */
static uint64_t resident_units;
static uint64_t copy_limit = COPY_LIMIT, resident_limit = RESIDENT_LIMIT, small_copy = SMALL_COPY;

/* What the calling thread reads instead of one number; see vest_answer_reads. */
static _Thread_local struct {
    bool on;
    int64_t value;
} answer;
static _Thread_local bool dropping; /* see vest_drop_copies */

static void map_bitmap(void)
{
    size_t bytes = (1ull << ADDRESS_BITS) / BACKING_UNIT / 8;
    written = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (written == MAP_FAILED) {
        perror("veritasest: cannot map the table of written device memory");
        abort();
    }
}

static uint64_t unit_of(uintptr_t address) { return address / BACKING_UNIT; }
static bool is_set(uint64_t unit) { return written[unit / 8] >> (unit % 8) & 1; }

/* Called with the lock held, as the next two are. */
static bool any_written(const void *address, size_t bytes)
{
    uint64_t last = unit_of((uintptr_t)address + bytes - 1);
    for (uint64_t unit = unit_of((uintptr_t)address); unit <= last; unit++)
        if (is_set(unit))
            return true;
    return false;
}

static void mark(const void *address, size_t bytes)
{
    uint64_t last = unit_of((uintptr_t)address + bytes - 1);
    for (uint64_t unit = unit_of((uintptr_t)address); unit <= last; unit++) {
        if (is_set(unit))
            continue;
        written[unit / 8] |= (uint8_t)(1u << (unit % 8));
        resident_units++;
    }
}

static void unmark(const void *address, size_t bytes)
{
    uint64_t first = unit_of((uintptr_t)address + BACKING_UNIT - 1);
    uint64_t end = unit_of((uintptr_t)address + bytes);
    for (uint64_t unit = first; unit < end; unit++) {
        if (!is_set(unit))
            continue;
        written[unit / 8] &= (uint8_t)~(1u << (unit % 8));
        resident_units--;
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

/* Only memory inside live allocations may be touched. */
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

/* Whether the host may back `bytes` more of device memory; counts them if so. */
static bool may_write(const void *to, size_t bytes)
{
    if (bytes > copy_limit || (bytes > small_copy && resident_units * BACKING_UNIT + bytes > resident_limit))
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
    const void *freed = to_device && !is_live(to, bytes) ? to : from_device && !is_live(from, bytes) ? from : NULL;
    if (freed) {
        vest_log_misuse("copy to or from device memory that is not allocated", (uintptr_t)freed);
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
    uint64_t bytes = resident_units * BACKING_UNIT;
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
