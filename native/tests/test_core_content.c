/* What device memory holds, and what it costs the host. */
#include "test_core.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_LIMIT (64 * MIB) /* content.c's */

static uint64_t resident_bytes(void)
{
    unsigned long size, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    assert(file && fscanf(file, "%lu %lu", &size, &resident) == 2);
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The byte at a device address, read as a program would. */
static int byte_at(const void *address)
{
    unsigned char byte = 0xee;
    vest_copy(&byte, address, 1);
    return byte;
}

static bool all_are(const char *device, size_t bytes, int value)
{
    char *host = malloc(bytes);
    memset(host, ~value, bytes);
    vest_copy(host, device, bytes);
    bool same = host[0] == (char)value && memcmp(host, host + 1, bytes - 1) == 0;
    free(host);
    return same;
}

static void what_is_copied_in_comes_out(void)
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

static void device_copies_carry_what_was_written(void)
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

static void freeing_gives_the_host_its_memory_back(void)
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

static void claimed_memory_is_written_directly_and_kept(void)
{
    char *device = vest_alloc(0, 4 * MIB), *other = vest_alloc(0, 4 * MIB);
    assert(vest_claim(device + 5, 100));
    memset(device + 5, 3, 100);
    assert(all_are(device + 5, 100, 3) && byte_at(device + 105) == 0);
    vest_copy(other, device, 4 * MIB); /* and it counts as written: copies carry it */
    assert(all_are(other + 5, 100, 3));
    assert(vest_claim(NULL, 0) && MISUSES() == 0);
    assert(vest_free(device) && vest_free(other));
}

static void only_live_device_memory_can_be_claimed(void)
{
    char *device = vest_alloc(0, 2 * MIB), *freed = vest_alloc(0, 2 * MIB), host[8];
    assert(vest_free(freed));
    assert(!vest_claim(host, sizeof host) && !vest_claim(freed, 1) && !vest_claim(device, 2 * MIB + 1));
    assert(MISUSES() == 0); /* asking is no misuse */
    assert(vest_free(device));
}

static void contents_are_counted_by_granules_of_64_kib_until_they_are_freed(void)
{
    char *device = vest_alloc(0, 4 * MIB);
    assert(vest_content_bytes() == 0);
    assert(vest_claim(device, 1) && vest_claim(device + 10, 1000));
    assert(vest_content_bytes() == 64 * KIB);
    vest_fill(device + 64 * KIB - 1, &(char){1}, 1, 2); /* one byte on either side */
    assert(vest_content_bytes() == 2 * 64 * KIB);
    vest_fill(device, &(char){0}, 1, 64 * KIB);
    assert(vest_content_bytes() == 64 * KIB);
    assert(vest_free(device) && vest_content_bytes() == 0);
}

static void a_limit_holds_for_claims_copies_and_fills_together(void)
{
    char *device = vest_alloc(0, 16 * MIB), *host = calloc(1, 8 * MIB);
    host[0] = 1;
    vest_content_limit(6 * MIB);
    assert(!vest_claim(device, 6 * MIB + 1) && vest_content_bytes() == 0);
    assert(vest_claim(device, 4 * MIB) && !vest_claim(device + 4 * MIB, 3 * MIB));
    vest_copy(device + 4 * MIB, host, 3 * MIB);
    vest_fill(device + 8 * MIB, &(char){1}, 1, 3 * MIB);
    assert(byte_at(device + 4 * MIB) == 0 && byte_at(device + 8 * MIB) == 0);
    vest_fill(device, &(char){0}, 1, 4 * MIB); /* what is given back can be had again */
    assert(vest_claim(device + 4 * MIB, 3 * MIB));
    assert(vest_free(device));
    free(host);
}

static void a_raised_limit_lets_copies_above_64_mib_happen(void)
{
    char *device = vest_alloc(0, COPY_LIMIT + 2 * MIB), *host = malloc(COPY_LIMIT + 1);
    memset(host, 5, COPY_LIMIT + 1);
    vest_content_limit(2 * GIB);
    vest_copy(device, host, COPY_LIMIT + 1);
    memset(host, 0, COPY_LIMIT + 1);
    vest_copy(host, device, COPY_LIMIT + 1);
    assert(host[0] == 5 && host[COPY_LIMIT] == 5);
    assert(vest_free(device));
    free(host);
}

static void reads_of_one_number_are_answered_while_asked_for(void)
{
    char *device = vest_alloc(0, 2 * MIB), long_read[9] = {0}, other[8];
    int64_t wide = 0;
    int32_t narrow = 0;
    vest_fill(device, &(char){1}, 1, 16);
    vest_answer_reads(true, 77);
    vest_copy(&wide, device, 8);
    vest_copy(&narrow, device, 4);
    vest_copy(long_read, device, 9); /* more than a number */
    vest_copy(device + 8, device, 8); /* stays on the device */
    vest_copy(other, "abcdefg", 8);   /* never was there */
    assert(wide == 77 && narrow == 77 && long_read[0] == 1 && long_read[8] == 1 && other[0] == 'a');
    vest_answer_reads(true, -1);
    vest_copy(&narrow, device, 4);
    assert(narrow == -1);
    vest_answer_reads(false, 0);
    vest_copy(&narrow, device, 4);
    assert(narrow == 0x01010101 && all_are(device, 16, 1));
    assert(vest_free(device));
}

static void *read_number(void *device)
{
    int64_t number = 0;
    vest_copy(&number, device, 8);
    return (void *)number;
}

static void answers_are_for_the_thread_that_asked(void)
{
    char *device = vest_alloc(0, 2 * MIB);
    void *number = NULL;
    pthread_t other;
    vest_copy(device, &(int64_t){5}, 8);
    vest_answer_reads(true, 77);
    assert(pthread_create(&other, NULL, read_number, device) == 0 && pthread_join(other, &number) == 0);
    assert((int64_t)number == 5 && (int64_t)read_number(device) == 77);
    vest_answer_reads(false, 0);
    assert(vest_free(device));
}

static void dropped_copies_read_zeros_and_cost_nothing(void)
{
    char *device = vest_alloc(0, 4 * MIB);
    int64_t before = (int64_t)vest_content_bytes();
    vest_copy(device, &(int64_t){5}, 8);
    vest_drop_copies(true);
    vest_copy(device, &(int64_t){6}, 8);
    vest_copy(device + 2 * MIB, &(int64_t){6}, 8);
    vest_drop_copies(false);
    assert(all_are(device, 8, 0) && all_are(device + 2 * MIB, 8, 0));
    assert((int64_t)vest_content_bytes() <= before + (int64_t)(64 * KIB));
    vest_copy(device, &(int64_t){7}, 8);
    assert(byte_at(device) == 7);
    assert(vest_free(device));
}

static const void *moved_to, *moved_from;
static uint64_t moved_bytes;
static int moves;

static void note_move(const void *to, const void *from, uint64_t bytes)
{
    moved_to = to;
    moved_from = from;
    moved_bytes = bytes;
    moves++;
}

static void moves_are_copies_that_the_agent_hears_of(void)
{
    char *device = vest_alloc(0, 4 * MIB);
    vest_copy(device, &(int64_t){5}, 8);
    vest_watch_moves(note_move);
    vest_move(device + MIB, device, 8);
    assert(byte_at(device + MIB) == 5);
    assert(moves == 1 && moved_to == device + MIB && moved_from == device && moved_bytes == 8);
    vest_move(device, device, 8);
    vest_move(device + MIB, device, 0);
    vest_copy(device + MIB, device, 8);
    assert(moves == 1); /* nothing moved, or an operator was there to see it */
    vest_watch_moves(NULL);
    vest_move(device + MIB, device, 8);
    assert(moves == 1);
    assert(vest_free(device));
}

const struct test content_tests[] = {
    TEST(moves_are_copies_that_the_agent_hears_of, ""),
    TEST(what_is_copied_in_comes_out, ""),
    TEST(copies_between_host_addresses_are_plain, ""),
    TEST(memory_never_written_reads_zeros, ""),
    TEST(fills_repeat_their_pattern, ""),
    TEST(copies_and_fills_above_64_mib_are_dropped, ""),
    TEST(memory_allocated_again_reads_zeros, ""),
    TEST(memory_mapped_again_reads_zeros, ""),
    TEST(device_copies_carry_what_was_written, ""),
    TEST(copying_unwritten_memory_costs_the_host_nothing, ""),
    TEST(freeing_gives_the_host_its_memory_back, ""),
    TEST(memory_that_is_not_allocated_is_not_touched, ""),
    TEST(claimed_memory_is_written_directly_and_kept, ""),
    TEST(only_live_device_memory_can_be_claimed, ""),
    TEST(contents_are_counted_by_granules_of_64_kib_until_they_are_freed, ""),
    TEST(a_limit_holds_for_claims_copies_and_fills_together, ""),
    TEST(a_raised_limit_lets_copies_above_64_mib_happen, ""),
    TEST(reads_of_one_number_are_answered_while_asked_for, ""),
    TEST(answers_are_for_the_thread_that_asked, ""),
    TEST(dropped_copies_read_zeros_and_cost_nothing, ""),
    {0},
};
