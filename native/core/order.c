/* When the host finds work complete.
 *
 * By default every event is complete at once, as on a GPU under CUDA_LAUNCH_BLOCKING=1. Without that the host runs
 * ahead of the device, and PyTorch's allocator gets a block that other streams have used (record_stream) back only when
 * it finds the events complete that it recorded at the free. With the setting events=late they are complete as late as
 * they can be: when the host has waited for them. It waits when it synchronises, and when a stream's queue is full.
 *
 * Each stream with work is a lane, and its work is numbered. An event is a lane and a number. That work n of a lane is
 * done means that all before it is, and every event that the lane was to wait for until then. Kernels that were issued
 * earlier, in any lane, are done by then: the device begins with what it got first. That is not true of transfers from
 * and to the host and between GPUs, which have their own engines and buses: a lane with any of them is ordered by
 * events alone.
 *
 * Known limitations: streams that synchronise with the legacy default stream share its lane, so two of them are also
 * ordered with each other. Library calls count as one launch each, on the stream that their thread used last.
 */
#define _GNU_SOURCE /* dladdr */
#include "memory.h"
#include "settings.h"
#include "stream.h"
#include "vest.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LANES 256
#define DEFAULT_LANE 0
#define NON_BLOCKING 1u /* cudaStreamNonBlocking */

/* Launches that wait in a stream before the next blocks the host: 1,024 on current drivers. */
#define QUEUE 1024

/* A loop that queries an event or a stream until it is complete must end, as it does on a GPU. */
#define MOST_POLLS 100
#define MOST_POLLING_MS 100

/* A piece of work: when it was issued, and the lane and number of what it waits for (number 0: nothing). */
struct item {
    uint64_t issued_as, number;
    unsigned lane;
};

static struct lane {
    uint64_t issued, done;
    struct item items[QUEUE]; /* work n at n modulo QUEUE: no more than that is outstanding */
    bool transfers;
    double polled_ms;
    unsigned polls; /* since work was last issued */
} lanes[LANES];
static unsigned last_lane = DEFAULT_LANE;
static uint64_t issued_in_all, done_until; /* over all lanes: work issued, and the latest of it known to be done */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool late;
static _Thread_local int lane_in_use = DEFAULT_LANE; /* below 0: the stream is captured, and nothing runs */

static void read_setting(void)
{
    const char *which = vest_setting("events");
    late = which && strcmp(which, "late") == 0;
}

static bool events_are_late(void)
{
    pthread_once(&once, read_setting);
    return late;
}

static bool is_done(unsigned which, uint64_t number) { return number <= lanes[which].done; }

static void finish_lane(unsigned which, uint64_t number)
{
    struct lane *lane = &lanes[which];
    while (lane->done < number) {
        struct item item = lane->items[++lane->done % QUEUE];
        if (item.issued_as > done_until && !lane->transfers)
            done_until = item.issued_as;
        finish_lane(item.lane, item.number);
    }
}

static void catch_up(unsigned which)
{
    struct lane *lane = &lanes[which];
    while (!lane->transfers && lane->done < lane->issued) {
        struct item item = lane->items[(lane->done + 1) % QUEUE];
        bool held_up = lanes[item.lane].transfers && !is_done(item.lane, item.number);
        if (item.issued_as > done_until || held_up)
            return;
        finish_lane(which, lane->done + 1);
    }
}

static void finish(unsigned which, uint64_t number)
{
    if (is_done(which, number))
        return;
    finish_lane(which, number);
    for (unsigned other = 0; other <= last_lane; other++)
        catch_up(other);
}

static unsigned lane_of(struct vest_stream *stream)
{
    if (!vest_is_stream_object(stream) || !(stream->flags & NON_BLOCKING))
        return DEFAULT_LANE;
    if (!stream->lane && last_lane + 1 < LANES)
        stream->lane = ++last_lane;
    return stream->lane;
}

static uint64_t issue(unsigned which, struct item item)
{
    struct lane *lane = &lanes[which];
    if (lane->issued >= QUEUE)
        finish(which, lane->issued + 1 - QUEUE);
    item.issued_as = ++issued_in_all;
    lane->polls = 0;
    lane->issued++;
    lane->items[lane->issued % QUEUE] = item;
    return lane->issued;
}

void vest_order_record(struct vest_event *event, struct vest_stream *stream)
{
    event->polls = 0;
    if (!events_are_late())
        return;
    event->lane = lane_of(stream);
    struct lane *lane = &lanes[event->lane];
    bool idle = lane->done == lane->issued; /* then it is complete at once */
    event->number = idle ? lane->issued : issue(event->lane, (struct item){0});
}

void vest_order_wait(struct vest_stream *stream, const struct vest_event *event)
{
    unsigned which = lane_of(stream);
    if (events_are_late() && event->lane != which && !is_done(event->lane, event->number))
        issue(which, (struct item){.lane = event->lane, .number = event->number});
}

void vest_use_stream(struct vest_stream *stream)
{
    if (!events_are_late())
        return;
    bool captured = vest_capture_id(stream) != 0;
    pthread_mutex_lock(&vest_stream_lock);
    lane_in_use = captured ? -1 : (int)lane_of(stream);
    pthread_mutex_unlock(&vest_stream_lock);
}

static void issue_here(bool transfer)
{
    if (!events_are_late() || lane_in_use < 0)
        return;
    pthread_mutex_lock(&vest_stream_lock);
    if (transfer && lane_in_use != DEFAULT_LANE)
        lanes[lane_in_use].transfers = true;
    issue((unsigned)lane_in_use, (struct item){0});
    pthread_mutex_unlock(&vest_stream_lock);
}

void vest_issue(void) { issue_here(false); }

void vest_issue_transfer(struct vest_stream *stream)
{
    vest_use_stream(stream);
    issue_here(true);
}

void vest_stream_synchronize(struct vest_stream *stream)
{
    if (!events_are_late())
        return;
    pthread_mutex_lock(&vest_stream_lock);
    unsigned which = lane_of(stream);
    finish(which, lanes[which].issued);
    pthread_mutex_unlock(&vest_stream_lock);
}

void vest_event_synchronize(const struct vest_event *event)
{
    if (!events_are_late())
        return;
    pthread_mutex_lock(&vest_stream_lock);
    finish(event->lane, event->number);
    pthread_mutex_unlock(&vest_stream_lock);
}

void vest_synchronize(void)
{
    if (!events_are_late())
        return;
    pthread_mutex_lock(&vest_stream_lock);
    for (unsigned which = 0; which <= last_lane; which++)
        finish(which, lanes[which].issued);
    pthread_mutex_unlock(&vest_stream_lock);
}

/* The host waits for a copy to pageable memory, which the driver makes through a buffer. */
void vest_copy_issued(const void *to, const void *from, struct vest_stream *stream)
{
    if (!events_are_late())
        return;
    if (vest_is_device(from) && vest_is_device(to)) {
        vest_use_stream(stream);
        vest_issue();
        return;
    }
    vest_issue_transfer(stream);
    if (vest_is_device(from) && !vest_is_pinned(to))
        vest_stream_synchronize(stream);
}

void vest_copy_waited(const void *to, const void *from)
{
    if (!events_are_late())
        return;
    vest_use_stream(NULL);
    vest_issue();
    if (!vest_is_device(from) || !vest_is_device(to)) /* from device to device the host does not wait */
        vest_stream_synchronize(NULL);
}

static bool polled_long_enough(double *since_ms, unsigned *polls)
{
    double now_ms = vest_now_ms();
    if ((*polls)++ == 0)
        *since_ms = now_ms;
    return *polls > MOST_POLLS || now_ms - *since_ms > MOST_POLLING_MS;
}

/* PyTorch's caching allocator for device memory is in libc10_cuda, the one for pinned memory, event.query() and NCCL's
 * watchdog are not. It queries events of blocks that another stream has used, and no others. */
static bool is_device_allocator(const void *caller)
{
    static _Thread_local const void *last;
    static _Thread_local bool last_was;
    if (caller != last) {
        Dl_info found = {0};
        const char *path = dladdr(caller, &found) && found.dli_fname ? found.dli_fname : "";
        const char *name = strrchr(path, '/');
        last_was = strncmp(name ? name + 1 : path, "libc10_cuda", strlen("libc10_cuda")) == 0;
        last = caller;
    }
    return last_was;
}

bool vest_event_is_complete(struct vest_event *event, const void *caller)
{
    bool allocator = is_device_allocator(caller);
    if (allocator)
        vest_log_deferred_free();
    if (!events_are_late())
        return true;
    pthread_mutex_lock(&vest_stream_lock);
    bool complete = is_done(event->lane, event->number);
    if (!complete && !allocator)
        complete = polled_long_enough(&event->polled_ms, &event->polls);
    pthread_mutex_unlock(&vest_stream_lock);
    return complete;
}

bool vest_stream_is_idle(struct vest_stream *stream)
{
    if (!events_are_late())
        return true;
    pthread_mutex_lock(&vest_stream_lock);
    unsigned which = lane_of(stream);
    struct lane *lane = &lanes[which];
    if (lane->done < lane->issued && polled_long_enough(&lane->polled_ms, &lane->polls))
        finish(which, lane->issued);
    bool idle = lane->done == lane->issued;
    pthread_mutex_unlock(&vest_stream_lock);
    return idle;
}
