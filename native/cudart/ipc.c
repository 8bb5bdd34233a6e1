/* Sharing between processes: handles work within one process only. */
#include "cudart.h"

#include <string.h>
#include <unistd.h>

struct ipc_handle {
    void *address;
    int pid;
    char rest[52];
};

VEST_EXPORT int cudaIpcGetMemHandle(struct ipc_handle *handle, void *address)
{
    memset(handle, 0, sizeof *handle);
    handle->address = address;
    handle->pid = (int)getpid();
    return SUCCESS;
}

VEST_EXPORT int cudaIpcGetEventHandle(struct ipc_handle *handle, event_t event)
{
    return cudaIpcGetMemHandle(handle, event);
}

VEST_EXPORT int cudaIpcOpenMemHandle(void **out, struct ipc_handle handle, unsigned flags)
{
    (void)flags;
    *out = handle.address;
    if (handle.pid == (int)getpid())
        return SUCCESS;
    vest_log_unmodelled(VEST_LIBRARY, "cudaIpcOpenMemHandle between processes", "refused");
    return fail(NOT_SUPPORTED);
}

VEST_EXPORT int cudaIpcOpenEventHandle(event_t *out, struct ipc_handle handle)
{
    return cudaIpcOpenMemHandle((void **)out, handle, 0);
}
