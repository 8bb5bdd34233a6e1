/* Contexts: one per device, its handle is the address of its slot. */
#include "cuda.h"

static char contexts[VEST_MAX_DEVICES];
static _Thread_local void *current_context;

void *vest_context(int device) { return &contexts[device]; }

static int context_device(const void *context)
{
    const char *slot = context;
    return slot >= contexts && slot < contexts + VEST_MAX_DEVICES ? (int)(slot - contexts) : vest_device();
}

VEST_EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
    if (known_device(device) != SUCCESS)
        return INVALID_DEVICE;
    *context = vest_context(device);
    return SUCCESS;
}

VEST_EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = 1;
    return known_device(device);
}

VEST_EXPORT int cuCtxGetCurrent(void **context)
{
    *context = current_context ? current_context : vest_context(vest_device());
    return SUCCESS;
}

VEST_EXPORT int cuCtxSetCurrent(void *context)
{
    current_context = context;
    if (context)
        vest_set_device(context_device(context));
    return SUCCESS;
}

VEST_EXPORT int cuCtxPushCurrent_v2(void *context) { return cuCtxSetCurrent(context); }

VEST_EXPORT int cuCtxPopCurrent_v2(void **context)
{
    if (context)
        cuCtxGetCurrent(context);
    current_context = NULL;
    return SUCCESS;
}

VEST_EXPORT int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    (void)flags;
    int status = cuDevicePrimaryCtxRetain(context, device);
    return status == SUCCESS ? cuCtxSetCurrent(*context) : status;
}

VEST_EXPORT int cuCtxCreate_v4(void **context, void *parameters, unsigned flags, int device)
{
    (void)parameters;
    return cuCtxCreate_v2(context, flags, device);
}

VEST_EXPORT int cuCtxGetDevice(int *device)
{
    *device = vest_device();
    return SUCCESS;
}

VEST_EXPORT int cuCtxGetFlags(unsigned *flags)
{
    *flags = 0;
    return SUCCESS;
}

VEST_EXPORT int cuCtxGetApiVersion(void *context, unsigned *version)
{
    (void)context;
    *version = (unsigned)vest_gpu()->driver;
    return SUCCESS;
}

VEST_EXPORT int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return SUCCESS;
}
