/* cuBLAS: matrix products do nothing, handles remember what was set on them.
 *
 * Results that cuBLAS would write to host memory (dot products, norms, indices) are zeros: the values were never
 * computed. What happens to device memory is left undone. Signatures are written with void pointers where the type says
 * nothing.
 */
#define VEST_LIBRARY "cublas"
#define VEST_REFUSAL 15 /* CUBLAS_STATUS_NOT_SUPPORTED */
#include "facts/facts.h"
#include "stub.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/cublas_noop.def"
#include "symbols/cublas_unsupported.def"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7 };

#include "object.h"

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
    const int *parts = vest_version(VEST_CUBLAS, VEST_CUDA_MAJOR)->parts;
    *version = parts[0] * 10000 + parts[1] * 100 + parts[2];
    return SUCCESS;
}

VEST_EXPORT int cublasGetVersion(int *version) { return cublasGetVersion_v2(NULL, version); }

VEST_EXPORT size_t cublasGetCudartVersion(void)
{
    const int *parts = vest_version(VEST_CUDART, VEST_CUDA_MAJOR)->parts;
    return (size_t)(parts[0] * 1000 + parts[1] * 10);
}

VEST_EXPORT int cublasGetProperty(int which, int *value)
{
    if (which < 0 || which > 2 || !value)
        return INVALID_VALUE;
    *value = vest_version(VEST_CUBLAS, VEST_CUDA_MAJOR)->parts[which];
    return SUCCESS;
}

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

/* Copies between host and device, column by column. A vector with a stride is a matrix with one row. */
static int copy_columns(int64_t rows, int64_t cols, int64_t element, const char *from, int64_t from_ld, char *to,
                        int64_t to_ld)
{
    if (rows < 0 || cols < 0 || element <= 0 || from_ld <= 0 || to_ld <= 0)
        return INVALID_VALUE;
    if (from_ld == rows && to_ld == rows) {
        vest_copy(to, from, (size_t)(rows * cols * element));
        return SUCCESS;
    }
    for (int64_t column = 0; column < cols; column++)
        vest_copy(to + column * to_ld * element, from + column * from_ld * element, (size_t)(rows * element));
    return SUCCESS;
}

#define COPIES(verb, suffix, integer)                                                                                  \
    VEST_EXPORT int cublas##verb##Matrix##suffix(integer rows, integer cols, integer element, const void *from,        \
                                                 integer from_ld, void *to, integer to_ld)                             \
    {                                                                                                                  \
        return copy_columns(rows, cols, element, from, from_ld, to, to_ld);                                            \
    }                                                                                                                  \
    VEST_EXPORT int cublas##verb##Vector##suffix(integer count, integer element, const void *from, integer from_step,  \
                                                 void *to, integer to_step)                                            \
    {                                                                                                                  \
        return copy_columns(1, count, element, from, from_step, to, to_step);                                          \
    }

COPIES(Set, , int)
COPIES(Get, , int)
COPIES(Set, _64, int64_t)
COPIES(Get, _64, int64_t)
COPIES(Set, Async, int) /* the trailing stream is not needed: copies are done at once */
COPIES(Get, Async, int)
COPIES(Set, Async_64, int64_t)
COPIES(Get, Async_64, int64_t)

static int zero_on_host(void *result, size_t bytes)
{
    if (result && !vest_is_device(result))
        memset(result, 0, bytes);
    return SUCCESS;
}

/* Reductions to one value: dot(x, y) has the result in seventh place, the others in fifth. */
#define RESULT7(name, integer, bytes)                                                                                  \
    VEST_EXPORT int name(void *handle, integer n, const void *x, integer x_step, const void *y, integer y_step,        \
                         void *result)                                                                                 \
    {                                                                                                                  \
        (void)handle, (void)n, (void)x, (void)x_step, (void)y, (void)y_step;                                           \
        return zero_on_host(result, bytes);                                                                            \
    }
#define RESULT5(name, integer, bytes)                                                                                  \
    VEST_EXPORT int name(void *handle, integer n, const void *x, integer x_step, void *result)                         \
    {                                                                                                                  \
        (void)handle, (void)n, (void)x, (void)x_step;                                                                  \
        return zero_on_host(result, bytes);                                                                            \
    }
#define BOTH(shape, name, bytes) shape(name##_v2, int, bytes) shape(name##_v2_64, int64_t, bytes)
#define INDEX(name) RESULT5(name##_v2, int, 4) RESULT5(name##_v2_64, int64_t, 8)

BOTH(RESULT7, cublasSdot, 4)
BOTH(RESULT7, cublasDdot, 8)
BOTH(RESULT7, cublasCdotu, 8)
BOTH(RESULT7, cublasCdotc, 8)
BOTH(RESULT7, cublasZdotu, 16)
BOTH(RESULT7, cublasZdotc, 16)
BOTH(RESULT5, cublasSnrm2, 4)
BOTH(RESULT5, cublasDnrm2, 8)
BOTH(RESULT5, cublasScnrm2, 4)
BOTH(RESULT5, cublasDznrm2, 8)
BOTH(RESULT5, cublasSasum, 4)
BOTH(RESULT5, cublasDasum, 8)
BOTH(RESULT5, cublasScasum, 4)
BOTH(RESULT5, cublasDzasum, 8)
INDEX(cublasIsamax)
INDEX(cublasIdamax)
INDEX(cublasIcamax)
INDEX(cublasIzamax)
INDEX(cublasIsamin)
INDEX(cublasIdamin)
INDEX(cublasIcamin)
INDEX(cublasIzamin)

/* cudaDataType: only those a scalar result can have. */
static size_t type_bytes(int type)
{
    switch (type) {
    case 1: return 8;           /* CUDA_R_64F */
    case 5: return 16;          /* CUDA_C_64F */
    case 4: return 8;           /* CUDA_C_32F */
    case 2: case 14: return 2;  /* CUDA_R_16F, CUDA_R_16BF */
    default: return 4;          /* CUDA_R_32F, CUDA_C_16F, CUDA_C_16BF */
    }
}

#define DOT_EX(name, integer)                                                                                          \
    VEST_EXPORT int name(void *handle, integer n, const void *x, int x_type, integer x_step, const void *y,            \
                         int y_type, integer y_step, void *result, int result_type)                                    \
    {                                                                                                                  \
        (void)handle, (void)n, (void)x, (void)x_type, (void)x_step, (void)y, (void)y_type, (void)y_step;               \
        return zero_on_host(result, type_bytes(result_type));                                                          \
    }
#define NORM_EX(name, integer)                                                                                         \
    VEST_EXPORT int name(void *handle, integer n, const void *x, int x_type, integer x_step, void *result,             \
                         int result_type)                                                                              \
    {                                                                                                                  \
        (void)handle, (void)n, (void)x, (void)x_type, (void)x_step;                                                    \
        return zero_on_host(result, type_bytes(result_type));                                                          \
    }
#define INDEX_EX(name, integer)                                                                                        \
    VEST_EXPORT int name(void *handle, integer n, const void *x, int x_type, integer x_step, integer *result)          \
    {                                                                                                                  \
        (void)handle, (void)n, (void)x, (void)x_type, (void)x_step;                                                    \
        return zero_on_host(result, sizeof *result);                                                                   \
    }

DOT_EX(cublasDotEx, int)
DOT_EX(cublasDotEx_64, int64_t)
DOT_EX(cublasDotcEx, int)
DOT_EX(cublasDotcEx_64, int64_t)
NORM_EX(cublasNrm2Ex, int)
NORM_EX(cublasNrm2Ex_64, int64_t)
NORM_EX(cublasAsumEx, int)
NORM_EX(cublasAsumEx_64, int64_t)
INDEX_EX(cublasIamaxEx, int)
INDEX_EX(cublasIamaxEx_64, int64_t)
INDEX_EX(cublasIaminEx, int)
INDEX_EX(cublasIaminEx_64, int64_t)

/* Givens rotations: a and b are inputs too and stay; the rotation (c, s) or its parameters become zeros. */
#define ROTG(name, c_bytes, s_bytes)                                                                                   \
    VEST_EXPORT int name(void *handle, void *a, void *b, void *c, void *s)                                             \
    {                                                                                                                  \
        (void)handle, (void)a, (void)b;                                                                                \
        zero_on_host(c, c_bytes);                                                                                      \
        return zero_on_host(s, s_bytes);                                                                               \
    }
#define ROTMG(name, bytes)                                                                                             \
    VEST_EXPORT int name(void *handle, void *d1, void *d2, void *x1, const void *y1, void *parameters)                 \
    {                                                                                                                  \
        (void)handle, (void)d1, (void)d2, (void)x1, (void)y1;                                                          \
        return zero_on_host(parameters, bytes);                                                                        \
    }

ROTG(cublasSrotg_v2, 4, 4)
ROTG(cublasDrotg_v2, 8, 8)
ROTG(cublasCrotg_v2, 4, 8)
ROTG(cublasZrotg_v2, 8, 16)
ROTMG(cublasSrotmg_v2, 5 * 4)
ROTMG(cublasDrotmg_v2, 5 * 8)

/* Batched factorisations. `info` of LU and the inverses is an array on the device, one int a matrix, and says "no
 * error"; the others report argument errors through one int on the host. */
static int no_error(int *info, int count)
{
    static const int zero = 0;
    if (info && count > 0)
        vest_fill(info, &zero, sizeof zero, (size_t)count);
    return SUCCESS;
}

#define BATCHED(letter)                                                                                                \
    VEST_EXPORT int cublas##letter##getrfBatched(void *handle, int n, void *a, int lda, int *pivots, int *info,        \
                                                 int batch)                                                            \
    {                                                                                                                  \
        (void)handle, (void)n, (void)a, (void)lda, (void)pivots;                                                       \
        return no_error(info, batch);                                                                                  \
    }                                                                                                                  \
    VEST_EXPORT int cublas##letter##getriBatched(void *handle, int n, const void *a, int lda, const int *pivots,       \
                                                 void *c, int ldc, int *info, int batch)                               \
    {                                                                                                                  \
        (void)handle, (void)n, (void)a, (void)lda, (void)pivots, (void)c, (void)ldc;                                   \
        return no_error(info, batch);                                                                                  \
    }                                                                                                                  \
    VEST_EXPORT int cublas##letter##matinvBatched(void *handle, int n, const void *a, int lda, void *inverse,          \
                                                  int ld_inverse, int *info, int batch)                                \
    {                                                                                                                  \
        (void)handle, (void)n, (void)a, (void)lda, (void)inverse, (void)ld_inverse;                                    \
        return no_error(info, batch);                                                                                  \
    }                                                                                                                  \
    VEST_EXPORT int cublas##letter##getrsBatched(void *handle, int trans, int n, int nrhs, const void *a, int lda,     \
                                                 const int *pivots, void *b, int ldb, int *info, int batch)            \
    {                                                                                                                  \
        (void)handle, (void)trans, (void)n, (void)nrhs, (void)a, (void)lda, (void)pivots, (void)b, (void)ldb;          \
        (void)batch;                                                                                                   \
        return zero_on_host(info, sizeof *info);                                                                       \
    }                                                                                                                  \
    VEST_EXPORT int cublas##letter##geqrfBatched(void *handle, int m, int n, void *a, int lda, void *tau, int *info,   \
                                                 int batch)                                                            \
    {                                                                                                                  \
        (void)handle, (void)m, (void)n, (void)a, (void)lda, (void)tau, (void)batch;                                    \
        return zero_on_host(info, sizeof *info);                                                                       \
    }                                                                                                                  \
    VEST_EXPORT int cublas##letter##gelsBatched(void *handle, int trans, int m, int n, int nrhs, void *a, int lda,     \
                                                void *c, int ldc, int *info, int *device_info, int batch)              \
    {                                                                                                                  \
        (void)handle, (void)trans, (void)m, (void)n, (void)nrhs, (void)a, (void)lda, (void)c, (void)ldc;               \
        no_error(device_info, batch);                                                                                  \
        return zero_on_host(info, sizeof *info);                                                                       \
    }

BATCHED(S)
BATCHED(D)
BATCHED(C)
BATCHED(Z)
