/* Virtual memory management, and the pool of cudaMallocAsync. */
#include "test_core.h"

static void physical_memory_lives_while_it_is_mapped(void)
{
    struct vest_extent extent;
    char *range = vest_reserve(64 * MIB, 0);
    assert(range && (uintptr_t)range % (32 * MIB) == 0 && vest_used_bytes(0) == 0);
    assert(vest_is_device(range) && !vest_find(range, &extent) && !vest_mapped_at(range));
    struct vest_physical *memory = vest_physical_create(0, 20 * MIB);
    assert(memory && vest_used_bytes(0) == 20 * MIB);
    assert(vest_map(range + 2 * MIB, 20 * MIB, memory));
    assert(vest_find(range + 21 * MIB, &extent) && extent.base == (uintptr_t)range + 2 * MIB);
    assert(extent.bytes == 20 * MIB && extent.device == 0);
    assert(vest_physical_release(memory) && vest_used_bytes(0) == 20 * MIB);
    assert(vest_mapped_at(range + 2 * MIB) == memory);
    assert(!vest_physical_release(memory) && vest_used_bytes(0) == 20 * MIB); /* released already */
    assert(!vest_free(range + 2 * MIB) && !vest_unreserve(range, 64 * MIB));
    assert(vest_unmap(range + 2 * MIB, 20 * MIB) && vest_used_bytes(0) == 0);
    assert(!vest_find(range + 2 * MIB, &extent));
    assert(!vest_unmap(range + 2 * MIB, 20 * MIB));
    assert(MISUSES() == 4);
    assert(vest_unreserve(range, 64 * MIB) && !vest_is_device(range));
    assert(!vest_unreserve(range, 64 * MIB));
}

static void a_retained_handle_outlives_its_mapping(void)
{
    char *range = vest_reserve(32 * MIB, 2 * MIB);
    struct vest_physical *memory = vest_physical_create(0, 2 * MIB);
    assert(vest_map(range, 2 * MIB, memory) && vest_physical_release(memory));
    vest_physical_retain(vest_mapped_at(range));
    assert(vest_unmap(range, 2 * MIB) && vest_used_bytes(0) == 2 * MIB);
    assert(vest_map(range + 4 * MIB, 2 * MIB, memory) && vest_map(range + 8 * MIB, 2 * MIB, memory));
    assert(vest_physical_release(memory));
    assert(vest_unmap(range + 4 * MIB, 2 * MIB) && vest_used_bytes(0) == 2 * MIB);
    assert(vest_unmap(range + 8 * MIB, 2 * MIB) && vest_used_bytes(0) == 0);
    assert(vest_unreserve(range, 32 * MIB) && MISUSES() == 0);
}

static void mappings_stay_inside_their_reservation(void)
{
    char *range = vest_reserve(32 * MIB, 0), *plain = vest_alloc(0, 2 * MIB);
    struct vest_physical *memory = vest_physical_create(0, 4 * MIB);
    assert(vest_map(range + 4 * MIB, 4 * MIB, memory));
    assert(!vest_map(range + 2 * MIB, 4 * MIB, memory));     /* over another, from below and from above */
    assert(!vest_map(range + 6 * MIB, 4 * MIB, memory));
    assert(!vest_map(range + 30 * MIB, 4 * MIB, memory));    /* over the end */
    assert(!vest_map(range + 8 * MIB, -8 * MIB, memory));    /* over the end of all addresses */
    assert(!vest_map(range + 8 * MIB, 6 * MIB, memory));     /* more than there is */
    assert(!vest_map(range + 8 * MIB, 0, memory));
    assert(!vest_map(range + 9 * MIB, 2 * MIB, memory));     /* not on a granule */
    assert(!vest_map(plain, 2 * MIB, memory) && !vest_map(NULL, 2 * MIB, memory) && !vest_map(range, 2 * MIB, NULL));
    assert(MISUSES() == 10);
    assert(vest_unmap(range, 32 * MIB) && vest_physical_release(memory) && vest_free(plain));
    assert(vest_unreserve(range, 32 * MIB));
}

static void the_pool_takes_the_best_fit_and_merges(void)
{
    /* In a chunk of 32 MiB: 4 and 2 MiB freed between blocks in use, and 25 MiB never cut. */
    char *a = vest_pool_alloc(0, 4 * MIB), *b = vest_pool_alloc(0, 512 * KIB), *c = vest_pool_alloc(0, 2 * MIB);
    char *d = vest_pool_alloc(0, 512 * KIB);
    assert(b == a + 4 * MIB && c == b + 512 * KIB && d == c + 2 * MIB);
    assert(vest_used_bytes(0) == 32 * MIB && logged("\"how\":\"guessed\"") == 1);
    assert(vest_pool_free(a) && vest_pool_free(c));
    assert(vest_pool_alloc(0, 2 * MIB - 100) == c); /* 2 MiB fit better than 4, rounded to 512 B they fit exactly */
    assert(vest_pool_alloc(0, 3 * MIB) == a);
    assert(vest_pool_free(c) && vest_pool_free(b) && vest_pool_free(a)); /* 4 + 0.5 + 2 MiB in one piece again */
    assert(vest_pool_alloc(0, 6 * MIB + 512 * KIB) == a);
    assert(!vest_pool_free(b) && !vest_pool_free(a + 512)); /* no block starts there now */
    assert(vest_pool_free(a) && !vest_pool_free(a));
    assert(!vest_free(a) && MISUSES() == 1); /* where the chunk starts, but the chunk is the pool's */
    assert(vest_pool_free(d));
    vest_pool_trim(0);
}

static void the_pool_counts_reserved_and_used_memory(void)
{
    void *a = vest_pool_alloc(0, 100), *b = vest_pool_alloc(0, 33 * MIB);
    /* A chunk of 32 MiB, and one of 34 for what is larger than a chunk; 512 B + 33 MiB in use. */
    assert(vest_pool_number(0, VEST_POOL_RESERVED) == 66 * MIB && vest_used_bytes(0) == 66 * MIB);
    assert(vest_pool_number(0, VEST_POOL_USED) == 33 * MIB + 512);
    assert(vest_pool_free(b) && vest_pool_number(0, VEST_POOL_USED) == 512);
    assert(vest_pool_number(0, VEST_POOL_RESERVED) == 66 * MIB); /* kept for the next time */
    vest_pool_trim(1);
    assert(vest_used_bytes(0) == 66 * MIB && vest_pool_number(1, VEST_POOL_RESERVED) == 0);
    vest_pool_trim(0);
    assert(vest_pool_number(0, VEST_POOL_RESERVED) == 32 * MIB && vest_used_bytes(0) == 32 * MIB);
    assert(vest_pool_number(0, VEST_POOL_RESERVED_HIGH) == 66 * MIB);
    assert(vest_pool_number(0, VEST_POOL_USED_HIGH) == 33 * MIB + 512);
    vest_pool_reset_high(0, VEST_POOL_RESERVED_HIGH);
    vest_pool_reset_high(0, VEST_POOL_USED_HIGH);
    assert(vest_pool_number(0, VEST_POOL_RESERVED_HIGH) == 32 * MIB);
    assert(vest_pool_number(0, VEST_POOL_USED_HIGH) == 512);
    assert(vest_pool_free(a));
    vest_pool_trim(0);
    assert(vest_pool_number(0, VEST_POOL_RESERVED) == 0);
}

const struct test vmm_tests[] = {
    TEST(physical_memory_lives_while_it_is_mapped, ""),
    TEST(a_retained_handle_outlives_its_mapping, ""),
    TEST(mappings_stay_inside_their_reservation, ""),
    TEST(the_pool_takes_the_best_fit_and_merges, ""),
    TEST(the_pool_counts_reserved_and_used_memory, "count=2"),
    {0},
};
