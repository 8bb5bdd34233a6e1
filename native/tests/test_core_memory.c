/* Books, addresses, virtual memory management and the pool. */
#include "test_core.h"

#include <stdlib.h>

static void the_books_balance(void)
{
    uint64_t free_bytes, total_bytes;
    void *a = vest_alloc(0, 1), *b = vest_alloc(0, 3 * MIB), *c = vest_alloc(1, 10 * MIB);
    assert(a && b && c);
    /* Whole granules of 2 MiB: 1 B takes 2 MiB, 3 MiB take 4. */
    assert(vest_used_bytes(0) == 6 * MIB && vest_used_bytes(1) == 10 * MIB);
    vest_memory_info(0, &free_bytes, &total_bytes);
    assert(total_bytes == 1000 * MIB && free_bytes == (1000 - 100 - 6) * MIB);
    assert(vest_free(a) && vest_used_bytes(0) == 4 * MIB);
    assert(vest_free(b) && vest_used_bytes(0) == 0 && vest_used_bytes(1) == 10 * MIB);
    assert(vest_free(c));
    assert(logged("\"op\":\"alloc\"") == 3 && logged("\"op\":\"free\"") == 3);
    assert(logged("\"op\":\"alloc\",\"device\":1,\"bytes\":10485760,") == 1);
}

static void no_bytes_and_absurdly_many_are_refused(void)
{
    assert(!vest_alloc(0, 0) && !vest_alloc(0, UINT64_MAX) && !vest_alloc(0, UINT64_MAX - MIB));
    assert(!vest_physical_create(0, 0) && !vest_physical_create(0, UINT64_MAX));
    assert(!vest_reserve(0, 0) && !vest_reserve(UINT64_MAX, 0) && !vest_reserve(MIB, 64 * MIB));
    assert(!vest_pool_alloc(0, 0) && !vest_pool_alloc(0, UINT64_MAX) && !vest_pool_alloc(0, UINT64_MAX - 600));
    assert(vest_pool_number(0, VEST_POOL_RESERVED) == 0);
}

static void capacity_is_refused_exactly_at_the_limit(void)
{
    uint64_t free_bytes, total_bytes;
    void *a = vest_alloc(0, 8 * MIB);
    assert(a && !vest_alloc(0, 2 * MIB + 1));
    assert(logged("\"kind\":\"refused\"") == 1);
    assert(logged("\"bytes\":4194304,\"used_bytes\":8388608,\"limit_bytes\":10485760") == 1);
    struct vest_physical *b = vest_physical_create(0, 2 * MIB); /* 8 + 2 = 10: the last byte there is */
    vest_memory_info(0, &free_bytes, &total_bytes);
    assert(b && free_bytes == 0);
    assert(!vest_alloc(0, 1) && !vest_physical_create(0, 1) && !vest_pool_alloc(0, 1));
    assert(vest_used_bytes(0) == 10 * MIB);
    assert(vest_physical_release(b) && (b = vest_physical_create(0, 2 * MIB)));
    assert(vest_physical_release(b) && vest_free(a));
}

static void a_limit_between_granules_holds_only_whole_ones(void)
{
    void *a = vest_alloc(0, 1);
    assert(a && !vest_alloc(0, 1)); /* 2 of 3 MiB taken */
    assert(vest_free(a));
}

static void without_a_limit_more_than_there_is_can_be_taken(void)
{
    uint64_t free_bytes, total_bytes;
    void *a = vest_alloc(0, 2 * GIB);
    vest_memory_info(0, &free_bytes, &total_bytes);
    assert(a && free_bytes == 0 && total_bytes == GIB);
    assert(vest_free(a));
}

static void wrong_frees_are_reported_and_not_counted(void)
{
    int on_host;
    char *a = vest_alloc(0, 2 * MIB), *b = vest_alloc(0, 4 * MIB);
    assert(vest_free(a));
    assert(!vest_free(a));         /* twice */
    assert(!vest_free(b + MIB));   /* not where it starts */
    assert(!vest_free(&on_host));  /* never ours */
    assert(!vest_free(NULL));
    assert(vest_used_bytes(0) == 4 * MIB && MISUSES() == 4);
    assert(logged("\"what\":\"free of device memory that is not allocated\"") == 4);
    assert(logged("\"op\":\"free\"") == 1);
    assert(vest_free(b));
}

static void memory_of_the_context_is_not_the_jobs_to_free(void)
{
    struct vest_extent extent;
    char *a = vest_alloc(0, 60 * MIB), *b = vest_alloc(0, 36 * MIB); /* the second starts a range: 4 MiB were left */
    char *tail = vest_alloc(0, 28 * MIB);
    assert(tail == b + 36 * MIB);
    vest_free(b);
    struct vest_library library = {.name = "cublas", .first_addresses = 36 * MIB};
    assert(vest_library_takes(&library, 0)); /* no gap but this one has the size */
    assert(vest_used_bytes(0) == (60 + 28) * MIB);
    assert(!vest_free(b) && !vest_find(b, &extent));
    assert(vest_used_bytes(0) == (60 + 28) * MIB && MISUSES() == 1);
    assert(vest_free(a) && vest_free(tail));
}

static void launches_are_not_in_the_books(void)
{
    void *a = vest_alloc(0, 2 * MIB);
    vest_launched();
    vest_launched();
    assert(vest_used_bytes(0) == 2 * MIB && logged("\"kind\":\"segment\"") == 1);
    assert(vest_outside_bytes(0) == (527 + 92 + 2) * MIB && logged("\"kind\":\"library\"") == 1);
    assert(vest_free(a));
}

static void a_smaller_gpu_keeps_local_memory_for_fewer_threads(void)
{
    vest_launched();
    assert(vest_outside_bytes(0) == (100 + 14 + 2) * MIB); /* 92 MiB x (40 x 1024) / (132 x 2048) = 13.9 */
    assert(logged("\"library\":\"kernels\",\"device\":0,\"bytes\":16777216,\"libraries_bytes\":16777216") == 1);
}

static void what_libraries_take_is_gone_for_the_job(void)
{
    uint64_t free_bytes, total_bytes;
    struct vest_library cublas = {.name = "cublas", .handle_bytes = 64 * MIB};
    struct vest_library cudnn = {.name = "cudnn", .handle_bytes = 64 * MIB}, byte = {.name = "cudnn", .handle_bytes = 1};
    assert(vest_library_takes(&cublas, 0) && vest_outside_bytes(0) == 164 * MIB);
    assert(vest_outside_bytes(1) == 100 * MIB && vest_used_bytes(0) == 0);
    vest_memory_info(0, &free_bytes, &total_bytes);
    assert(total_bytes == 1000 * MIB && free_bytes == (1000 - 164) * MIB);
    assert(!vest_alloc(0, 838 * MIB));
    void *all = vest_alloc(0, 836 * MIB);
    assert(all && !vest_library_takes(&byte, 0));
    assert(logged("\"owner\":\"job\",\"device\":0,\"bytes\":878706688,") == 1 && logged("\"owner\":\"cudnn\"") == 1);
    vest_library_gives(&cublas, 0);
    assert(vest_library_takes(&cudnn, 0) && !vest_library_takes(&byte, 0));
    assert(vest_free(all));
}

static void what_a_first_handle_takes_is_taken_once_a_device_and_asked_for_again_after_a_refusal(void)
{
    struct vest_library library = {.name = "cufft", .handle_bytes = 2 * MIB, .first_bytes = 8 * MIB};
    void *all = vest_alloc(0, 900 * MIB);
    assert(all && !vest_library_takes(&library, 0) && vest_outside_bytes(0) == 100 * MIB);
    assert(vest_free(all));
    assert(vest_library_takes(&library, 0) && vest_outside_bytes(0) == 110 * MIB);
    assert(vest_library_takes(&library, 0) && vest_outside_bytes(0) == 112 * MIB);
    assert(vest_library_takes(&library, 1) && vest_outside_bytes(1) == 110 * MIB);
    vest_library_gives(&library, 0);
    assert(vest_outside_bytes(0) == 110 * MIB);
}

static void a_limit_on_allocations_is_not_lowered_while_the_device_has_room(void)
{
    struct vest_library cublas = {.name = "cublas", .handle_bytes = 64 * MIB};
    assert(vest_library_takes(&cublas, 0));
    void *a = vest_alloc(0, 10 * MIB);
    assert(a && !vest_alloc(0, 1));
    assert(vest_free(a));
}

/* The context's ranges have 24 MiB and 2 MiB to spare; with these 13 blocks the next allocation makes a range. */
#define SPARE 13
static void take_spare(void *taken[SPARE])
{
    for (int i = 0; i < SPARE; i++)
        assert((taken[i] = vest_alloc(0, 2 * MIB)));
}

static void give_spare(void *taken[SPARE])
{
    for (int i = 0; i < SPARE; i++)
        assert(vest_free(taken[i]));
}

static void the_lowest_gap_is_filled_first(void)
{
    void *spare[SPARE];
    take_spare(spare);
    char *a = vest_alloc(0, 40 * MIB); /* a range of 64 MiB */
    assert((uintptr_t)a % (32 * MIB) == 0);
    char *b = vest_alloc(0, 10 * MIB), *c = vest_alloc(0, 4 * MIB), *d = vest_alloc(0, 10 * MIB - 1);
    assert(b == a + 40 * MIB && c == a + 50 * MIB && d == a + 54 * MIB); /* full: 40 + 10 + 4 + 10 */
    assert(vest_free(b) && vest_free(d));
    b = vest_alloc(0, 10 * MIB); /* both gaps have the size */
    assert(b == a + 40 * MIB);
    vest_free(b);
    vest_free(a); /* 50 MiB free at the start, 10 at the end: not the best fit, the lowest */
    b = vest_alloc(0, 10 * MIB);
    assert(b == a);
    vest_free(b);
    vest_free(c);
    give_spare(spare);
}

static void the_lower_range_is_filled_first(void)
{
    void *spare[SPARE];
    take_spare(spare);
    char *a = vest_alloc(0, 48 * MIB), *b = vest_alloc(0, 48 * MIB); /* 16 MiB to spare each */
    char *lower = a < b ? a : b, *upper = a < b ? b : a;
    char *c = vest_alloc(0, 16 * MIB), *d = vest_alloc(0, 16 * MIB);
    assert(c == lower + 48 * MIB && d == upper + 48 * MIB);
    assert(vest_free(a) && vest_free(b) && vest_free(c) && vest_free(d));
    give_spare(spare);
}

static void an_empty_range_is_given_back(void)
{
    void *spare[SPARE];
    take_spare(spare);
    char *a = vest_alloc(0, 40 * MIB), *b = vest_alloc(0, 2 * MIB);
    assert(b == a + 40 * MIB && vest_is_device(a + 63 * MIB));
    assert(vest_free(a) && vest_is_device(a));
    assert(vest_free(b) && !vest_is_device(a) && !vest_is_device(b));
    give_spare(spare);
}

static void devices_do_not_share_ranges(void)
{
    struct vest_extent extent;
    char *a = vest_alloc(0, 4 * MIB), *b = vest_alloc(1, 4 * MIB);
    assert((uintptr_t)a / (32 * MIB) != (uintptr_t)b / (32 * MIB));
    assert(vest_find(a + 4 * MIB - 1, &extent) && extent.device == 0 && extent.base == (uintptr_t)a);
    assert(vest_find(b, &extent) && extent.device == 1 && extent.bytes == 4 * MIB);
    assert(vest_free(a) && vest_free(b) && !vest_find(b, &extent));
}

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

static void mappings_keep_to_their_reservation(void)
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

static void the_pool_counts_what_it_holds_and_what_is_used(void)
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

static void addresses_can_be_handed_out_upwards(void)
{
    set_setting("addresses", "upwards");
    char *a = vest_alloc(0, 20 * MIB), *b = vest_alloc(0, 34 * MIB), *c = vest_alloc(0, 500 * MIB), *d = vest_alloc(0, 4 * MIB);
    assert(a < b && b < c && d == a + 20 * MIB); /* what fits into a gap still goes there */
    assert(vest_free(a) && vest_free(b) && vest_free(c) && vest_free(d));
}

const struct test memory_tests[] = {
    TEST(addresses_can_be_handed_out_upwards, ""),
    TEST(the_books_balance, "count=2;total=1048576000;context=104857600"),
    TEST(no_bytes_and_absurdly_many_are_refused, ""),
    TEST(capacity_is_refused_exactly_at_the_limit, "limit=10485760"),
    TEST(a_limit_between_granules_holds_only_whole_ones, "limit=3145728"),
    TEST(without_a_limit_more_than_there_is_can_be_taken, "limit=none;total=1073741824"),
    TEST(wrong_frees_are_reported_and_not_counted, ""),
    TEST(memory_of_the_context_is_not_the_jobs_to_free, ""),
    TEST(a_smaller_gpu_keeps_local_memory_for_fewer_threads, "sms=40;threads_sm=1024;context=104857600"),
    TEST(what_libraries_take_is_gone_for_the_job, "count=2;total=1048576000;context=104857600;limit=943718400"),
    TEST(what_a_first_handle_takes_is_taken_once_a_device_and_asked_for_again_after_a_refusal,
         "count=2;total=1048576000;context=104857600;limit=943718400"),
    TEST(a_limit_on_allocations_is_not_lowered_while_the_device_has_room,
         "total=1048576000;context=104857600;limit=10485760"),
    TEST(launches_are_not_in_the_books, ""),
    TEST(the_lowest_gap_is_filled_first, ""),
    TEST(the_lower_range_is_filled_first, ""),
    TEST(an_empty_range_is_given_back, ""),
    TEST(devices_do_not_share_ranges, "count=2"),
    TEST(physical_memory_lives_while_it_is_mapped, ""),
    TEST(a_retained_handle_outlives_its_mapping, ""),
    TEST(mappings_keep_to_their_reservation, ""),
    TEST(the_pool_takes_the_best_fit_and_merges, ""),
    TEST(the_pool_counts_what_it_holds_and_what_is_used, "count=2"),
    {0},
};
