/* Facts about the target GPU that programs ask for by number. */
#include "vest.h"

#include <stdio.h>
#include <string.h>

#define FIRST_PCI_BUS 6

/* Reserved by the system in each block's shared memory from compute capability 8.0 on. */
#define RESERVED_SHARED(gpu) ((gpu)->cc >= 80 ? 1024 : 0)

bool vest_attribute(int attribute, int device, int *value)
{
    const struct vest_gpu *gpu = vest_gpu();
#define VEST_ATTRIBUTE(name, number, on_target)                                                                        \
    case number:                                                                                                       \
        *value = on_target;                                                                                            \
        return true;
    switch (attribute) {
#include "device_attributes.def"
    default:
        *value = 0;
        return false;
    }
}

int vest_occupancy(int block_threads, size_t shared_bytes)
{
    const int registers_per_thread = 32; /* what a kernel needs is not known; the compiler aims for this */
    const struct vest_gpu *gpu = vest_gpu();
    if (block_threads <= 0 || shared_bytes > (size_t)gpu->shared_optin_bytes)
        return 0;
    int threads = (block_threads + 31) / 32 * 32;
    int blocks = gpu->threads_sm / threads;
    int by_registers = gpu->regs_sm / (registers_per_thread * threads);
    int shared = (int)shared_bytes + RESERVED_SHARED(gpu);
    int by_shared = shared ? gpu->shared_sm_bytes / shared : gpu->blocks_sm;
    blocks = blocks < by_registers ? blocks : by_registers;
    blocks = blocks < by_shared ? blocks : by_shared;
    return blocks < gpu->blocks_sm ? blocks : gpu->blocks_sm;
}

void vest_pci_bus_id(int device, char *text, int bytes)
{
    snprintf(text, (size_t)bytes, "0000:%02X:00.0", FIRST_PCI_BUS + device);
}

void vest_uuid(int device, unsigned char uuid[16])
{
    memcpy(uuid, "veritasest-gpu-\0", 16);
    uuid[15] = (unsigned char)device;
}
