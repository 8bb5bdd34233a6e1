/* Kernel launches, and the registration of kernels by the compiler's start-up code. */
#include "cudart.h"

struct dim3 {
    unsigned x, y, z;
};

static int launch(stream_t stream)
{
    vest_use_stream(stream);
    vest_on_kernel_launch();
    return SUCCESS;
}

VEST_EXPORT int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments,
                                 size_t shared, stream_t stream)
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

VEST_EXPORT int cudaLaunchKernelExC(const struct launch_configuration *configuration)
{
    return launch(configuration->stream);
}

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
