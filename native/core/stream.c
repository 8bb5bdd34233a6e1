/* Streams, events and graph capture.
 *
 * Nothing runs, so every stream is idle and every recorded event has happened, unless events are to be late (order.c).
 * What must be right is capture: while a stream is captured PyTorch's allocator serves it from a private pool, and a
 * stream that waits for an event of a captured stream joins the capture.
 */
#include "facts/facts.h"
#include "memory.h"
#include "stream.h"
#include "vest.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define MAX_CAPTURES 256

pthread_mutex_t vest_stream_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t captures[MAX_CAPTURES]; /* ids of the current captures */
static uint64_t last_capture, last_stream = 2;

static bool is_object(const struct vest_stream *stream) { return (uintptr_t)stream > 2; }
bool vest_is_stream_object(const struct vest_stream *stream) { return is_object(stream); }

static struct vest_library streams = {.name = "streams", .handle_bytes = FACT_VALUE(STREAM)};

struct vest_stream *vest_stream_create(int device, int priority, unsigned flags)
{
    if (!vest_overhead_acquire(&streams, device))
        return NULL;
    struct vest_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    pthread_mutex_lock(&vest_stream_lock);
    *stream = (struct vest_stream){.device = device, .priority = priority, .flags = flags, .id = ++last_stream};
    pthread_mutex_unlock(&vest_stream_lock);
    return stream;
}

void vest_stream_destroy(struct vest_stream *stream)
{
    if (!is_object(stream))
        return;
    vest_overhead_release(&streams, stream->device);
    free(stream);
}

int vest_stream_priority(const struct vest_stream *stream) { return is_object(stream) ? stream->priority : 0; }
unsigned vest_stream_flags(const struct vest_stream *stream) { return is_object(stream) ? stream->flags : 0; }
int vest_stream_device(const struct vest_stream *stream) { return is_object(stream) ? stream->device : vest_device(); }
uint64_t vest_stream_id(const struct vest_stream *stream) { return is_object(stream) ? stream->id : (uint64_t)stream; }

struct vest_event *vest_event_create(void) { return calloc(1, sizeof(struct vest_event)); }
void vest_event_destroy(struct vest_event *event) { free(event); }

/* The slot of a current capture; MAX_CAPTURES if there is none. Called with the lock held, as the next function is. */
static size_t slot_of(uint64_t id)
{
    size_t slot = 0;
    while (slot < MAX_CAPTURES && captures[slot] != id)
        slot++;
    return slot;
}

static uint64_t current_capture(const struct vest_stream *stream)
{
    if (!is_object(stream) || !stream->capture)
        return 0;
    return slot_of(stream->capture) < MAX_CAPTURES ? stream->capture : 0;
}

double vest_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

void vest_event_record(struct vest_event *event, struct vest_stream *stream)
{
    double now_ms = vest_now_ms();
    pthread_mutex_lock(&vest_stream_lock);
    event->recorded_ms = now_ms;
    event->capture = current_capture(stream);
    if (!event->capture)
        vest_order_record(event, stream);
    pthread_mutex_unlock(&vest_stream_lock);
}

/* In whole steps of 10 ms, at least one: work that does nothing then always takes the same time, so that a choice by
 * time (cudnn.benchmark, autotuners) falls on the first candidate, run after run. */
float vest_event_elapsed_ms(const struct vest_event *start, const struct vest_event *end)
{
    const double step_ms = 10;
    pthread_mutex_lock(&vest_stream_lock);
    double elapsed_ms = end->recorded_ms - start->recorded_ms;
    pthread_mutex_unlock(&vest_stream_lock);
    return (float)(step_ms * (1 + (int64_t)(elapsed_ms / step_ms)));
}

void vest_stream_wait(struct vest_stream *stream, const struct vest_event *event)
{
    pthread_mutex_lock(&vest_stream_lock);
    if (!event->capture)
        vest_order_wait(stream, event);
    else if (is_object(stream) && slot_of(event->capture) < MAX_CAPTURES)
        stream->capture = event->capture;
    pthread_mutex_unlock(&vest_stream_lock);
}

uint64_t vest_capture_id(const struct vest_stream *stream)
{
    pthread_mutex_lock(&vest_stream_lock);
    uint64_t id = current_capture(stream);
    pthread_mutex_unlock(&vest_stream_lock);
    return id;
}

bool vest_capture_begin(struct vest_stream *stream)
{
    pthread_mutex_lock(&vest_stream_lock);
    size_t slot = is_object(stream) && !current_capture(stream) ? slot_of(0) : MAX_CAPTURES;
    if (slot < MAX_CAPTURES)
        captures[slot] = stream->capture = ++last_capture;
    pthread_mutex_unlock(&vest_stream_lock);
    return slot < MAX_CAPTURES;
}

bool vest_capture_end(struct vest_stream *stream)
{
    pthread_mutex_lock(&vest_stream_lock);
    uint64_t id = current_capture(stream);
    if (id) {
        captures[slot_of(id)] = 0;
        stream->capture = 0;
    }
    pthread_mutex_unlock(&vest_stream_lock);
    return id != 0;
}
