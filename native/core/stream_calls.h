/* Streams and events: the calls that the runtime (cudaStreamQuery) and the driver (cuStreamQuery) have in common.
 *
 * Included once by each of them, after its own header, with CALL(name) the full name of a function and FAILED(status)
 * what it returns after an error. Both use the same error numbers.
 */
VEST_EXPORT int CALL(StreamCreateWithPriority)(stream_t *out, unsigned flags, int priority)
{
    *out = vest_stream_create(vest_device(), priority, flags);
    return *out ? SUCCESS : FAILED(OUT_OF_MEMORY);
}

VEST_EXPORT int CALL(StreamDestroy)(stream_t stream)
{
    vest_stream_destroy(stream);
    return SUCCESS;
}

VEST_EXPORT int CALL(StreamGetPriority)(stream_t stream, int *priority)
{
    *priority = vest_stream_priority(stream);
    return SUCCESS;
}

VEST_EXPORT int CALL(StreamGetFlags)(stream_t stream, unsigned *flags)
{
    *flags = vest_stream_flags(stream);
    return SUCCESS;
}

VEST_EXPORT int CALL(StreamGetId)(stream_t stream, unsigned long long *id)
{
    *id = vest_stream_id(stream);
    return SUCCESS;
}

VEST_EXPORT int CALL(StreamIsCapturing)(stream_t stream, int *status)
{
    *status = vest_capture_id(stream) != 0;
    return SUCCESS;
}

VEST_EXPORT int CALL(StreamWaitEvent)(stream_t stream, event_t event, unsigned flags)
{
    (void)flags;
    vest_stream_wait(stream, event);
    return SUCCESS;
}

VEST_EXPORT int CALL(StreamQuery)(stream_t stream) { return vest_stream_is_idle(stream) ? SUCCESS : FAILED(NOT_READY); }

VEST_EXPORT int CALL(StreamSynchronize)(stream_t stream)
{
    vest_stream_synchronize(stream);
    return SUCCESS;
}

VEST_EXPORT int CALL(LaunchHostFunc)(stream_t stream, void (*function)(void *), void *data)
{
    if (!vest_capture_id(stream))
        function(data);
    return SUCCESS;
}

VEST_EXPORT int CALL(EventDestroy)(event_t event)
{
    vest_event_destroy(event);
    return SUCCESS;
}

VEST_EXPORT int CALL(EventRecord)(event_t event, stream_t stream)
{
    vest_event_record(event, stream);
    return SUCCESS;
}

VEST_EXPORT int CALL(EventQuery)(event_t event)
{
    return vest_event_is_complete(event, __builtin_return_address(0)) ? SUCCESS : FAILED(NOT_READY);
}

VEST_EXPORT int CALL(EventSynchronize)(event_t event)
{
    vest_event_synchronize(event);
    return SUCCESS;
}

VEST_EXPORT int CALL(EventElapsedTime)(float *ms, event_t start, event_t end)
{
    *ms = vest_event_elapsed_ms(start, end);
    return SUCCESS;
}
