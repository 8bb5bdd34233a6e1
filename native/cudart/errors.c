/* Errors: each thread remembers its last one. */
#include "cudart.h"

static _Thread_local int last_error;

int fail(int status)
{
    last_error = status;
    return status;
}

static const struct {
    int status;
    const char *name, *text;
} errors[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {401, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
};

static const char *describe(int status, bool name)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].status == status)
            return name ? errors[i].name : errors[i].text;
    return "unrecognized error code";
}

VEST_EXPORT const char *cudaGetErrorName(int status) { return describe(status, true); }
VEST_EXPORT const char *cudaGetErrorString(int status) { return describe(status, false); }
VEST_EXPORT int cudaPeekAtLastError(void) { return last_error; }

VEST_EXPORT int cudaGetLastError(void)
{
    int status = last_error;
    last_error = SUCCESS;
    return status;
}
