/* Late events: complete when the host has waited for them, and not before. */
#include "test_core.h"

#include <stdlib.h>
#include <time.h>

#define QUEUE 1024 /* order.c */

static bool complete(struct vest_event *event) { return vest_event_is_complete(event, NULL); }

static void work(struct vest_stream *stream, int pieces)
{
    vest_use_stream(stream);
    for (int i = 0; i < pieces; i++)
        vest_issue();
}

static struct vest_event *recorded(struct vest_stream *stream)
{
    struct vest_event *event = vest_event_create();
    assert(event);
    vest_event_record(event, stream);
    return event;
}

static struct vest_stream *side_stream(void)
{
    struct vest_stream *stream = vest_stream_create(0, 0, 1); /* cudaStreamNonBlocking */
    assert(stream);
    return stream;
}

static void events_are_complete_at_once_by_default(void)
{
    struct vest_stream *side = side_stream();
    work(side, 5);
    struct vest_event *event = recorded(side);
    assert(complete(event) && vest_stream_is_idle(side));
    vest_event_destroy(event);
    vest_stream_destroy(side);
}

static void a_late_event_is_complete_after_its_stream_was_synchronised(void)
{
    set_setting("events", "late");
    struct vest_stream *side = side_stream(), *other = side_stream();
    work(side, 5);
    struct vest_event *first = recorded(side), *second = recorded(side);
    work(other, 5);
    struct vest_event *elsewhere = recorded(other);
    assert(!complete(first) && !complete(second) && !vest_stream_is_idle(side));
    vest_event_synchronize(first);
    assert(complete(first) && !complete(second));
    vest_stream_synchronize(side);
    assert(complete(second) && vest_stream_is_idle(side) && !complete(elsewhere));
    vest_synchronize();
    assert(complete(elsewhere));
    vest_event_record(first, side); /* nothing is outstanding there */
    assert(complete(first));
    work(side, 1);
    vest_event_record(first, side); /* recorded anew, incomplete anew */
    assert(!complete(first));
    vest_event_destroy(first);
    vest_event_destroy(second);
    vest_event_destroy(elsewhere);
    vest_stream_destroy(side);
    vest_stream_destroy(other);
}

static void what_was_issued_earlier_is_done_earlier_unless_it_is_a_transfer(void)
{
    set_setting("events", "late");
    struct vest_stream *kernels = side_stream(), *held_up = side_stream(), *transfers = side_stream();
    work(kernels, 3);
    vest_issue_transfer(transfers);
    struct vest_event *of_kernels = recorded(kernels), *of_transfers = recorded(transfers);
    vest_stream_wait(held_up, of_transfers);
    struct vest_event *of_held_up = recorded(held_up);
    work(NULL, 1);
    struct vest_event *later = recorded(kernels);
    vest_issue_transfer(transfers);
    struct vest_event *transfer_alone = recorded(transfers);
    vest_stream_synchronize(NULL);
    assert(complete(of_kernels) && !complete(of_transfers) && !complete(of_held_up) && !complete(later));
    vest_event_synchronize(of_held_up);
    assert(complete(of_transfers) && !complete(transfer_alone) && !complete(later));
    vest_event_synchronize(transfer_alone); /* issued after the kernels, and done before them for all that is known */
    assert(complete(transfer_alone) && !complete(later));
    vest_event_destroy(transfer_alone);
    vest_event_destroy(of_kernels);
    vest_event_destroy(of_transfers);
    vest_event_destroy(of_held_up);
    vest_event_destroy(later);
    vest_stream_destroy(kernels);
    vest_stream_destroy(held_up);
    vest_stream_destroy(transfers);
}

static void what_a_stream_waited_for_is_complete_with_it(void)
{
    set_setting("events", "late");
    struct vest_stream *a = side_stream(), *b = side_stream();
    vest_issue_transfer(a);
    vest_issue_transfer(a);
    vest_issue_transfer(a);
    struct vest_event *of_a = recorded(a);
    work(a, 3);
    struct vest_event *later_of_a = recorded(a);
    vest_stream_wait(b, of_a);
    work(b, 1);
    struct vest_event *of_b = recorded(b);
    vest_stream_wait(NULL, of_b); /* the default stream waits for b, which waits for a */
    assert(!complete(of_a) && !complete(of_b));
    vest_stream_synchronize(NULL);
    assert(complete(of_b) && complete(of_a) && !complete(later_of_a));
    vest_event_destroy(of_a);
    vest_event_destroy(later_of_a);
    vest_event_destroy(of_b);
    vest_stream_destroy(a);
    vest_stream_destroy(b);
}

static void streams_that_wait_for_each_other_in_turn_finish(void)
{
    set_setting("events", "late");
    struct vest_stream *a = side_stream(), *b = side_stream();
    struct vest_event *event = vest_event_create();
    for (int i = 0; i < 3 * QUEUE; i++) {
        work(a, 1);
        vest_event_record(event, a);
        vest_stream_wait(b, event);
        work(b, 1);
        vest_event_record(event, b);
        vest_stream_wait(a, event);
    }
    assert(!complete(event));
    vest_stream_synchronize(a);
    assert(complete(event));
    vest_event_destroy(event);
    vest_stream_destroy(a);
    vest_stream_destroy(b);
}

static void a_full_queue_makes_the_host_wait(void)
{
    set_setting("events", "late");
    struct vest_stream *side = side_stream();
    work(side, 1);
    struct vest_event *event = recorded(side);
    work(side, QUEUE - 1);
    assert(!complete(event));
    work(side, 1);
    assert(complete(event));
    vest_event_destroy(event);
    vest_stream_destroy(side);
}

static void copies_wait_where_the_host_reads_pageable_memory(void)
{
    set_setting("events", "late");
    struct vest_stream *side = side_stream();
    char pageable[64], *pinned = vest_host_alloc(64), *on_device = vest_alloc(0, 64);
    struct vest_event *event = vest_event_create();
    work(side, 1);
    vest_event_record(event, side);
    vest_copy_issued(on_device, pageable, side);
    vest_copy_issued(pinned, on_device, side);
    vest_copy_issued(on_device, on_device, side);
    assert(!complete(event));
    vest_copy_issued(pageable, on_device, side);
    assert(complete(event));
    work(NULL, 1);
    vest_event_record(event, NULL);
    vest_copy_waited(on_device, on_device);
    assert(!complete(event));
    vest_copy_waited(on_device, pageable);
    assert(complete(event));
    vest_event_destroy(event);
    vest_stream_destroy(side);
    assert(vest_host_free(pinned) && vest_free(on_device));
}

static void a_stream_that_blocks_is_in_order_with_the_default_stream(void)
{
    set_setting("events", "late");
    struct vest_stream *blocking = vest_stream_create(0, 0, 0);
    work(blocking, 1);
    struct vest_event *event = recorded(blocking);
    assert(!complete(event));
    vest_stream_synchronize(NULL);
    assert(complete(event));
    vest_event_destroy(event);
    vest_stream_destroy(blocking);
}

static void a_loop_that_polls_ends(void)
{
    set_setting("events", "late");
    struct vest_stream *side = side_stream();
    work(side, 1);
    struct vest_event *spun = recorded(side), *slept = recorded(side);
    int polls = 0;
    while (!complete(spun))
        assert(++polls <= 100);
    assert(!complete(slept));
    nanosleep(&(struct timespec){.tv_nsec = 120000000}, NULL); /* 120 ms of 100 */
    assert(complete(slept));
    polls = 0;
    while (!vest_stream_is_idle(side))
        assert(++polls <= 100);
    vest_event_destroy(spun);
    vest_event_destroy(slept);
    vest_stream_destroy(side);
}

static void captured_work_is_not_outstanding(void)
{
    set_setting("events", "late");
    struct vest_stream *side = side_stream();
    assert(vest_capture_begin(side));
    work(side, 5);
    assert(vest_capture_end(side) && vest_stream_is_idle(side));
    vest_use_stream(side);
    vest_issue();
    assert(!vest_stream_is_idle(side));
    vest_stream_destroy(side);
}

static void more_streams_than_lanes_are_served(void)
{
    set_setting("events", "late");
    for (int i = 0; i < 600; i++) {
        struct vest_stream *side = side_stream();
        work(side, 1);
        struct vest_event *event = recorded(side);
        assert(!complete(event));
        vest_stream_synchronize(side);
        assert(complete(event));
        vest_event_destroy(event);
        vest_stream_destroy(side);
    }
}

static void only_the_device_allocator_defers_frees(void)
{
    struct vest_event *event = recorded(NULL);
    assert(complete(event) && vest_event_is_complete(event, (void *)(uintptr_t)&recorded));
    assert(logged("\"kind\":\"deferred_free\"") == 0); /* the caller is not libc10_cuda */
    vest_log_deferred_free();
    vest_log_deferred_free();
    assert(logged("\"kind\":\"deferred_free\"") == 1);
    vest_event_destroy(event);
}

const struct test order_tests[] = {
    TEST(events_are_complete_at_once_by_default, ""),
    TEST(a_late_event_is_complete_after_its_stream_was_synchronised, ""),
    TEST(what_was_issued_earlier_is_done_earlier_unless_it_is_a_transfer, ""),
    TEST(what_a_stream_waited_for_is_complete_with_it, ""),
    TEST(streams_that_wait_for_each_other_in_turn_finish, ""),
    TEST(a_full_queue_makes_the_host_wait, ""),
    TEST(copies_wait_where_the_host_reads_pageable_memory, ""),
    TEST(a_stream_that_blocks_is_in_order_with_the_default_stream, ""),
    TEST(a_loop_that_polls_ends, ""),
    TEST(captured_work_is_not_outstanding, ""),
    TEST(more_streams_than_lanes_are_served, ""),
    TEST(only_the_device_allocator_defers_frees, ""),
    {0},
};
