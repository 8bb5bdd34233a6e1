/* Stands in for the CUDA driver (libcuda.so.1): public entry points only.
 *
 * PyTorch reaches it for expandable segments (cuMem*), run-time compiled kernels and pointer queries; Triton for its
 * launches. Interfaces that are not public (cuGetExportTable) are answered "not found".
 */
#include "stub.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VEST_LIBRARY "cuda"
#define VEST_REFUSAL 801 /* CUDA_ERROR_NOT_SUPPORTED */

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_DEVICE = 101,
    ILLEGAL_STATE = 401,
    NOT_FOUND = 500,
    NOT_READY = 600,
};

typedef unsigned long long address_t;
typedef struct vest_stream *stream_t;
typedef struct vest_event *event_t;

#define GRANULARITY (2ull << 20)

static void *pointer(address_t address) { return (void *)(uintptr_t)address; }
static int known_device(int device) { return device >= 0 && device < vest_gpu()->count ? SUCCESS : INVALID_DEVICE; }

static int make_object(void **out)
{
    *out = calloc(1, 16);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

/* Errors. */

static const struct {
    int status;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

static int describe(int status, bool name, const char **out)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].status == status)
            *out = name ? errors[i].name : errors[i].text;
    return *out ? SUCCESS : INVALID_VALUE;
}

VEST_EXPORT int cuGetErrorName(int status, const char **out) { return describe(status, true, out); }
VEST_EXPORT int cuGetErrorString(int status, const char **out) { return describe(status, false, out); }

/* Devices. */

VEST_EXPORT int cuDriverGetVersion(int *version)
{
    *version = vest_gpu()->driver;
    return SUCCESS;
}

VEST_EXPORT int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return known_device(ordinal);
}

VEST_EXPORT int cuDeviceGetCount(int *count)
{
    *count = vest_gpu()->count;
    return SUCCESS;
}

VEST_EXPORT int cuDeviceGetName(char *name, int bytes, int device)
{
    snprintf(name, (size_t)bytes, "%s", vest_gpu()->name);
    return known_device(device);
}

VEST_EXPORT int cuDeviceGetUuid_v2(unsigned char uuid[16], int device)
{
    vest_uuid(device, uuid);
    return known_device(device);
}

VEST_EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = vest_gpu()->total_bytes;
    return known_device(device);
}

VEST_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    if (!vest_attribute(attribute, device, value)) {
        char name[64];
        snprintf(name, sizeof name, "cuDeviceGetAttribute(%d)", attribute);
        vest_log_unmodelled(VEST_LIBRARY, name, "guessed");
    }
    return known_device(device);
}

VEST_EXPORT int cuDeviceComputeCapability(int *major, int *minor, int device)
{
    *major = vest_gpu()->cc / 10;
    *minor = vest_gpu()->cc % 10;
    return known_device(device);
}

VEST_EXPORT int cuDeviceGetPCIBusId(char *text, int bytes, int device)
{
    vest_pci_bus_id(device, text, bytes);
    return known_device(device);
}

VEST_EXPORT int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer;
    return SUCCESS;
}

/* Contexts: one per device, its handle is the address of its slot. */

static char contexts[VEST_MAX_DEVICES];
static _Thread_local void *current_context;

static int context_device(const void *context)
{
    const char *slot = context;
    return slot >= contexts && slot < contexts + VEST_MAX_DEVICES ? (int)(slot - contexts) : vest_device();
}

VEST_EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
    if (known_device(device) != SUCCESS)
        return INVALID_DEVICE;
    *context = &contexts[device];
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
    *context = current_context ? current_context : &contexts[vest_device()];
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

/* Memory. */

VEST_EXPORT int cuMemAlloc_v2(address_t *out, size_t bytes)
{
    *out = (uintptr_t)vest_alloc(vest_device(), bytes);
    return *out ? SUCCESS : bytes ? OUT_OF_MEMORY : INVALID_VALUE;
}

VEST_EXPORT int cuMemAllocManaged(address_t *out, size_t bytes, unsigned flags)
{
    (void)flags;
    return cuMemAlloc_v2(out, bytes);
}

static int give_back(address_t address)
{
    void *memory = pointer(address);
    return !memory || vest_pool_free(memory) || vest_free(memory) ? SUCCESS : INVALID_VALUE;
}

VEST_EXPORT int cuMemFree_v2(address_t address)
{
    vest_synchronize();
    return give_back(address);
}

VEST_EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    vest_memory_info(vest_device(), free_bytes, total_bytes);
    return SUCCESS;
}

VEST_EXPORT int cuMemGetAddressRange_v2(address_t *base, size_t *bytes, address_t address)
{
    struct vest_extent extent;
    if (!vest_find(pointer(address), &extent))
        return INVALID_VALUE;
    if (base)
        *base = extent.base;
    if (bytes)
        *bytes = extent.bytes;
    return SUCCESS;
}

VEST_EXPORT int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    *out = vest_host_alloc(bytes);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

VEST_EXPORT int cuMemAllocHost_v2(void **out, size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }
VEST_EXPORT int cuMemFreeHost(void *address) { return vest_host_free(address) ? SUCCESS : INVALID_VALUE; }

VEST_EXPORT int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
    (void)flags;
    return vest_host_register(address, bytes) ? SUCCESS : INVALID_VALUE;
}

VEST_EXPORT int cuMemHostUnregister(void *address) { return vest_host_unregister(address) ? SUCCESS : INVALID_VALUE; }

VEST_EXPORT int cuMemHostGetDevicePointer_v2(address_t *out, void *address, unsigned flags)
{
    (void)flags;
    *out = (uintptr_t)address;
    return SUCCESS;
}

VEST_EXPORT int cuMemAllocAsync(address_t *out, size_t bytes, stream_t stream)
{
    (void)stream;
    *out = (uintptr_t)vest_pool_alloc(vest_device(), bytes);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

VEST_EXPORT int cuMemFreeAsync(address_t address, stream_t stream)
{
    (void)stream;
    return give_back(address);
}

/* Every copy is the same copy: addresses say which side is the device. The host waits for all of them. */

static int copy(address_t to, address_t from, size_t bytes)
{
    vest_copy_waited(pointer(to), pointer(from));
    vest_copy(pointer(to), pointer(from), bytes);
    return SUCCESS;
}

VEST_EXPORT int cuMemcpy(address_t to, address_t from, size_t bytes) { return copy(to, from, bytes); }

VEST_EXPORT int cuMemcpyPeer(address_t to, void *to_context, address_t from, void *from_context, size_t bytes)
{
    (void)to_context, (void)from_context;
    return copy(to, from, bytes);
}

static int fill(address_t to, uint32_t value, size_t value_bytes, size_t count)
{
    vest_fill(pointer(to), &value, value_bytes, count); /* little-endian: the low bytes come first */
    return SUCCESS;
}

VEST_EXPORT int cuMemsetD8_v2(address_t to, unsigned char value, size_t count) { return fill(to, value, 1, count); }
VEST_EXPORT int cuMemsetD16_v2(address_t to, unsigned short value, size_t count) { return fill(to, value, 2, count); }
VEST_EXPORT int cuMemsetD32_v2(address_t to, unsigned value, size_t count) { return fill(to, value, 4, count); }

/* Virtual memory management, as expandable segments use it. */

VEST_EXPORT int cuMemGetAllocationGranularity(size_t *bytes, const void *properties, int option)
{
    (void)properties, (void)option;
    *bytes = GRANULARITY;
    return SUCCESS;
}

VEST_EXPORT int cuMemAddressReserve(address_t *out, size_t bytes, size_t alignment, address_t hint, unsigned long long flags)
{
    (void)hint, (void)flags;
    *out = (uintptr_t)vest_reserve(bytes, alignment);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

VEST_EXPORT int cuMemAddressFree(address_t address, size_t bytes)
{
    return vest_unreserve(pointer(address), bytes) ? SUCCESS : INVALID_VALUE;
}

/* The start of CUmemAllocationProp. */
struct allocation_properties {
    int type, handle_types;
    int location_type, location;
};

VEST_EXPORT int cuMemCreate(struct vest_physical **out, size_t bytes, const struct allocation_properties *properties,
                            unsigned long long flags)
{
    (void)flags;
    if (known_device(properties->location) != SUCCESS)
        return INVALID_DEVICE;
    *out = vest_physical_create(properties->location, bytes);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

VEST_EXPORT int cuMemRelease(struct vest_physical *memory)
{
    return memory && vest_physical_release(memory) ? SUCCESS : INVALID_VALUE;
}

VEST_EXPORT int cuMemMap(address_t address, size_t bytes, size_t offset, struct vest_physical *memory, unsigned long long flags)
{
    (void)offset, (void)flags;
    return vest_map(pointer(address), bytes, memory) ? SUCCESS : INVALID_VALUE;
}

VEST_EXPORT int cuMemUnmap(address_t address, size_t bytes)
{
    return vest_unmap(pointer(address), bytes) ? SUCCESS : INVALID_VALUE;
}

VEST_EXPORT int cuMemRetainAllocationHandle(struct vest_physical **out, void *address)
{
    *out = vest_mapped_at(address);
    if (!*out)
        return INVALID_VALUE;
    vest_physical_retain(*out);
    return SUCCESS;
}

VEST_EXPORT int cuMemGetAccess(unsigned long long *flags, const void *location, address_t address)
{
    (void)location, (void)address;
    *flags = 3; /* read and write */
    return SUCCESS;
}

static int pointer_attribute(void *value, int which, address_t address)
{
    struct vest_extent extent = {0};
    bool device = vest_is_device(pointer(address)) && vest_find(pointer(address), &extent);
    bool pinned = !device && vest_is_pinned(pointer(address));
    if (!device && !pinned)
        return INVALID_VALUE;
    switch (which) {
    case 1: *(void **)value = &contexts[extent.device]; return SUCCESS;
    case 2: *(unsigned *)value = device ? 2 : 1; return SUCCESS;
    case 3: case 4: *(address_t *)value = address; return SUCCESS;
    case 6: case 8: *(unsigned char *)value = 0; return SUCCESS;
    case 7: *(unsigned long long *)value = extent.base; return SUCCESS;
    case 9: *(int *)value = extent.device; return SUCCESS;
    case 10: *(unsigned char *)value = 1; return SUCCESS;
    case 11: case 19: *(address_t *)value = extent.base; return SUCCESS;
    case 12: case 18: *(size_t *)value = extent.bytes; return SUCCESS;
    case 13: *(unsigned char *)value = 1; return SUCCESS;
    default: return INVALID_VALUE;
    }
}

VEST_EXPORT int cuPointerGetAttribute(void *value, int which, address_t address)
{
    return pointer_attribute(value, which, address);
}

VEST_EXPORT int cuPointerGetAttributes(unsigned count, const int *which, void **values, address_t address)
{
    for (unsigned i = 0; i < count; i++)
        if (pointer_attribute(values[i], which[i], address) != SUCCESS && which[i] == 2)
            *(unsigned *)values[i] = 0;
    return SUCCESS;
}

/* Streams, events, capture. */

VEST_EXPORT int cuStreamCreateWithPriority(stream_t *out, unsigned flags, int priority)
{
    *out = vest_stream_create(vest_device(), priority, flags);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

VEST_EXPORT int cuStreamCreate(stream_t *out, unsigned flags) { return cuStreamCreateWithPriority(out, flags, 0); }

VEST_EXPORT int cuStreamDestroy_v2(stream_t stream)
{
    vest_stream_destroy(stream);
    return SUCCESS;
}

VEST_EXPORT int cuStreamGetCtx(stream_t stream, void **context)
{
    *context = &contexts[vest_stream_device(stream)];
    return SUCCESS;
}

VEST_EXPORT int cuStreamGetPriority(stream_t stream, int *priority)
{
    *priority = vest_stream_priority(stream);
    return SUCCESS;
}

VEST_EXPORT int cuStreamGetFlags(stream_t stream, unsigned *flags)
{
    *flags = vest_stream_flags(stream);
    return SUCCESS;
}

VEST_EXPORT int cuStreamGetId(stream_t stream, unsigned long long *id)
{
    *id = vest_stream_id(stream);
    return SUCCESS;
}

VEST_EXPORT int cuStreamIsCapturing(stream_t stream, int *status)
{
    *status = vest_capture_id(stream) != 0;
    return SUCCESS;
}

VEST_EXPORT int cuStreamWaitEvent(stream_t stream, event_t event, unsigned flags)
{
    (void)flags;
    vest_stream_wait(stream, event);
    return SUCCESS;
}

VEST_EXPORT int cuLaunchHostFunc(stream_t stream, void (*function)(void *), void *data)
{
    if (!vest_capture_id(stream))
        function(data);
    return SUCCESS;
}

VEST_EXPORT int cuEventCreate(event_t *out, unsigned flags)
{
    (void)flags;
    *out = vest_event_create();
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

VEST_EXPORT int cuEventDestroy_v2(event_t event)
{
    vest_event_destroy(event);
    return SUCCESS;
}

VEST_EXPORT int cuEventRecord(event_t event, stream_t stream)
{
    vest_event_record(event, stream);
    return SUCCESS;
}

VEST_EXPORT int cuEventQuery(event_t event)
{
    return vest_event_is_complete(event, __builtin_return_address(0)) ? SUCCESS : NOT_READY;
}

VEST_EXPORT int cuEventSynchronize(event_t event)
{
    vest_event_synchronize(event);
    return SUCCESS;
}

VEST_EXPORT int cuStreamQuery(stream_t stream) { return vest_stream_is_idle(stream) ? SUCCESS : NOT_READY; }

VEST_EXPORT int cuStreamSynchronize(stream_t stream)
{
    vest_stream_synchronize(stream);
    return SUCCESS;
}

VEST_EXPORT int cuCtxSynchronize(void)
{
    vest_synchronize();
    return SUCCESS;
}

VEST_EXPORT int cuEventElapsedTime_v2(float *ms, event_t start, event_t end)
{
    *ms = vest_event_elapsed_ms(start, end);
    return SUCCESS;
}

/* Modules and kernels: a function's handle is a copy of its name. */

static int launch(stream_t stream)
{
    vest_use_stream(stream);
    vest_launched();
    return SUCCESS;
}

VEST_EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared, stream_t stream)
{
    (void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z, (void)shared;
    return launch(stream);
}

/* The start of CUlaunchConfig. */
struct launch_configuration {
    unsigned grid[3], block[3], shared;
    stream_t stream;
};

VEST_EXPORT int cuLaunchKernelEx(const struct launch_configuration *configuration) { return launch(configuration->stream); }

VEST_EXPORT int cuGraphLaunch(void *exec, stream_t stream)
{
    (void)exec;
    return launch(stream);
}

static int load_module(void **module, const void *image)
{
    (void)image;
    return make_object(module);
}

VEST_EXPORT int cuModuleLoad(void **module, const char *file) { return load_module(module, file); }
VEST_EXPORT int cuModuleLoadData(void **module, const void *image) { return load_module(module, image); }
VEST_EXPORT int cuModuleLoadDataEx(void **module, const void *image) { return load_module(module, image); }
VEST_EXPORT int cuModuleLoadFatBinary(void **module, const void *image) { return load_module(module, image); }
VEST_EXPORT int cuLibraryLoadData(void **library, const void *image) { return load_module(library, image); }
VEST_EXPORT int cuLibraryLoadFromFile(void **library, const char *file) { return load_module(library, file); }

VEST_EXPORT int cuModuleUnload(void *module)
{
    free(module);
    return SUCCESS;
}

VEST_EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
    (void)module;
    *function = strdup(name);
    return *function ? SUCCESS : OUT_OF_MEMORY;
}

VEST_EXPORT int cuModuleGetGlobal_v2(address_t *address, size_t *bytes, void *module, const char *name)
{
    (void)module, (void)name;
    if (address)
        *address = 0;
    if (bytes)
        *bytes = 0;
    return NOT_FOUND;
}

VEST_EXPORT int cuModuleGetLoadingMode(int *mode)
{
    *mode = 2; /* lazy */
    return SUCCESS;
}

VEST_EXPORT int cuLibraryGetModule(void **module, void *library)
{
    *module = library;
    return SUCCESS;
}

VEST_EXPORT int cuKernelGetFunction(void **function, void *kernel)
{
    *function = kernel;
    return SUCCESS;
}

VEST_EXPORT int cuFuncGetName(const char **name, void *function)
{
    *name = function;
    return SUCCESS;
}

VEST_EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    (void)function;
    const int known[] = {1024, 0, 0, 0, 32, vest_gpu()->binary, vest_gpu()->binary, 0, vest_gpu()->shared_optin_bytes, -1};
    *value = attribute >= 0 && attribute < (int)(sizeof known / sizeof *known) ? known[attribute] : 0;
    return SUCCESS;
}

VEST_EXPORT int cuKernelGetAttribute(int *value, int attribute, void *kernel, int device)
{
    (void)device;
    return cuFuncGetAttribute(value, attribute, kernel);
}

VEST_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared)
{
    (void)function;
    *blocks = vest_occupancy(threads, shared);
    return SUCCESS;
}

VEST_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t shared)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

VEST_EXPORT int cuOccupancyMaxActiveClusters(int *clusters, void *function, const void *configuration)
{
    (void)function, (void)configuration;
    vest_log_unmodelled(VEST_LIBRARY, "cuOccupancyMaxActiveClusters", "guessed");
    *clusters = vest_gpu()->sms / 2;
    return SUCCESS;
}

/* The link's output is the caller's to read until cuLinkDestroy. */
VEST_EXPORT int cuLinkCreate_v2(unsigned count, void *options, void **values, void **state)
{
    (void)count, (void)options, (void)values;
    return make_object(state);
}

VEST_EXPORT int cuLinkComplete(void *state, void **image, size_t *bytes)
{
    *image = state;
    *bytes = 16;
    return SUCCESS;
}

VEST_EXPORT int cuLinkDestroy(void *state)
{
    free(state);
    return SUCCESS;
}

#define TENSOR_MAP_BYTES 128

VEST_EXPORT int cuTensorMapEncodeTiled(void *map)
{
    memset(map, 0, TENSOR_MAP_BYTES);
    return SUCCESS;
}

VEST_EXPORT int cuTensorMapEncodeIm2col(void *map) { return cuTensorMapEncodeTiled(map); }

/* The driver's log stays empty: nothing is ever reported to the callback. */
VEST_EXPORT int cuLogsRegisterCallback(void *callback, void *data, void **handle)
{
    (void)callback, (void)data;
    if (handle)
        *handle = NULL;
    return SUCCESS;
}

VEST_EXPORT int cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return NOT_FOUND;
}

/* Lookup by name. The header maps some plain names to a later version of the function. */

#define VEST_VERSION(plain, versioned) {#plain, #versioned},
static const struct {
    const char *plain, *versioned;
} versions[] = {
#include "symbols/cuda_versions.def"
};

VEST_EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    (void)version, (void)flags;
    const char *exported = name;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strcmp(versions[i].plain, name) == 0)
            exported = versions[i].versioned;
    *function = dlsym(RTLD_DEFAULT, exported);
    if (status)
        *status = *function ? 0 : 1; /* found, or symbol not found */
    return *function ? SUCCESS : NOT_FOUND;
}

VEST_EXPORT int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

#define VEST_ALIAS(name, of) VEST_EXPORT int name(void) __attribute__((alias(#of)));
#pragma GCC diagnostic ignored "-Wattribute-alias"
#include "symbols/cuda_alias.def"
#include "symbols/cuda_noop.def"
#include "symbols/cuda_unsupported.def"
