/* What device memory holds, and what it costs the host. */
#include "test_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t resident_bytes(void)
{
    unsigned long size, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    assert(file && fscanf(file, "%lu %lu", &size, &resident) == 2);
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void what_was_copied_to_the_device_can_be_read_back(void)
{
    static const size_t sizes[] = {1, 4095, 64 * KIB, 64 * KIB + 1, 3 * MIB, COPY_LIMIT};
    char *device = vest_alloc(0, COPY_LIMIT + 2 * MIB), *host = malloc(COPY_LIMIT), *back = malloc(COPY_LIMIT);
    for (size_t i = 0; i < COPY_LIMIT; i++)
        host[i] = (char)(i * 2654435761u >> 13);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *odd = device + 4093 * i; /* across pages and granules */
        vest_copy(odd, host, sizes[i]);
        vest_copy(back, odd, sizes[i]);
        assert(memcmp(back, host, sizes[i]) == 0);
    }
    assert(vest_free(device));
    free(host);
    free(back);
}

static void copies_between_host_addresses_are_plain(void)
{
    char text[] = "abcdef";
    vest_copy(text + 1, text, 3);
    assert(strcmp(text, "aabcef") == 0);
}

static void memory_never_written_reads_zeros(void)
{
    char *device = vest_alloc(0, 16 * MIB);
    assert(all_are(device, 16 * MIB, 0));
    assert(vest_free(device));
}

static void fills_repeat_their_pattern(void)
{
    const uint32_t word = 0x04030201;
    char *device = vest_alloc(0, 2 * MIB), back[12];
    vest_fill(device + 100, &word, 4, 3);
    vest_copy(back, device + 100, 12);
    assert(memcmp(back, "\1\2\3\4\1\2\3\4\1\2\3\4", 12) == 0);
    assert(byte_at(device + 99) == 0 && byte_at(device + 112) == 0);
    vest_fill(device, &word, 2, 1);
    assert(byte_at(device + 1) == 2 && byte_at(device + 2) == 0);
    vest_fill(device, &(char){7}, 1, 2 * MIB);
    assert(all_are(device, 2 * MIB, 7));
    vest_fill(device + 5, &(char){0}, 1, MIB); /* zeros by pages in the middle, by hand at the ends */
    assert(byte_at(device + 4) == 7 && all_are(device + 5, MIB, 0) && byte_at(device + 5 + MIB) == 7);
    vest_fill(back, &(char){9}, 1, 12);
    assert(back[0] == 9 && back[11] == 9);
    assert(vest_free(device));
}

static void copies_and_fills_above_64_mib_are_dropped(void)
{
    char *a = vest_alloc(0, 128 * MIB), *b = vest_alloc(0, 128 * MIB), *host = malloc(COPY_LIMIT + 1);
    memset(host, 5, COPY_LIMIT + 1);
    vest_copy(a, host, COPY_LIMIT + 1);
    assert(byte_at(a) == 0 && byte_at(a + COPY_LIMIT) == 0);
    vest_fill(a, &(char){5}, 1, COPY_LIMIT + 1);
    assert(byte_at(a) == 0);
    vest_copy(a, host, COPY_LIMIT);
    vest_copy(b, a, COPY_LIMIT + 1);
    assert(byte_at(a) == 5 && byte_at(b) == 0);
    host[0] = 6;
    vest_copy(host, a, COPY_LIMIT + 1); /* out, too */
    assert(host[0] == 6 && vest_free(a) && vest_free(b));
    free(host);
}

static void memory_allocated_again_reads_zeros(void)
{
    char *first = vest_alloc(0, 4 * MIB), *keep = vest_alloc(0, 2 * MIB); /* keeps the range */
    vest_fill(first, &(char){1}, 1, 4 * MIB);
    assert(vest_free(first) && vest_alloc(0, 4 * MIB) == first);
    assert(all_are(first, 4 * MIB, 0));
    assert(vest_free(first) && vest_free(keep));
}

static void memory_mapped_again_reads_zeros(void)
{
    char *range = vest_reserve(32 * MIB, 0);
    struct vest_physical *low = vest_physical_create(0, 2 * MIB), *high = vest_physical_create(0, 2 * MIB);
    assert(vest_map(range, 2 * MIB, low) && vest_map(range + 2 * MIB, 2 * MIB, high));
    vest_fill(range + MIB, &(char){1}, 1, 2 * MIB); /* across two mappings side by side */
    assert(all_are(range + MIB, 2 * MIB, 1));
    assert(vest_unmap(range, 2 * MIB) && vest_map(range, 2 * MIB, low));
    assert(all_are(range, 2 * MIB, 0) && all_are(range + 2 * MIB, MIB, 1));
    assert(vest_unmap(range, 4 * MIB) && vest_unreserve(range, 32 * MIB));
    assert(vest_physical_release(low) && vest_physical_release(high) && MISUSES() == 0);
}

static void device_copies_copy_what_was_written(void)
{
    char *a = vest_alloc(0, 2 * MIB), *b = vest_alloc(0, 2 * MIB);
    vest_fill(a, &(char){3}, 1, 100);
    vest_fill(b, &(char){4}, 1, 2 * MIB);
    vest_copy(b + 50, a, 150); /* 100 written bytes, 50 that share their granule */
    assert(byte_at(b + 49) == 4 && all_are(b + 50, 100, 3) && all_are(b + 150, 50, 0) && byte_at(b + 200) == 4);
    vest_copy(b + 3, a + MIB, MIB - 3); /* never written: zeros go over what was there */
    assert(byte_at(b + 2) == 4 && all_are(b + 3, MIB - 3, 0) && byte_at(b + MIB) == 4);
    assert(vest_free(a) && vest_free(b));
}

static void copying_unwritten_memory_costs_the_host_nothing(void)
{
    char *a = vest_alloc(0, COPY_LIMIT), *b = vest_alloc(0, COPY_LIMIT);
    vest_copy(b, a, 1);
    uint64_t before = resident_bytes();
    vest_copy(b, a, COPY_LIMIT);
    assert(resident_bytes() < before + 8 * MIB);
    vest_fill(a, &(char){1}, 1, COPY_LIMIT); /* and now it is there: the measure works */
    assert(resident_bytes() > before + 32 * MIB);
    assert(vest_free(a) && vest_free(b));
}

static void freeing_releases_the_hosts_memory(void)
{
    char *host = calloc(1, COPY_LIMIT);
    host[COPY_LIMIT - 1] = 1;
    for (int i = 0; i < 17; i++) { /* 17 x 64 MiB: more than the 1 GiB that may be resident at once */
        char *device = vest_alloc(0, COPY_LIMIT);
        vest_copy(device, host, COPY_LIMIT);
        assert(byte_at(device + COPY_LIMIT - 1) == 1);
        assert(vest_free(device));
    }
    free(host);
}

static void memory_that_is_not_allocated_is_not_touched(void)
{
    char *a = vest_alloc(0, 2 * MIB), *b = vest_alloc(0, 2 * MIB), host = 1;
    vest_fill(b, &host, 1, 1);
    assert(vest_free(a));
    vest_copy(a, &host, 1);
    vest_copy(b, a, 1);
    vest_copy(&host, a, 1);
    vest_fill(a, &host, 1, 1);
    vest_copy(b + 2 * MIB - 1, &host, 2); /* the second byte lies behind the end */
    assert(host == 1 && byte_at(b) == 1 && byte_at(b + 2 * MIB - 1) == 0);
    assert(MISUSES() == 5);
    assert(vest_free(b));
}

const struct test content_tests[] = {
    TEST(what_was_copied_to_the_device_can_be_read_back, ""),
    TEST(copies_between_host_addresses_are_plain, ""),
    TEST(memory_never_written_reads_zeros, ""),
    TEST(fills_repeat_their_pattern, ""),
    TEST(copies_and_fills_above_64_mib_are_dropped, ""),
    TEST(memory_allocated_again_reads_zeros, ""),
    TEST(memory_mapped_again_reads_zeros, ""),
    TEST(device_copies_copy_what_was_written, ""),
    TEST(copying_unwritten_memory_costs_the_host_nothing, ""),
    TEST(freeing_releases_the_hosts_memory, ""),
    TEST(memory_that_is_not_allocated_is_not_touched, ""),
    {0},
};
