/* What the agent uses: claims on device memory, answers to reads, dropped copies, notifications. */
#include "test_core.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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

static void contents_are_counted_in_units_of_64_kib_until_they_are_freed(void)
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
    vest_fill(device, &(char){0}, 1, 4 * MIB); /* what was released can be used again */
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

static void reads_of_one_number_are_answered_while_that_is_on(void)
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

static void the_agent_is_notified_of_copies_by_collectives(void)
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

const struct test agent_tests[] = {
    TEST(claimed_memory_is_written_directly_and_kept, ""),
    TEST(only_live_device_memory_can_be_claimed, ""),
    TEST(contents_are_counted_in_units_of_64_kib_until_they_are_freed, ""),
    TEST(a_limit_holds_for_claims_copies_and_fills_together, ""),
    TEST(a_raised_limit_lets_copies_above_64_mib_happen, ""),
    TEST(reads_of_one_number_are_answered_while_that_is_on, ""),
    TEST(answers_are_for_the_thread_that_asked, ""),
    TEST(dropped_copies_read_zeros_and_cost_nothing, ""),
    TEST(the_agent_is_notified_of_copies_by_collectives, ""),
    {0},
};
