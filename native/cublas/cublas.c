/* Handles and their settings, versions, status names, memory. */
#include "cublas.h"
#include "object.h"
#include "versions.h"

#include <pthread.h>

#include "symbols/cublas_noop.def"
#include "symbols/cublas_unsupported.def"

struct handle {
    int device;
    void *stream, *workspace, *bit_count;
    size_t workspace_bytes;
    int pointer_mode, math_mode, atomics_mode, sm_target;
    int emulation_strategy, special_values, mantissa_control, max_bits, bit_offset;
};

static void *logger;

static struct vest_library overhead = {
    .name = "cublas",
    .handle_bytes = FACT_VALUE(CUBLAS_HANDLE),
    .first_bytes = FACT_VALUE(CUBLAS_CODE),
    .first_addresses = FACT_VALUE(CUBLAS_ADDRESSES),
};

VEST_EXPORT int cublasCreate_v2(struct handle **out)
{
    if (!out)
        return INVALID_VALUE;
    int device = vest_device();
    *out = vest_overhead_acquire(&overhead, device) ? calloc(1, sizeof **out) : NULL;
    if (!*out)
        return ALLOC_FAILED;
    (*out)->device = device;
    (*out)->special_values = 0xffff; /* CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT */
    return SUCCESS;
}

VEST_EXPORT int cublasDestroy_v2(struct handle *handle)
{
    if (handle)
        vest_overhead_release(&overhead, handle->device);
    free(handle);
    return SUCCESS;
}

SETTING(cublasSetStream_v2, cublasGetStream_v2, void *, stream)
SETTING(cublasSetPointerMode_v2, cublasGetPointerMode_v2, int, pointer_mode)
SETTING(cublasSetMathMode, cublasGetMathMode, int, math_mode)
SETTING(cublasSetAtomicsMode, cublasGetAtomicsMode, int, atomics_mode)
SETTING(cublasSetSmCountTarget, cublasGetSmCountTarget, int, sm_target)
SETTING(cublasSetEmulationStrategy, cublasGetEmulationStrategy, int, emulation_strategy)
SETTING(cublasSetEmulationSpecialValuesSupport, cublasGetEmulationSpecialValuesSupport, int, special_values)
SETTING(cublasSetFixedPointEmulationMantissaControl, cublasGetFixedPointEmulationMantissaControl, int, mantissa_control)
SETTING(cublasSetFixedPointEmulationMaxMantissaBitCount, cublasGetFixedPointEmulationMaxMantissaBitCount, int, max_bits)
SETTING(cublasSetFixedPointEmulationMantissaBitOffset, cublasGetFixedPointEmulationMantissaBitOffset, int, bit_offset)
SETTING(cublasSetFixedPointEmulationMantissaBitCountPointer, cublasGetFixedPointEmulationMantissaBitCountPointer,
        void *, bit_count)

/* PyTorch sets it before every call: recorded once per address. */
static void record_workspace(const void *workspace, size_t bytes)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const void *known[64];
    static size_t count;
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < count && known[i] != workspace)
        i++;
    bool is_new = i == count && count < sizeof known / sizeof *known;
    if (is_new)
        known[count++] = workspace;
    pthread_mutex_unlock(&lock);
    if (is_new)
        vest_log_workspace("cublas", workspace, bytes);
}

VEST_EXPORT int cublasSetWorkspace_v2(struct handle *handle, void *workspace, size_t bytes)
{
    if (!handle)
        return NOT_INITIALIZED;
    if (workspace && workspace != handle->workspace)
        record_workspace(workspace, bytes);
    handle->workspace = workspace;
    handle->workspace_bytes = bytes;
    return SUCCESS;
}

VEST_EXPORT int cublasSetLoggerCallback(void *callback)
{
    logger = callback;
    return SUCCESS;
}

VEST_EXPORT int cublasGetLoggerCallback(void **callback)
{
    *callback = logger;
    return SUCCESS;
}

VEST_EXPORT int cublasGetVersion_v2(struct handle *handle, int *version)
{
    (void)handle;
    *version = vest_version_number(VEST_CUBLAS, 10000);
    return SUCCESS;
}

VEST_EXPORT int cublasGetVersion(int *version) { return cublasGetVersion_v2(NULL, version); }

VEST_EXPORT size_t cublasGetCudartVersion(void)
{
    const int *parts = vest_version(VEST_CUDART, VEST_CUDA_MAJOR)->parts;
    return (size_t)(parts[0] * 1000 + parts[1] * 10);
}

GET_PROPERTY(cublasGetProperty, VEST_CUBLAS, INVALID_VALUE)

VEST_EXPORT const char *cublasGetStatusName(int status)
{
    switch (status) {
    case 0: return "CUBLAS_STATUS_SUCCESS";
    case 1: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case 3: return "CUBLAS_STATUS_ALLOC_FAILED";
    case 7: return "CUBLAS_STATUS_INVALID_VALUE";
    case 8: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case 11: return "CUBLAS_STATUS_MAPPING_ERROR";
    case 13: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case 14: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case 15: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case 16: return "CUBLAS_STATUS_LICENSE_ERROR";
    default: return "unknown status";
    }
}

VEST_EXPORT const char *cublasGetStatusString(int status) { return cublasGetStatusName(status); }

VEST_EXPORT int cublasAlloc(int count, int element_bytes, void **out)
{
    *out = vest_alloc(vest_device(), (uint64_t)count * (uint64_t)element_bytes);
    return *out ? SUCCESS : ALLOC_FAILED;
}

VEST_EXPORT int cublasFree(void *address) { return vest_free(address) ? SUCCESS : INVALID_VALUE; }
