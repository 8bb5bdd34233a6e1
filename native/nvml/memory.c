/* Memory, and the processes that use it. */
#include "nvml.h"

#include <unistd.h>

struct memory {
    unsigned long long total, free, used;
};

struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
enum { MEMORY_V2 = 0x02000028 };
_Static_assert(sizeof(struct memory_v2) == (MEMORY_V2 & 0xffffff), "the version carries the size of the struct");

VEST_EXPORT int nvmlDeviceGetMemoryInfo(void *handle, struct memory *out)
{
    int device = index_of(handle);
    if (device < 0 || !out)
        return INVALID_ARGUMENT;
    uint64_t free_bytes = 0, total_bytes = 0;
    vest_memory_info(device, &free_bytes, &total_bytes);
    *out = (struct memory){.total = total_bytes, .free = free_bytes, .used = total_bytes - free_bytes};
    return SUCCESS;
}

VEST_EXPORT int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory_v2 *out)
{
    struct memory memory;
    if (!out)
        return INVALID_ARGUMENT;
    if (out->version != MEMORY_V2)
        return VERSION_MISMATCH;
    int status = nvmlDeviceGetMemoryInfo(handle, &memory);
    if (!status)
        *out = (struct memory_v2){
            .version = MEMORY_V2, .total = memory.total, .free = memory.free, .used = memory.used};
    return status;
}

struct process_v1 {
    unsigned pid;
    unsigned long long used_bytes;
};

struct process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

/* One process is on the GPU: this one. `count` is the length of the caller's array, then the number of processes. */
static int count_processes(const void *handle, unsigned *count, const void *out)
{
    if (index_of(handle) < 0 || !count)
        return INVALID_ARGUMENT;
    unsigned length = *count;
    *count = 1;
    return length < 1 || !out ? INSUFFICIENT_SIZE : SUCCESS;
}

static unsigned long long process_bytes(const void *handle)
{
    return vest_overhead_bytes(index_of(handle)) + vest_used_bytes(index_of(handle));
}

VEST_EXPORT int nvmlDeviceGetComputeRunningProcesses(void *handle, unsigned *count, struct process_v1 *out)
{
    int status = count_processes(handle, count, out);
    if (!status)
        out[0] = (struct process_v1){.pid = (unsigned)getpid(), .used_bytes = process_bytes(handle)};
    return status;
}

VEST_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, struct process *out)
{
    const unsigned whole_gpu = ~0u;
    int status = count_processes(handle, count, out);
    if (!status)
        out[0] = (struct process){(unsigned)getpid(), process_bytes(handle), whole_gpu, whole_gpu};
    return status;
}

VEST_EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *handle, unsigned *count, struct process *out)
{
    return nvmlDeviceGetComputeRunningProcesses_v3(handle, count, out);
}

#define NO_PROCESSES(name)                                                                                             \
    VEST_EXPORT int name(void *handle, unsigned *count, void *out)                                                     \
    {                                                                                                                  \
        (void)out;                                                                                                     \
        if (index_of(handle) < 0 || !count)                                                                            \
            return INVALID_ARGUMENT;                                                                                   \
        *count = 0;                                                                                                    \
        return SUCCESS;                                                                                                \
    }

NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)
