/* Streams and events. */
#include "cudart.h"

#define CALL(name) cuda##name
#define FAILED(status) fail(status)
#include "stream_calls.h"

VEST_EXPORT int cudaStreamCreateWithFlags(stream_t *out, unsigned flags)
{
    return cudaStreamCreateWithPriority(out, flags, 0);
}

VEST_EXPORT int cudaStreamCreate(stream_t *out) { return cudaStreamCreateWithPriority(out, 0, 0); }

VEST_EXPORT int cudaStreamGetDevice(stream_t stream, int *device)
{
    *device = vest_stream_device(stream);
    return SUCCESS;
}

VEST_EXPORT int cudaStreamAddCallback(stream_t stream, void (*function)(stream_t, int, void *), void *data,
                                      unsigned flags)
{
    (void)flags;
    function(stream, SUCCESS, data);
    return SUCCESS;
}

VEST_EXPORT int cudaEventCreateWithFlags(event_t *out, unsigned flags)
{
    (void)flags;
    *out = vest_event_create();
    return *out ? SUCCESS : fail(OUT_OF_MEMORY);
}

VEST_EXPORT int cudaEventCreate(event_t *out) { return cudaEventCreateWithFlags(out, 0); }

VEST_EXPORT int cudaEventRecordWithFlags(event_t event, stream_t stream, unsigned flags)
{
    (void)flags;
    return cudaEventRecord(event, stream);
}

VEST_EXPORT int cudaDeviceSynchronize(void)
{
    vest_synchronize();
    return SUCCESS;
}
