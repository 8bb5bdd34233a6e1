/* What every stand-in library shares: the target GPU, its memory, and the event log.
 *
 * One shared object (libveritasest.so) holds the state; the stand-ins for libcudart, libcuda, libcublas... link to it,
 * so that cudaMalloc, cuMemCreate, NVML and cudaMemGetInfo all see the same memory.
 */
#ifndef VEST_H
#define VEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VEST_EXPORT __attribute__((visibility("default")))
#define VEST_MAX_DEVICES 64

/* The target GPU, from the settings gpu_name, gpu_count... that the launcher writes (settings.h). */
struct vest_gpu {
    char name[64];
    int count;               /* devices on the emulated host */
    int cc;                  /* compute capability, 90 for 9.0 */
    int binary;              /* compute capability of the machine code PyTorch would load, 86 on an 8.9 GPU */
    int sms;
    int driver;              /* CUDA version the driver speaks, 13000 */
    uint64_t total_bytes;    /* what the driver calls total memory */
    uint64_t context_bytes;  /* of the CUDA context before the first allocation */
    uint64_t limit_bytes;    /* for the allocations of all processes, if contexts and libraries leave that much;
                              * UINT64_MAX: no limit */
    int clock_khz, memory_clock_khz, bus_bits, l2_bytes;
    int shared_sm_bytes, shared_optin_bytes, regs_sm, threads_sm, blocks_sm;
};

VEST_EXPORT const struct vest_gpu *vest_gpu(void);

/* The calling thread's current device. */
VEST_EXPORT int vest_device(void);
VEST_EXPORT bool vest_set_device(int device);

/* Device memory, at the addresses that the driver would choose. NULL: over the limit. */
VEST_EXPORT void *vest_alloc(int device, uint64_t bytes);
VEST_EXPORT bool vest_free(void *address);
VEST_EXPORT void vest_memory_info(int device, uint64_t *free_bytes, uint64_t *total_bytes);
VEST_EXPORT uint64_t vest_used_bytes(int device);

/* Called with every kernel launch. The first one on a device makes its context grow; see overhead.c. */
VEST_EXPORT void vest_on_kernel_launch(void);

/* Library overhead: device memory that a library holds and the job did not allocate. */
struct vest_library {
    const char *name;
    uint64_t handle_bytes;    /* with every handle, released with it */
    uint64_t first_bytes;     /* once per device, with the first handle */
    uint64_t first_addresses; /* how much of that affects the addresses of the job */
    bool known[VEST_MAX_DEVICES];
};
VEST_EXPORT bool vest_overhead_acquire(struct vest_library *library, int device); /* false: no room */
VEST_EXPORT void vest_overhead_release(const struct vest_library *library, int device);
VEST_EXPORT uint64_t vest_overhead_bytes(int device);

/* The allocation or mapping that an address is in; false: it is not live device memory. */
struct vest_extent {
    int device;
    uintptr_t base;
    uint64_t bytes;
};
VEST_EXPORT bool vest_find(const void *address, struct vest_extent *out);

/* Virtual memory management: address ranges, physical memory, and mappings between them. */
struct vest_physical;
VEST_EXPORT void *vest_reserve(uint64_t bytes, uint64_t alignment);
VEST_EXPORT bool vest_unreserve(void *address, uint64_t bytes);
VEST_EXPORT struct vest_physical *vest_physical_create(int device, uint64_t bytes);
VEST_EXPORT void vest_physical_retain(struct vest_physical *memory);
VEST_EXPORT bool vest_physical_release(struct vest_physical *memory);
VEST_EXPORT bool vest_map(void *address, uint64_t bytes, struct vest_physical *memory);
VEST_EXPORT bool vest_unmap(void *address, uint64_t bytes);
VEST_EXPORT struct vest_physical *vest_mapped_at(const void *address);

/* Contents. Device memory is host memory that is mapped lazily, so small copies and fills are real; see content.c. */
VEST_EXPORT bool vest_is_device(const void *address);
VEST_EXPORT void vest_copy(void *to, const void *from, size_t bytes);
/* A copy that a collective makes, which is not an operator of PyTorch's. The callback is called after it, without any
 * of our locks held. */
typedef void vest_move_callback(const void *to, const void *from, uint64_t bytes);
VEST_EXPORT void vest_move(void *to, const void *from, size_t bytes);
VEST_EXPORT void vest_watch_moves(vest_move_callback *callback);
VEST_EXPORT void vest_fill(void *to, const void *pattern, size_t pattern_bytes, size_t count);

/* For the agent, which computes values on the CPU in device memory. It claims the bytes that it is about to write;
 * false: not live device memory, or more than the host may back. The limit, once set, applies to copies and claims
 * alike. */
VEST_EXPORT bool vest_claim(void *to, size_t bytes);
VEST_EXPORT void vest_content_limit(uint64_t bytes);
VEST_EXPORT uint64_t vest_content_bytes(void);

/* While on, what the calling thread copies to the device is not kept: it reads as zeros. For data that is never read,
 * such as a model's weights, so that the host's memory is left for data that is. */
VEST_EXPORT void vest_drop_copies(bool on);

/* While on, the calling thread reads `value` wherever it copies one number (up to 8 bytes) from the device: the count
 * that a kernel would have left there. */
VEST_EXPORT void vest_answer_reads(bool on, int64_t value);

/* Pinned and registered host memory, so that pointer queries distinguish it from pageable memory. */
VEST_EXPORT void *vest_host_alloc(size_t bytes);
VEST_EXPORT bool vest_host_free(void *address);
VEST_EXPORT bool vest_host_register(void *address, size_t bytes);
VEST_EXPORT bool vest_host_unregister(void *address);
VEST_EXPORT bool vest_is_pinned(const void *address);

/* Stream-ordered allocation (cudaMallocAsync): blocks cut from chunks that the device's pool keeps; see pool.c. */
enum vest_pool_number { VEST_POOL_RESERVED, VEST_POOL_RESERVED_HIGH, VEST_POOL_USED, VEST_POOL_USED_HIGH };
VEST_EXPORT void *vest_pool_alloc(int device, uint64_t bytes);
VEST_EXPORT bool vest_pool_free(void *address); /* false: not from a pool */
VEST_EXPORT void vest_pool_trim(int device);
VEST_EXPORT uint64_t vest_pool_number(int device, enum vest_pool_number which);
VEST_EXPORT void vest_pool_reset_high(int device, enum vest_pool_number which);

/* Attributes by number (cudaDeviceAttr and CUdevice_attribute share their numbers); false: not in our table. */
VEST_EXPORT bool vest_attribute(int attribute, int device, int *value);
/* Blocks of one kernel that a multiprocessor holds at once. */
VEST_EXPORT int vest_occupancy(int block_threads, size_t shared_bytes);
VEST_EXPORT void vest_pci_bus_id(int device, char *text, int bytes);
VEST_EXPORT void vest_uuid(int device, unsigned char uuid[16]);

/* Streams and events. The three reserved stream values (0, 1, 2) are default streams and never objects. */
struct vest_stream;
struct vest_event;
VEST_EXPORT struct vest_stream *vest_stream_create(int device, int priority, unsigned flags);
VEST_EXPORT void vest_stream_destroy(struct vest_stream *stream);
VEST_EXPORT int vest_stream_priority(const struct vest_stream *stream);
VEST_EXPORT unsigned vest_stream_flags(const struct vest_stream *stream);
VEST_EXPORT int vest_stream_device(const struct vest_stream *stream);
VEST_EXPORT uint64_t vest_stream_id(const struct vest_stream *stream);
VEST_EXPORT struct vest_event *vest_event_create(void);
VEST_EXPORT void vest_event_destroy(struct vest_event *event);
VEST_EXPORT void vest_event_record(struct vest_event *event, struct vest_stream *stream);
VEST_EXPORT float vest_event_elapsed_ms(const struct vest_event *start, const struct vest_event *end);
VEST_EXPORT void vest_stream_wait(struct vest_stream *stream, const struct vest_event *event);

/* When work is complete: at once, or with the setting events=late when the host has waited for it; see order.c.
 * vest_issue: the calling thread put work into the stream that it used last; vest_on_kernel_launch() calls it.
 * `caller`: the return address of the call that asks. */
VEST_EXPORT void vest_use_stream(struct vest_stream *stream);
VEST_EXPORT void vest_issue(void);
VEST_EXPORT void vest_issue_transfer(struct vest_stream *stream); /* over a bus: to or from the host or another GPU */
VEST_EXPORT void vest_copy_issued(const void *to, const void *from, struct vest_stream *stream);
VEST_EXPORT void vest_copy_waited(const void *to, const void *from); /* on the default stream, the host waiting */
VEST_EXPORT bool vest_event_is_complete(struct vest_event *event, const void *caller);
VEST_EXPORT bool vest_stream_is_idle(struct vest_stream *stream);
VEST_EXPORT void vest_event_synchronize(const struct vest_event *event);
VEST_EXPORT void vest_stream_synchronize(struct vest_stream *stream);
VEST_EXPORT void vest_synchronize(void);

/* Graph capture: which capture, if any, a stream is part of (0: none). */
VEST_EXPORT bool vest_capture_begin(struct vest_stream *stream);
VEST_EXPORT uint64_t vest_capture_id(const struct vest_stream *stream);
VEST_EXPORT bool vest_capture_end(struct vest_stream *stream);

/* The trace: one JSON object per line, appended to the file that the setting `trace` names. */
VEST_EXPORT void vest_log_segment(const char *op, int device, uint64_t bytes, uintptr_t address, uint64_t used_bytes);
VEST_EXPORT void vest_log_refused(const char *owner, int device, uint64_t bytes, uint64_t used_bytes,
                                  uint64_t limit_bytes);
VEST_EXPORT void vest_log_library(const char *library, int device, int64_t bytes, uint64_t libraries_bytes);
/* The library was given memory of PyTorch's own that it keeps (cublasSetWorkspace). */
VEST_EXPORT void vest_log_workspace(const char *library, const void *address, uint64_t bytes);
VEST_EXPORT void vest_log_deferred_free(void); /* once: the allocator waits for an event before it reuses a block */
VEST_EXPORT void vest_log_misuse(const char *what, uintptr_t address);

/* The process ends with `code`; another no longer exists; another is sent a signal; an error of VeritasEst itself. */
VEST_EXPORT void vest_log_exit(int code);
VEST_EXPORT void vest_log_gone(int process);
VEST_EXPORT void vest_log_killed(int process, int number);
VEST_EXPORT void vest_log_own_error(const char *where, const char *message);

/* Records, once per name, that the estimate depends on something that is not modelled. `how` is "refused", "guessed",
 * or, for a size somewhere between two others (see vest_guess), "bounded" or "bounded above". */
VEST_EXPORT void vest_log_unmodelled(const char *library, const char *name, const char *how);

/* Lets the agent record it instead, with the line of the user's code. Called without any of our locks held. */
typedef void vest_unmodelled_callback(const char *library, const char *name, const char *how);
VEST_EXPORT void vest_watch_unmodelled(vest_unmodelled_callback *callback);

/* PyTorch's GPU code is being loaded: starts the agent in this process's Python soon, unless it is running. */
VEST_EXPORT void vest_start_agent(void);

/* A size that is a guess: `bytes`, or one of its bounds in a run that shows what depends on it (setting `guesses`,
 * "low" or "high"). Recorded as "bounded", or "bounded above" when it is its own lower bound. */
struct vest_bounds {
    uint64_t low, bytes, high;
};
VEST_EXPORT uint64_t vest_guess(const char *library, const char *name, struct vest_bounds bounds);

#endif
