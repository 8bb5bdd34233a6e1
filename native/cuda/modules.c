/* Modules, kernels and launches: a function's handle is a copy of its name. */
#include "cuda.h"

#include <stdlib.h>
#include <string.h>

static int make_object(void **out)
{
    *out = calloc(1, 16);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

static int launch(stream_t stream)
{
    vest_use_stream(stream);
    vest_on_kernel_launch();
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

VEST_EXPORT int cuLaunchKernelEx(const struct launch_configuration *configuration)
{
    return launch(configuration->stream);
}

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
    const struct vest_gpu *gpu = vest_gpu();
    const int known[] = {1024, 0, 0, 0, 32, gpu->binary, gpu->binary, 0, gpu->shared_optin_bytes, -1};
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

VEST_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads,
                                                                     size_t shared)
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
