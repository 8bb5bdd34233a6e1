/* The target GPU's attributes, pinned memory, streams and capture. */
#include "test_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void attributes_are_those_of_the_target(void)
{
    /* By their numbers in cudaDeviceAttr: threads a block, warp, SMs, major and minor, L2, opt-in shared memory. */
    static const struct {
        int number, value;
    } expected[] = {{1, 1024}, {10, 32}, {16, 58}, {75, 8}, {76, 9}, {38, 50331648}, {97, 101376}, {39, 1536},
                    {106, 24},                    {33, 7}, {111, 1024}, {120, 0}, {95, 1}, {115, 1}, {17, 0}};
    int value;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert(vest_attribute(expected[i].number, 1, &value) && value == expected[i].value);
    value = 7;
    assert(!vest_attribute(9999, 0, &value) && value == 0);
    assert(!vest_attribute(-1, 0, &value) && !vest_attribute(0, 0, &value));
}

static void occupancy_is_bounded_by_what_runs_out_first(void)
{
    /* An H200's multiprocessor: 2,048 threads, 65,536 registers (32 a thread), 228 KiB of shared memory, 32 blocks. */
    assert(vest_occupancy(1024, 0) == 2 && vest_occupancy(32, 0) == 32 && vest_occupancy(33, 0) == 32);
    assert(vest_occupancy(96, 0) == 2048 / 96);
    assert(vest_occupancy(128, 113 * KIB) == 2); /* 2 x (113 + 1 reserved) = 228 */
    assert(vest_occupancy(128, 113 * KIB + 1) == 1);
    assert(vest_occupancy(128, 227 * KIB) == 1 && vest_occupancy(128, 227 * KIB + 1) == 0);
    assert(vest_occupancy(0, 0) == 0 && vest_occupancy(-1, 0) == 0 && vest_occupancy(1024, SIZE_MAX) == 0);
}

static void devices_have_different_ids(void)
{
    char first[32], second[32];
    unsigned char one[16], two[16];
    vest_pci_bus_id(0, first, sizeof first);
    vest_pci_bus_id(1, second, sizeof second);
    vest_uuid(0, one);
    vest_uuid(1, two);
    assert(strcmp(first, "0000:06:00.0") == 0 && strcmp(second, "0000:07:00.0") == 0 && memcmp(one, two, 16) != 0);
}

static void pinned_memory_is_distinguished_from_pageable(void)
{
    static char page[4096];
    char *pinned = vest_host_alloc(5000);
    assert(pinned && vest_is_pinned(pinned) && vest_is_pinned(pinned + 4999) && !vest_is_pinned(pinned + 5000));
    assert(!vest_is_pinned(pinned - 1) && !vest_is_device(pinned) && !vest_is_pinned(page));
    pinned[4999] = 1;
    assert(vest_host_register(page, sizeof page) && vest_is_pinned(page + 4095) && !vest_is_pinned(page + 4096));
    assert(!vest_host_free(page) && !vest_host_unregister(pinned)); /* each only by its own way */
    assert(!vest_host_free(pinned + 1) && vest_is_pinned(page) && vest_is_pinned(pinned));
    assert(vest_host_unregister(page) && !vest_host_unregister(page) && !vest_is_pinned(page));
    assert(vest_host_free(pinned) && !vest_host_free(pinned) && !vest_is_pinned(pinned));
    assert(logged("\"what\":\"free of pinned memory that is not allocated\"") == 3);
    assert(!vest_host_alloc(0) && !vest_host_register(page, 0));
    assert(vest_used_bytes(0) == 0);
}

static void streams_keep_what_they_were_made_with(void)
{
    struct vest_stream *a = vest_stream_create(1, -3, 1), *b = vest_stream_create(0, 0, 0);
    struct vest_stream *legacy = NULL, *per_thread = (struct vest_stream *)2;
    assert(vest_stream_device(a) == 1 && vest_stream_priority(a) == -3 && vest_stream_flags(a) == 1);
    assert(vest_stream_id(a) > 2 && vest_stream_id(b) > 2 && vest_stream_id(a) != vest_stream_id(b));
    assert(vest_set_device(1) && vest_stream_device(legacy) == 1 && vest_stream_id(per_thread) == 2);
    assert(vest_stream_priority(per_thread) == 0 && vest_stream_flags(legacy) == 0);
    assert(!vest_capture_begin(legacy) && !vest_capture_id(per_thread) && !vest_capture_end(legacy));
    vest_stream_destroy(a);
    vest_stream_destroy(b);
    vest_stream_destroy(per_thread);
}

static void waiting_for_a_captured_stream_joins_its_capture(void)
{
    struct vest_stream *captured = vest_stream_create(0, 0, 0), *side = vest_stream_create(0, 0, 0);
    struct vest_stream *further = vest_stream_create(0, 0, 0);
    struct vest_event *before = vest_event_create(), *inside = vest_event_create(), *onward = vest_event_create();
    vest_event_record(before, captured);
    assert(vest_capture_begin(captured) && !vest_capture_begin(captured));
    uint64_t id = vest_capture_id(captured);
    vest_event_record(inside, captured);
    vest_stream_wait(side, before); /* recorded before the capture: no part of it */
    assert(id && vest_capture_id(side) == 0);
    vest_stream_wait(side, inside);
    vest_event_record(onward, side);
    vest_stream_wait(further, onward); /* joined through another that joined */
    assert(vest_capture_id(side) == id && vest_capture_id(further) == id && !vest_capture_begin(side));
    assert(vest_capture_end(captured) && !vest_capture_end(captured));
    assert(!vest_capture_id(captured) && !vest_capture_id(side) && !vest_capture_id(further));
    vest_stream_wait(side, inside); /* an event of a capture that is over */
    assert(!vest_capture_id(side) && vest_capture_begin(side) && vest_capture_id(side) != id);
    assert(!vest_capture_id(further) && vest_capture_end(side));
    assert(vest_event_elapsed_ms(before, onward) >= 0);
    vest_event_destroy(before);
    vest_event_destroy(inside);
    vest_event_destroy(onward);
    vest_stream_destroy(captured);
    vest_stream_destroy(side);
    vest_stream_destroy(further);
}

static void captures_at_once_are_kept_apart(void)
{
    struct vest_stream *streams[257];
    for (int i = 0; i < 257; i++)
        assert((streams[i] = vest_stream_create(0, 0, 0)) && vest_capture_begin(streams[i]) == (i < 256));
    assert(vest_capture_id(streams[0]) != vest_capture_id(streams[1]));
    assert(vest_capture_end(streams[7]) && vest_capture_begin(streams[256]) && !vest_capture_id(streams[7]));
    for (int i = 0; i < 257; i++) {
        assert(vest_capture_end(streams[i]) == (i != 7));
        vest_stream_destroy(streams[i]);
    }
}

static void without_a_python_there_is_no_agent_to_start(void)
{
    set_setting("home", "/nowhere");
    vest_start_agent();
}

const struct test other_tests[] = {
    TEST(without_a_python_there_is_no_agent_to_start, ""),
    TEST(attributes_are_those_of_the_target,
         "count=2;cc=89;sms=58;l2=50331648;shared_optin=101376;threads_sm=1536;blocks_sm=24"),
    TEST(occupancy_is_bounded_by_what_runs_out_first, ""),
    TEST(devices_have_different_ids, "count=2"),
    TEST(pinned_memory_is_distinguished_from_pageable, ""),
    TEST(streams_keep_what_they_were_made_with, "count=2"),
    TEST(waiting_for_a_captured_stream_joins_its_capture, ""),
    TEST(captures_at_once_are_kept_apart, ""),
    {0},
};
