/* Stands in for the CUDA runtime (libcudart): memory is honoured, kernel launches do nothing.
 *
 * Status numbers and struct layouts are those of the public API, declared here for the CUDA major version being built
 * (VEST_CUDA_MAJOR); tests compare the struct sizes with the installed headers.
 */
#include "stub.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VEST_LIBRARY "cudart"
#define VEST_REFUSAL fail(801) /* cudaErrorNotSupported */

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_DEVICE = 101,
    NOT_FOUND = 500,
    ILLEGAL_STATE = 401,
    NOT_READY = 600,
    PEER_ALREADY_ENABLED = 704,
    CAPTURE_UNSUPPORTED = 900,
};

struct dim3 {
    unsigned x, y, z;
};

typedef struct vest_stream *stream_t;
typedef struct vest_event *event_t;

/* Errors: each thread remembers its last one. */

static _Thread_local int last_error;

static int fail(int status)
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

/* The device. */

VEST_EXPORT int cudaGetDeviceCount(int *count)
{
    *count = vest_gpu()->count;
    return SUCCESS;
}

VEST_EXPORT int cudaGetDevice(int *device)
{
    *device = vest_device();
    return SUCCESS;
}

VEST_EXPORT int cudaSetDevice(int device) { return vest_set_device(device) ? SUCCESS : fail(INVALID_DEVICE); }
VEST_EXPORT int cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    (void)device_flags, (void)flags;
    return device >= 0 && device < vest_gpu()->count ? SUCCESS : fail(INVALID_DEVICE);
}

VEST_EXPORT int cudaDriverGetVersion(int *version)
{
    *version = vest_gpu()->driver;
    return SUCCESS;
}

VEST_EXPORT int cudaRuntimeGetVersion(int *version)
{
    *version = VEST_CUDA_MAJOR == 13 ? 13000 : 12080;
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    if (vest_attribute(attribute, device, value))
        return SUCCESS;
    char name[64];
    snprintf(name, sizeof name, "cudaDeviceGetAttribute(%d)", attribute);
    vest_log_unmodelled(VEST_LIBRARY, name, "guessed");
    return SUCCESS;
}

/* cudaDeviceProp: 1,008 bytes on CUDA 13, 1,032 on CUDA 12. */
struct device_properties {
    char name[256];
    unsigned char uuid[16];
    char luid[8];
    unsigned luid_mask;
    size_t total_memory, shared_block;
    int regs_block, warp;
    size_t pitch;
    int threads_block, block_dim[3], grid_dim[3];
#if VEST_CUDA_MAJOR < 13
    int clock_khz;
#endif
    size_t constant_memory;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
#if VEST_CUDA_MAJOR < 13
    int overlap;
#endif
    int sms;
#if VEST_CUDA_MAJOR < 13
    int timeout;
#endif
    int integrated, map_host;
#if VEST_CUDA_MAJOR < 13
    int compute_mode;
#endif
    int texture_1d, texture_1d_mipmap;
#if VEST_CUDA_MAJOR < 13
    int texture_1d_linear;
#endif
    int texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3], texture_2d_gather[2], texture_3d[3], texture_3d_alt[3];
    int cubemap, layered_1d[2], layered_2d[3], cubemap_layered[2];
    int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3], surface_cubemap[3];
    size_t surface_alignment;
    int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines, unified_addressing;
#if VEST_CUDA_MAJOR < 13
    int memory_clock_khz;
#endif
    int bus_bits, l2_bytes, persisting_l2_bytes, threads_sm, stream_priorities, global_l1, local_l1;
    size_t shared_sm;
    int regs_sm, managed, multi_gpu_board, board_group, host_atomics;
#if VEST_CUDA_MAJOR < 13
    int single_to_double;
#endif
    int pageable_access, concurrent_managed, preemption, host_pointer_registered, cooperative;
#if VEST_CUDA_MAJOR < 13
    int cooperative_multi;
#endif
    size_t shared_optin;
    int pageable_host_tables, direct_managed, blocks_sm, access_window;
    size_t shared_reserved;
    int host_register, sparse, host_register_readonly, timeline_semaphores, pools, rdma;
    unsigned rdma_flush;
    int rdma_ordering;
    unsigned pool_handle_types;
    int deferred_mapping, ipc_events, clusters, unified_functions;
    int rest[63]; /* NUMA, MPS and PCI identity on CUDA 13; reserved before */
};

static int attribute(int number, int device)
{
    int value = 0;
    vest_attribute(number, device, &value);
    return value;
}

VEST_EXPORT int cudaGetDeviceProperties(struct device_properties *out, int device)
{
    const struct vest_gpu *gpu = vest_gpu();
    if (device < 0 || device >= gpu->count)
        return fail(INVALID_DEVICE);
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", gpu->name);
    vest_uuid(device, out->uuid);
    out->total_memory = gpu->total_bytes;
    out->shared_block = 49152;
    out->regs_block = 65536;
    out->warp = 32;
    out->pitch = 2147483647;
    out->threads_block = out->block_dim[0] = out->block_dim[1] = 1024;
    out->block_dim[2] = 64;
    out->grid_dim[0] = 2147483647;
    out->grid_dim[1] = out->grid_dim[2] = 65535;
    out->constant_memory = 65536;
    out->major = gpu->cc / 10;
    out->minor = gpu->cc % 10;
    out->texture_alignment = out->surface_alignment = 512;
    out->texture_pitch_alignment = 32;
    out->sms = gpu->sms;
    out->map_host = out->concurrent_kernels = out->unified_addressing = out->stream_priorities = 1;
    out->global_l1 = out->local_l1 = out->managed = out->concurrent_managed = out->preemption = 1;
    out->host_pointer_registered = out->cooperative = out->host_register = out->pools = out->ipc_events = 1;
    out->async_engines = 3;
    out->pci_bus = attribute(33, device);
    out->bus_bits = gpu->bus_bits;
    out->l2_bytes = gpu->l2_bytes;
    out->persisting_l2_bytes = attribute(108, device);
    out->access_window = attribute(109, device);
    out->threads_sm = gpu->threads_sm;
    out->shared_sm = (size_t)gpu->shared_sm_bytes;
    out->regs_sm = gpu->regs_sm;
    out->shared_optin = (size_t)gpu->shared_optin_bytes;
    out->blocks_sm = gpu->blocks_sm;
    out->shared_reserved = (size_t)attribute(111, device);
    out->clusters = gpu->cc >= 90;
#if VEST_CUDA_MAJOR < 13
    out->clock_khz = gpu->clock_khz;
    out->memory_clock_khz = gpu->memory_clock_khz;
    out->overlap = out->cooperative_multi = 1;
    out->single_to_double = attribute(87, device);
#endif
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    vest_pci_bus_id(device, text, bytes);
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceGetByPCIBusId(int *device, const char *text)
{
    for (*device = 0; *device < vest_gpu()->count; ++*device) {
        char candidate[32];
        vest_pci_bus_id(*device, candidate, sizeof candidate);
        if (strcasecmp(candidate, text) == 0)
            return SUCCESS;
    }
    return fail(INVALID_VALUE);
}

VEST_EXPORT int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return SUCCESS;
}

static size_t limits[8] = {1024, 1048576, 8388608, 2, 2048, 64, 0, 0};

VEST_EXPORT int cudaDeviceGetLimit(size_t *value, int which)
{
    if (which < 0 || which >= 8)
        return fail(INVALID_VALUE);
    *value = limits[which];
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceSetLimit(int which, size_t value)
{
    if (which < 0 || which >= 8)
        return fail(INVALID_VALUE);
    limits[which] = value;
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer;
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceGetP2PAttribute(int *value, int which, int source, int target)
{
    const int performance_rank = 1;
    *value = which != performance_rank && source != target;
    return SUCCESS;
}

VEST_EXPORT int cudaGetDeviceFlags(unsigned *flags)
{
    *flags = 0;
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceGetCacheConfig(int *config)
{
    *config = 0;
    return SUCCESS;
}

/* Memory. */

VEST_EXPORT int cudaMalloc(void **out, size_t bytes)
{
    *out = NULL;
    if (bytes == 0)
        return SUCCESS;
    *out = vest_alloc(vest_device(), bytes);
    return *out ? SUCCESS : fail(OUT_OF_MEMORY);
}

static int give_back(void *address)
{
    return !address || vest_pool_free(address) || vest_free(address) ? SUCCESS : fail(INVALID_VALUE);
}

VEST_EXPORT int cudaFree(void *address)
{
    vest_synchronize();
    return give_back(address);
}

VEST_EXPORT int cudaMallocManaged(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    return cudaMalloc(out, bytes);
}

VEST_EXPORT int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(out, *pitch * height);
}

VEST_EXPORT int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    vest_memory_info(vest_device(), free_bytes, total_bytes);
    return SUCCESS;
}

VEST_EXPORT int cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    *out = vest_host_alloc(bytes);
    return *out || bytes == 0 ? SUCCESS : fail(OUT_OF_MEMORY);
}

VEST_EXPORT int cudaMallocHost(void **out, size_t bytes) { return cudaHostAlloc(out, bytes, 0); }
VEST_EXPORT int cudaFreeHost(void *address) { return !address || vest_host_free(address) ? SUCCESS : fail(INVALID_VALUE); }

VEST_EXPORT int cudaHostRegister(void *address, size_t bytes, unsigned flags)
{
    (void)flags;
    return vest_host_register(address, bytes) ? SUCCESS : fail(INVALID_VALUE);
}

VEST_EXPORT int cudaHostUnregister(void *address) { return vest_host_unregister(address) ? SUCCESS : fail(INVALID_VALUE); }

VEST_EXPORT int cudaHostGetDevicePointer(void **out, void *address, unsigned flags)
{
    (void)flags;
    *out = address;
    return SUCCESS;
}

VEST_EXPORT int cudaHostGetFlags(unsigned *flags, void *address)
{
    *flags = 0;
    return vest_is_pinned(address) ? SUCCESS : fail(INVALID_VALUE);
}

struct pointer_attributes {
    int type; /* 0 unregistered, 1 pinned host, 2 device */
    int device;
    void *device_pointer, *host_pointer;
    long reserved[8];
};

VEST_EXPORT int cudaPointerGetAttributes(struct pointer_attributes *out, const void *address)
{
    struct vest_extent extent;
    bool device = vest_is_device(address) && vest_find(address, &extent);
    bool pinned = !device && vest_is_pinned(address);
    out->type = device ? 2 : pinned ? 1 : 0;
    out->device = device ? extent.device : pinned ? vest_device() : -2;
    out->device_pointer = device || pinned ? (void *)address : NULL;
    out->host_pointer = device ? NULL : (void *)address;
#if VEST_CUDA_MAJOR >= 13
    memset(out->reserved, 0, sizeof out->reserved);
#endif
    return SUCCESS;
}

static int copy(void *to, const void *from, size_t bytes)
{
    vest_copy(to, from, bytes);
    return SUCCESS;
}

static int copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height)
{
    for (size_t row = 0; row < height; row++)
        vest_copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    return SUCCESS;
}

static int fill(void *to, int value, size_t bytes)
{
    vest_fill(to, &(char){(char)value}, 1, bytes);
    return SUCCESS;
}

VEST_EXPORT int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    (void)kind;
    vest_copy_waited(to, from);
    return copy(to, from, bytes);
}

VEST_EXPORT int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, stream_t stream)
{
    (void)kind;
    vest_copy_issued(to, from, stream);
    return copy(to, from, bytes);
}

VEST_EXPORT int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    (void)to_device, (void)from_device;
    return copy(to, from, bytes);
}

VEST_EXPORT int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                    stream_t stream)
{
    (void)to_device, (void)from_device;
    vest_copy_issued(to, from, stream);
    return copy(to, from, bytes);
}

VEST_EXPORT int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                             size_t height, int kind)
{
    (void)kind;
    vest_copy_waited(to, from);
    return copy_2d(to, to_pitch, from, from_pitch, width, height);
}

VEST_EXPORT int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                  size_t height, int kind, stream_t stream)
{
    (void)kind;
    vest_copy_issued(to, from, stream);
    return copy_2d(to, to_pitch, from, from_pitch, width, height);
}

VEST_EXPORT int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        copy(to[i], from[i], bytes[i]);
    return SUCCESS;
}

/* A device variable's address is that of its host shadow, which the compiler makes as large. */
VEST_EXPORT int cudaGetSymbolAddress(void **out, const void *symbol)
{
    *out = (void *)symbol;
    return SUCCESS;
}

VEST_EXPORT int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind)
{
    (void)kind;
    vest_copy_waited(symbol, from);
    return copy((char *)symbol + offset, from, bytes);
}

VEST_EXPORT int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, int kind)
{
    return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}

VEST_EXPORT int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind)
{
    (void)kind;
    vest_copy_waited(to, symbol);
    return copy(to, (const char *)symbol + offset, bytes);
}

VEST_EXPORT int cudaMemset(void *to, int value, size_t bytes) { return fill(to, value, bytes); }
VEST_EXPORT int cudaMemsetAsync(void *to, int value, size_t bytes, stream_t stream)
{
    vest_use_stream(stream);
    vest_issue();
    return fill(to, value, bytes);
}

VEST_EXPORT int cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    for (size_t row = 0; row < height; row++)
        fill((char *)to + row * pitch, value, width);
    return SUCCESS;
}

VEST_EXPORT int cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height)
{
    return cudaMemset2D(to, pitch, value, width, height);
}

/* Memory pools: one per device, its handle is the device's number plus one. */

static int pool_device(const void *pool) { return (int)(uintptr_t)pool - 1; }

VEST_EXPORT int cudaDeviceGetDefaultMemPool(void **pool, int device)
{
    *pool = (void *)(uintptr_t)(device + 1);
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceGetMemPool(void **pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }

VEST_EXPORT int cudaMallocFromPoolAsync(void **out, size_t bytes, void *pool, stream_t stream)
{
    (void)stream;
    *out = bytes ? vest_pool_alloc(pool_device(pool), bytes) : NULL;
    return *out || !bytes ? SUCCESS : fail(OUT_OF_MEMORY);
}

VEST_EXPORT int cudaMallocAsync(void **out, size_t bytes, stream_t stream)
{
    return cudaMallocFromPoolAsync(out, bytes, (void *)(uintptr_t)(vest_device() + 1), stream);
}

VEST_EXPORT int cudaFreeAsync(void *address, stream_t stream)
{
    (void)stream;
    return give_back(address);
}

static uint64_t release_threshold[VEST_MAX_DEVICES];

VEST_EXPORT int cudaMemPoolGetAttribute(void *pool, int which, void *value)
{
    int device = pool_device(pool);
    if (which >= 1 && which <= 3)
        *(int *)value = 1;
    else if (which == 4)
        *(uint64_t *)value = release_threshold[device];
    else if (which >= 5 && which <= 8)
        *(uint64_t *)value = vest_pool_number(device, (enum vest_pool_number)(which - 5));
    else
        return fail(INVALID_VALUE);
    return SUCCESS;
}

VEST_EXPORT int cudaMemPoolSetAttribute(void *pool, int which, void *value)
{
    int device = pool_device(pool);
    if (which == 4)
        release_threshold[device] = *(uint64_t *)value;
    else if (which == 6 || which == 8) /* only ever set to zero: the high-water marks start again */
        vest_pool_reset_high(device, (enum vest_pool_number)(which - 5));
    return SUCCESS;
}

VEST_EXPORT int cudaMemPoolTrimTo(void *pool, size_t keep)
{
    (void)keep;
    vest_pool_trim(pool_device(pool));
    return SUCCESS;
}

/* Streams and events. */

VEST_EXPORT int cudaStreamCreateWithPriority(stream_t *out, unsigned flags, int priority)
{
    *out = vest_stream_create(vest_device(), priority, flags);
    return *out ? SUCCESS : fail(OUT_OF_MEMORY);
}

VEST_EXPORT int cudaStreamCreateWithFlags(stream_t *out, unsigned flags) { return cudaStreamCreateWithPriority(out, flags, 0); }
VEST_EXPORT int cudaStreamCreate(stream_t *out) { return cudaStreamCreateWithPriority(out, 0, 0); }

VEST_EXPORT int cudaStreamDestroy(stream_t stream)
{
    vest_stream_destroy(stream);
    return SUCCESS;
}

VEST_EXPORT int cudaStreamGetPriority(stream_t stream, int *priority)
{
    *priority = vest_stream_priority(stream);
    return SUCCESS;
}

VEST_EXPORT int cudaStreamGetFlags(stream_t stream, unsigned *flags)
{
    *flags = vest_stream_flags(stream);
    return SUCCESS;
}

VEST_EXPORT int cudaStreamGetDevice(stream_t stream, int *device)
{
    *device = vest_stream_device(stream);
    return SUCCESS;
}

VEST_EXPORT int cudaStreamGetId(stream_t stream, unsigned long long *id)
{
    *id = vest_stream_id(stream);
    return SUCCESS;
}

VEST_EXPORT int cudaStreamWaitEvent(stream_t stream, event_t event, unsigned flags)
{
    (void)flags;
    vest_stream_wait(stream, event);
    return SUCCESS;
}

VEST_EXPORT int cudaLaunchHostFunc(stream_t stream, void (*function)(void *), void *data)
{
    if (!vest_capture_id(stream))
        function(data);
    return SUCCESS;
}

VEST_EXPORT int cudaStreamAddCallback(stream_t stream, void (*function)(stream_t, int, void *), void *data, unsigned flags)
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

VEST_EXPORT int cudaEventDestroy(event_t event)
{
    vest_event_destroy(event);
    return SUCCESS;
}

VEST_EXPORT int cudaEventRecordWithFlags(event_t event, stream_t stream, unsigned flags)
{
    (void)flags;
    vest_event_record(event, stream);
    return SUCCESS;
}

VEST_EXPORT int cudaEventRecord(event_t event, stream_t stream) { return cudaEventRecordWithFlags(event, stream, 0); }

VEST_EXPORT int cudaEventQuery(event_t event)
{
    return vest_event_is_complete(event, __builtin_return_address(0)) ? SUCCESS : fail(NOT_READY);
}

VEST_EXPORT int cudaEventSynchronize(event_t event)
{
    vest_event_synchronize(event);
    return SUCCESS;
}

VEST_EXPORT int cudaStreamQuery(stream_t stream) { return vest_stream_is_idle(stream) ? SUCCESS : fail(NOT_READY); }

VEST_EXPORT int cudaStreamSynchronize(stream_t stream)
{
    vest_stream_synchronize(stream);
    return SUCCESS;
}

VEST_EXPORT int cudaDeviceSynchronize(void)
{
    vest_synchronize();
    return SUCCESS;
}

VEST_EXPORT int cudaEventElapsedTime(float *ms, event_t start, event_t end)
{
    *ms = vest_event_elapsed_ms(start, end);
    return SUCCESS;
}

/* Graphs. */

VEST_EXPORT int cudaStreamBeginCapture(stream_t stream, int mode)
{
    (void)mode;
    return vest_capture_begin(stream) ? SUCCESS : fail(CAPTURE_UNSUPPORTED);
}

VEST_EXPORT int cudaStreamEndCapture(stream_t stream, void **graph)
{
    *graph = NULL;
    if (!vest_capture_end(stream))
        return fail(ILLEGAL_STATE);
    *graph = calloc(1, 16);
    return SUCCESS;
}

VEST_EXPORT int cudaStreamIsCapturing(stream_t stream, int *status)
{
    *status = vest_capture_id(stream) != 0;
    return SUCCESS;
}

static void capture_facts(stream_t stream, int *status, unsigned long long *id)
{
    uint64_t capture = vest_capture_id(stream);
    if (status)
        *status = capture != 0;
    if (id)
        *id = capture;
}

VEST_EXPORT int cudaStreamGetCaptureInfo_v2(stream_t stream, int *status, unsigned long long *id, void **graph,
                                            const void ***dependencies, size_t *count)
{
    capture_facts(stream, status, id);
    if (graph)
        *graph = NULL;
    if (dependencies)
        *dependencies = NULL;
    if (count)
        *count = 0;
    return SUCCESS;
}

VEST_EXPORT int cudaStreamGetCaptureInfo_v3(stream_t stream, int *status, unsigned long long *id, void **graph,
                                            const void ***dependencies, const void **edges, size_t *count)
{
    if (edges)
        *edges = NULL;
    return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count);
}

#if VEST_CUDA_MAJOR >= 13
VEST_EXPORT int cudaStreamGetCaptureInfo(stream_t stream, int *status, unsigned long long *id, void **graph,
                                         const void ***dependencies, const void **edges, size_t *count)
{
    return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, edges, count);
}
#else
VEST_EXPORT int cudaStreamGetCaptureInfo(stream_t stream, int *status, unsigned long long *id)
{
    capture_facts(stream, status, id);
    return SUCCESS;
}
#endif

VEST_EXPORT int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    static _Thread_local int current;
    int before = current;
    current = *mode;
    *mode = before;
    return SUCCESS;
}

static int make_object(void **out)
{
    *out = calloc(1, 16);
    return *out ? SUCCESS : fail(OUT_OF_MEMORY);
}

VEST_EXPORT int cudaGraphCreate(void **graph, unsigned flags)
{
    (void)flags;
    return make_object(graph);
}

VEST_EXPORT int cudaGraphInstantiate(void **exec, void *graph)
{
    (void)graph;
    return make_object(exec);
}

VEST_EXPORT int cudaGraphInstantiateWithFlags(void **exec, void *graph) { return cudaGraphInstantiate(exec, graph); }
VEST_EXPORT int cudaGraphInstantiateWithParams(void **exec, void *graph) { return cudaGraphInstantiate(exec, graph); }

VEST_EXPORT int cudaGraphDestroy(void *graph)
{
    free(graph);
    return SUCCESS;
}

VEST_EXPORT int cudaGraphExecDestroy(void *exec)
{
    free(exec);
    return SUCCESS;
}

/* What was captured is not kept; one node says that the graph is not empty. */
VEST_EXPORT int cudaGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    if (nodes && *count)
        nodes[0] = graph;
    *count = 1;
    return SUCCESS;
}

VEST_EXPORT int cudaGraphGetRootNodes(void *graph, void **nodes, size_t *count) { return cudaGraphGetNodes(graph, nodes, count); }

static int no_neighbours(size_t *count)
{
    if (count)
        *count = 0;
    return SUCCESS;
}

#if VEST_CUDA_MAJOR >= 13
VEST_EXPORT int cudaGraphNodeGetDependencies(void *node, void **nodes, void *edges, size_t *count)
{
    (void)node, (void)nodes, (void)edges;
    return no_neighbours(count);
}
#else
VEST_EXPORT int cudaGraphNodeGetDependencies(void *node, void **nodes, size_t *count)
{
    (void)node, (void)nodes;
    return no_neighbours(count);
}
VEST_EXPORT int cudaGraphNodeGetDependencies_v2(void *node, void **nodes, void *edges, size_t *count)
{
    (void)node, (void)nodes, (void)edges;
    return no_neighbours(count);
}
#endif

VEST_EXPORT int cudaGraphNodeGetType(void *node, int *type)
{
    (void)node;
    *type = 0; /* a kernel */
    return SUCCESS;
}

/* Kernels. */

static int launch(stream_t stream)
{
    vest_use_stream(stream);
    vest_launched();
    return SUCCESS;
}

VEST_EXPORT int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
                                 stream_t stream)
{
    (void)function, (void)grid, (void)block, (void)arguments, (void)shared;
    return launch(stream);
}

/* The start of cudaLaunchConfig_t. */
struct launch_configuration {
    struct dim3 grid, block;
    size_t shared;
    stream_t stream;
};

VEST_EXPORT int cudaLaunchKernelExC(const struct launch_configuration *configuration) { return launch(configuration->stream); }

VEST_EXPORT int cudaGraphLaunch(void *exec, stream_t stream)
{
    (void)exec;
    return launch(stream);
}

static _Thread_local struct {
    struct dim3 grid, block;
    size_t shared;
    void *stream;
} call;

VEST_EXPORT unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared, void *stream)
{
    call.grid = grid;
    call.block = block;
    call.shared = shared;
    call.stream = stream;
    return 0;
}

VEST_EXPORT int __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared, void *stream)
{
    *grid = call.grid;
    *block = call.block;
    *shared = call.shared;
    *(void **)stream = call.stream;
    return SUCCESS;
}

VEST_EXPORT void **__cudaRegisterFatBinary(void *binary)
{
    static void *handle;
    (void)binary;
    vest_start_agent();
    return &handle;
}

VEST_EXPORT void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
VEST_EXPORT void __cudaUnregisterFatBinary(void **handle) { (void)handle; }
VEST_EXPORT void __cudaRegisterFunction(void) {}
VEST_EXPORT void __cudaRegisterVar(void) {}
VEST_EXPORT void __cudaRegisterManagedVar(void) {}
VEST_EXPORT void __cudaRegisterHostVar(void) {}
VEST_EXPORT char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

/* A kernel's handle is the address of its host stub. */
VEST_EXPORT int __cudaGetKernel(void **kernel, const void *function)
{
    *kernel = (void *)function;
    return SUCCESS;
}

VEST_EXPORT int cudaGetKernel(void **kernel, const void *function) { return __cudaGetKernel(kernel, function); }
VEST_EXPORT int cudaGetFuncBySymbol(void **out, const void *function) { return __cudaGetKernel(out, function); }

struct function_attributes {
    size_t shared, constant, local;
    int threads_block, registers, ptx, binary, cache_mode, dynamic_shared, carveout;
    int cluster_required, cluster[3], cluster_policy, cluster_nonportable;
    int reserved[16];
};

VEST_EXPORT int cudaFuncGetAttributes(struct function_attributes *out, const void *function)
{
    (void)function;
    const struct vest_gpu *gpu = vest_gpu();
    memset(out, 0, sizeof *out);
    out->threads_block = 1024;
    out->registers = 32;
    out->ptx = out->binary = gpu->binary;
    out->dynamic_shared = 49152;
    out->carveout = -1;
    return SUCCESS;
}

VEST_EXPORT int cudaFuncGetName(const char **name, const void *function)
{
    (void)function;
    *name = "kernel";
    return SUCCESS;
}

VEST_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads, size_t shared)
{
    (void)function;
    *blocks = vest_occupancy(threads, shared);
    return SUCCESS;
}

VEST_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
                                                                       size_t shared, unsigned flags)
{
    (void)flags;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

VEST_EXPORT int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks, int threads)
{
    (void)function, (void)threads;
    *bytes = (size_t)(vest_gpu()->shared_sm_bytes / (blocks > 0 ? blocks : 1));
    return SUCCESS;
}

/* The driver's functions by name. */

VEST_EXPORT int cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *status)
{
    typedef int lookup(const char *, void **, int, uint64_t, int *);
    lookup *get = (lookup *)dlsym(RTLD_DEFAULT, "cuGetProcAddress_v2");
    *function = NULL;
    if (get)
        get(name, function, vest_gpu()->driver, flags, NULL);
    if (status)
        *status = *function ? 0 : 1; /* found, or symbol not found */
    return *function || status ? SUCCESS : fail(NOT_FOUND);
}

VEST_EXPORT int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                                 unsigned long long flags, int *status)
{
    (void)version;
    return cudaGetDriverEntryPoint(name, function, flags, status);
}

/* Sharing between processes: within one process only. */

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
    return fail(801);
}

VEST_EXPORT int cudaIpcOpenEventHandle(event_t *out, struct ipc_handle handle)
{
    return cudaIpcOpenMemHandle((void **)out, handle, 0);
}

#define VEST_ALIAS(name, of) VEST_EXPORT int name(void) __attribute__((alias(#of)));
#pragma GCC diagnostic ignored "-Wattribute-alias"
#include "symbols/cudart_alias.def"
#include "symbols/cudart_noop.def"
#include "symbols/cudart_unsupported.def"
