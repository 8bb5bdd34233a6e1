/* Facts about kernels, and the driver's functions by name. */
#include "cudart.h"

#include <dlfcn.h>
#include <string.h>

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

VEST_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                              size_t shared)
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
