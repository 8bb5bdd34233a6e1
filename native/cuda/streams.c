/* Streams and events. */
#include "cuda.h"

#define CALL(name) cu##name
#define FAILED(status) status
#include "stream_calls.h"

VEST_EXPORT int cuStreamCreate(stream_t *out, unsigned flags) { return cuStreamCreateWithPriority(out, flags, 0); }

VEST_EXPORT int cuStreamGetCtx(stream_t stream, void **context)
{
    *context = vest_context(vest_stream_device(stream));
    return SUCCESS;
}

VEST_EXPORT int cuEventCreate(event_t *out, unsigned flags)
{
    (void)flags;
    *out = vest_event_create();
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

VEST_EXPORT int cuCtxSynchronize(void)
{
    vest_synchronize();
    return SUCCESS;
}
