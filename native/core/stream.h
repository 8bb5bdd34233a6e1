/* Streams and events, for stream.c and order.c. Functions are called with vest_stream_lock held. */
#ifndef VEST_STREAM_H
#define VEST_STREAM_H

#include "vest.h"

struct vest_stream {
    int device, priority;
    unsigned flags;
    uint64_t id, capture;
    unsigned lane; /* see order.c; 0: none yet */
};

struct vest_event {
    double recorded_ms;
    uint64_t capture;
    unsigned lane; /* where it was recorded, and after how much of that lane's work */
    uint64_t number;
    double polled_ms; /* when it was first queried by other code than the allocator */
    unsigned polls;
};

bool vest_is_stream_object(const struct vest_stream *stream);
double vest_now_ms(void);

/* Late events: a record or a wait is one item of the stream's work. */
void vest_order_record(struct vest_event *event, struct vest_stream *stream);
void vest_order_wait(struct vest_stream *stream, const struct vest_event *event);

#endif
