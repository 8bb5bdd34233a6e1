/* All properties of the device in one structure. */
#include "attributes.h"
#include "cudart.h"

#include <stdio.h>
#include <string.h>

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
    int texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3], texture_2d_gather[2];
    int texture_3d[3], texture_3d_alt[3];
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

/* The same on every GPU. */
static void set_limits(struct device_properties *out)
{
    out->shared_block = 49152;
    out->regs_block = 65536;
    out->warp = 32;
    out->pitch = 2147483647;
    out->threads_block = out->block_dim[0] = out->block_dim[1] = 1024;
    out->block_dim[2] = 64;
    out->grid_dim[0] = 2147483647;
    out->grid_dim[1] = out->grid_dim[2] = 65535;
    out->constant_memory = 65536;
    out->texture_alignment = out->surface_alignment = 512;
    out->texture_pitch_alignment = 32;
    out->map_host = out->concurrent_kernels = out->unified_addressing = out->stream_priorities = 1;
    out->global_l1 = out->local_l1 = out->managed = out->concurrent_managed = out->preemption = 1;
    out->host_pointer_registered = out->cooperative = out->host_register = out->pools = out->ipc_events = 1;
    out->async_engines = 3;
#if VEST_CUDA_MAJOR < 13
    out->overlap = out->cooperative_multi = 1;
#endif
}

VEST_EXPORT int cudaGetDeviceProperties(struct device_properties *out, int device)
{
    const struct vest_gpu *gpu = vest_gpu();
    if (device < 0 || device >= gpu->count)
        return fail(INVALID_DEVICE);
    memset(out, 0, sizeof *out);
    set_limits(out);
    snprintf(out->name, sizeof out->name, "%s", gpu->name);
    vest_uuid(device, out->uuid);
    out->total_memory = gpu->total_bytes;
    out->major = gpu->cc / 10;
    out->minor = gpu->cc % 10;
    out->sms = gpu->sms;
    out->pci_bus = attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
    out->bus_bits = gpu->bus_bits;
    out->l2_bytes = gpu->l2_bytes;
    out->persisting_l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, device);
    out->access_window = attribute(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, device);
    out->threads_sm = gpu->threads_sm;
    out->shared_sm = (size_t)gpu->shared_sm_bytes;
    out->regs_sm = gpu->regs_sm;
    out->shared_optin = (size_t)gpu->shared_optin_bytes;
    out->blocks_sm = gpu->blocks_sm;
    out->shared_reserved = (size_t)attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, device);
    out->clusters = gpu->cc >= 90;
#if VEST_CUDA_MAJOR < 13
    out->clock_khz = gpu->clock_khz;
    out->memory_clock_khz = gpu->memory_clock_khz;
    out->single_to_double = attribute(CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, device);
#endif
    return SUCCESS;
}
