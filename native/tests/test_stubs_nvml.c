/* NVML: the same memory as the core's. */
#include "test_stubs.h"

#include <string.h>
#include <unistd.h>

struct process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

static void nvml_agrees_with_the_core(void *library)
{
    void *device, *same;
    unsigned count = 0, processes = 0;
    unsigned long long memory[3];
    uint64_t free_bytes, total_bytes;
    char text[96];
    struct process process[4];
    assert(find(library, "nvmlDeviceGetCount_v2")(&count) == 1); /* UNINITIALIZED */
    assert(find(library, "nvmlInit_v2")() == 0);
    assert(find(library, "nvmlDeviceGetCount_v2")(&count) == 0 && count == (unsigned)vest_gpu()->count);
    assert(find(library, "nvmlDeviceGetHandleByIndex_v2")(0, &device) == 0);
    void *block = vest_alloc(0, 64 << 20);
    vest_memory_info(0, &free_bytes, &total_bytes);
    assert(find(library, "nvmlDeviceGetMemoryInfo")(device, memory) == 0);
    assert(memory[0] == total_bytes && memory[1] == free_bytes && memory[2] == total_bytes - free_bytes);
    assert(find(library, "nvmlDeviceGetComputeRunningProcesses_v3")(device, &processes, NULL) == 7 && processes == 1);
    processes = 4;
    assert(find(library, "nvmlDeviceGetComputeRunningProcesses_v3")(device, &processes, process) == 0);
    assert(processes == 1 && process[0].pid == (unsigned)getpid());
    assert(process[0].used_bytes == vest_overhead_bytes(0) + vest_used_bytes(0));
    assert(find(library, "nvmlDeviceGetUUID")(device, text, 96u) == 0 && strncmp(text, "GPU-", 4) == 0);
    assert(find(library, "nvmlDeviceGetHandleByUUID")(text, &same) == 0 && same == device);
    vest_pci_bus_id(0, text, sizeof text);
    assert(find(library, "nvmlDeviceGetHandleByPciBusId_v2")(text, &same) == 0 && same == device);
    assert(find(library, "nvmlDeviceGetName")(device, text, 2u) == 7); /* INSUFFICIENT_SIZE */
    assert(vest_free(block) && find(library, "nvmlShutdown")() == 0);
}

void test_nvml(void *library) { nvml_agrees_with_the_core(library); }
