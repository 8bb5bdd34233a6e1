/* Allocations, their addresses, the limit, and overhead. */
#include "test_core.h"

#include <stdlib.h>

static void used_and_free_memory_add_up(void)
{
    uint64_t free_bytes, total_bytes;
    void *a = vest_alloc(0, 1), *b = vest_alloc(0, 3 * MIB), *c = vest_alloc(1, 10 * MIB);
    assert(a && b && c);
    /* In units of 2 MiB: 1 byte needs 2 MiB, 3 MiB need 4. */
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
    assert(a && !vest_alloc(0, 1)); /* 2 of 3 MiB are in use */
    assert(vest_free(a));
}

static void without_a_limit_more_than_the_device_has_can_be_allocated(void)
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

static void the_job_cannot_free_memory_of_the_context(void)
{
    struct vest_extent extent;
    char *a = vest_alloc(0, 60 * MIB), *b = vest_alloc(0, 36 * MIB); /* the second starts a range: 4 MiB were left */
    char *tail = vest_alloc(0, 28 * MIB);
    assert(tail == b + 36 * MIB);
    vest_free(b);
    struct vest_library library = {.name = "cublas", .first_addresses = 36 * MIB};
    assert(vest_overhead_acquire(&library, 0)); /* no gap but this one has the size */
    assert(vest_used_bytes(0) == (60 + 28) * MIB);
    assert(!vest_free(b) && !vest_find(b, &extent));
    assert(vest_used_bytes(0) == (60 + 28) * MIB && MISUSES() == 1);
    assert(vest_free(a) && vest_free(tail));
}

static void launches_do_not_count_as_allocations(void)
{
    void *a = vest_alloc(0, 2 * MIB);
    vest_on_kernel_launch();
    vest_on_kernel_launch();
    assert(vest_used_bytes(0) == 2 * MIB && logged("\"kind\":\"segment\"") == 1);
    assert(vest_overhead_bytes(0) == (527 + 92 + 2) * MIB && logged("\"kind\":\"library\"") == 1);
    assert(vest_free(a));
}

static void a_smaller_gpu_keeps_local_memory_for_fewer_threads(void)
{
    vest_on_kernel_launch();
    assert(vest_overhead_bytes(0) == (100 + 14 + 2) * MIB); /* 92 MiB x (40 x 1024) / (132 x 2048) = 13.9 */
    assert(logged("\"library\":\"kernels\",\"device\":0,\"bytes\":16777216,\"libraries_bytes\":16777216") == 1);
}

static void library_overhead_reduces_what_the_job_can_allocate(void)
{
    uint64_t free_bytes, total_bytes;
    struct vest_library cublas = {.name = "cublas", .handle_bytes = 64 * MIB};
    struct vest_library cudnn = {.name = "cudnn", .handle_bytes = 64 * MIB};
    struct vest_library byte = {.name = "cudnn", .handle_bytes = 1};
    assert(vest_overhead_acquire(&cublas, 0) && vest_overhead_bytes(0) == 164 * MIB);
    assert(vest_overhead_bytes(1) == 100 * MIB && vest_used_bytes(0) == 0);
    vest_memory_info(0, &free_bytes, &total_bytes);
    assert(total_bytes == 1000 * MIB && free_bytes == (1000 - 164) * MIB);
    assert(!vest_alloc(0, 838 * MIB));
    void *all = vest_alloc(0, 836 * MIB);
    assert(all && !vest_overhead_acquire(&byte, 0));
    assert(logged("\"owner\":\"job\",\"device\":0,\"bytes\":878706688,") == 1 && logged("\"owner\":\"cudnn\"") == 1);
    vest_overhead_release(&cublas, 0);
    assert(vest_overhead_acquire(&cudnn, 0) && !vest_overhead_acquire(&byte, 0));
    assert(vest_free(all));
}

static void the_first_handles_overhead_counts_once_per_device_also_after_a_refusal(void)
{
    struct vest_library library = {.name = "cufft", .handle_bytes = 2 * MIB, .first_bytes = 8 * MIB};
    void *all = vest_alloc(0, 900 * MIB);
    assert(all && !vest_overhead_acquire(&library, 0) && vest_overhead_bytes(0) == 100 * MIB);
    assert(vest_free(all));
    assert(vest_overhead_acquire(&library, 0) && vest_overhead_bytes(0) == 110 * MIB);
    assert(vest_overhead_acquire(&library, 0) && vest_overhead_bytes(0) == 112 * MIB);
    assert(vest_overhead_acquire(&library, 1) && vest_overhead_bytes(1) == 110 * MIB);
    vest_overhead_release(&library, 0);
    assert(vest_overhead_bytes(0) == 110 * MIB);
}

static void a_limit_on_allocations_is_not_lowered_while_the_device_has_room(void)
{
    struct vest_library cublas = {.name = "cublas", .handle_bytes = 64 * MIB};
    assert(vest_overhead_acquire(&cublas, 0));
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

static void an_empty_range_is_unmapped(void)
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

static void addresses_can_be_handed_out_upwards(void)
{
    set_setting("addresses", "upwards");
    char *a = vest_alloc(0, 20 * MIB), *b = vest_alloc(0, 34 * MIB);
    char *c = vest_alloc(0, 500 * MIB), *d = vest_alloc(0, 4 * MIB);
    assert(a < b && b < c && d == a + 20 * MIB); /* what fits into a gap still goes there */
    assert(vest_free(a) && vest_free(b) && vest_free(c) && vest_free(d));
}

const struct test memory_tests[] = {
    TEST(addresses_can_be_handed_out_upwards, ""),
    TEST(used_and_free_memory_add_up, "count=2;total=1048576000;context=104857600"),
    TEST(no_bytes_and_absurdly_many_are_refused, ""),
    TEST(capacity_is_refused_exactly_at_the_limit, "limit=10485760"),
    TEST(a_limit_between_granules_holds_only_whole_ones, "limit=3145728"),
    TEST(without_a_limit_more_than_the_device_has_can_be_allocated, "limit=none;total=1073741824"),
    TEST(wrong_frees_are_reported_and_not_counted, ""),
    TEST(the_job_cannot_free_memory_of_the_context, ""),
    TEST(a_smaller_gpu_keeps_local_memory_for_fewer_threads, "sms=40;threads_sm=1024;context=104857600"),
    TEST(library_overhead_reduces_what_the_job_can_allocate,
         "count=2;total=1048576000;context=104857600;limit=943718400"),
    TEST(the_first_handles_overhead_counts_once_per_device_also_after_a_refusal,
         "count=2;total=1048576000;context=104857600;limit=943718400"),
    TEST(a_limit_on_allocations_is_not_lowered_while_the_device_has_room,
         "total=1048576000;context=104857600;limit=10485760"),
    TEST(launches_do_not_count_as_allocations, ""),
    TEST(the_lowest_gap_is_filled_first, ""),
    TEST(the_lower_range_is_filled_first, ""),
    TEST(an_empty_range_is_unmapped, ""),
    TEST(devices_do_not_share_ranges, "count=2"),
    {0},
};
