/* cuSOLVER: dense factorisations do nothing and report success; their workspaces are guesses, and recorded as such.
 *
 * `info` on the device is set to 0 ("no error"), because PyTorch reads it back and raises on anything else.
 *
 * Known limitation: cuSOLVER does not document its workspace sizes. The guesses below are LAPACK's formulas for the same
 * routine with a block of 64 columns: right in order of magnitude, not to the byte.
 */
#define VEST_LIBRARY "cusolver"
#define VEST_REFUSAL 9 /* CUSOLVER_STATUS_NOT_SUPPORTED */
#include "stub.h"

#include <limits.h>
#include <stdlib.h>

#include "tables/cusolver_nothing.def"
#include "tables/cusolver_unknown.def"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID_VALUE = 3 };
enum { BLOCK = 64 };

/* The cuSOLVER that the reference torch build of each CUDA major ships. */
#if VEST_CUDA_MAJOR >= 13
static const int VERSION[3] = {12, 0, 4};
#else
static const int VERSION[3] = {11, 7, 3};
#endif

struct handle {
    void *stream;
    int deterministic, math_mode, emulation_strategy;
};

static int create(void **out, size_t bytes)
{
    if (!out)
        return INVALID_VALUE;
    *out = calloc(1, bytes);
    return *out ? SUCCESS : ALLOC_FAILED;
}

static int destroy(void *object)
{
    free(object);
    return SUCCESS;
}

#define OBJECT(creator, destroyer)                                                                                     \
    VEST_EXPORT int creator(void **out) { return create(out, sizeof(struct handle)); }                                 \
    VEST_EXPORT int destroyer(void *object) { return destroy(object); }

OBJECT(cusolverDnCreate, cusolverDnDestroy)
OBJECT(cusolverSpCreate, cusolverSpDestroy)
OBJECT(cusolverDnCreateParams, cusolverDnDestroyParams)
OBJECT(cusolverDnCreateSyevjInfo, cusolverDnDestroySyevjInfo)
OBJECT(cusolverDnCreateGesvdjInfo, cusolverDnDestroyGesvdjInfo)

#define SETTING(setter, getter, type, field)                                                                           \
    VEST_EXPORT int setter(struct handle *handle, type value)                                                          \
    {                                                                                                                  \
        if (!handle)                                                                                                   \
            return NOT_INITIALIZED;                                                                                    \
        handle->field = value;                                                                                         \
        return SUCCESS;                                                                                                \
    }                                                                                                                  \
    VEST_EXPORT int getter(struct handle *handle, type *value)                                                         \
    {                                                                                                                  \
        if (!handle)                                                                                                   \
            return NOT_INITIALIZED;                                                                                    \
        *value = handle->field;                                                                                        \
        return SUCCESS;                                                                                                \
    }

SETTING(cusolverDnSetStream, cusolverDnGetStream, void *, stream)
SETTING(cusolverSpSetStream, cusolverSpGetStream, void *, stream)
SETTING(cusolverDnSetDeterministicMode, cusolverDnGetDeterministicMode, int, deterministic)
SETTING(cusolverDnSetMathMode, cusolverDnGetMathMode, int, math_mode)
SETTING(cusolverDnSetEmulationStrategy, cusolverDnGetEmulationStrategy, int, emulation_strategy)

VEST_EXPORT int cusolverGetVersion(int *version)
{
    *version = VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2];
    return SUCCESS;
}

VEST_EXPORT int cusolverGetProperty(int which, int *value)
{
    if (which < 0 || which > 2 || !value)
        return INVALID_VALUE;
    *value = VERSION[which];
    return SUCCESS;
}

static int no_errors(int *info, int64_t count)
{
    static const int zero = 0;
    if (info && count > 0)
        vest_fill(info, &zero, sizeof zero, (size_t)count);
    return SUCCESS;
}

/* How many elements a routine's workspace holds. Doubles, so that a large problem cannot overflow on the way. */
static double low(double a, double b) { return a < b ? a : b; }
static double high(double a, double b) { return a > b ? a : b; }
static double factor_elements(double m, double n) { return high(m, n) * BLOCK; }
static double eigen_elements(double n) { return 2 * n * n + 6 * n + 1; }
static double jacobi_elements(double n, double batch) { return batch * (n * n + 2 * n); }
static double svd_elements(double m, double n) { return high(3 * low(m, n) + high(m, n), 5 * low(m, n)) + (m + n) * BLOCK; }
static double jacobi_svd_elements(double m, double n, double batch)
{
    return batch * (m * n + low(m, n) * low(m, n) + m + n);
}

static int guess(const char *name, double elements, int *count)
{
    if (!count)
        return INVALID_VALUE;
    vest_log_unmodelled(VEST_LIBRARY, name, "guessed");
    *count = elements < 1 ? 1 : elements > INT_MAX ? INT_MAX : (int)elements;
    return SUCCESS;
}

/* The generic interface counts bytes, and asks for host memory apart: none is needed. */
static int guess_bytes(const char *name, double elements, int data_type, size_t *on_device, size_t *on_host)
{
    if (!on_device || !on_host)
        return INVALID_VALUE;
    vest_log_unmodelled(VEST_LIBRARY, name, "guessed");
    const double bytes = data_type == 0 ? 4 : data_type == 5 ? 16 : 8; /* CUDA_R_32F, CUDA_C_64F, CUDA_R_64F or C_32F */
    *on_device = (size_t)((elements < 1 ? 1 : elements) * bytes);
    *on_host = 0;
    return SUCCESS;
}

#define IGNORE_MATRIX (void)handle, (void)a, (void)lda

#define LINEAR(T, org, orm)                                                                                            \
    VEST_EXPORT int cusolverDn##T##potrf_bufferSize(void *handle, int uplo, int n, void *a, int lda, int *count)       \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)uplo;                                                                                     \
        return guess(__func__, factor_elements(n, n), count);                                                          \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##potrf(void *handle, int uplo, int n, void *a, int lda, void *work, int count,       \
                                         int *info)                                                                    \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)uplo, (void)n, (void)work, (void)count;                                                   \
        return no_errors(info, 1);                                                                                     \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##potrs(void *handle, int uplo, int n, int nrhs, const void *a, int lda, void *b,     \
                                         int ldb, int *info)                                                           \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)uplo, (void)n, (void)nrhs, (void)b, (void)ldb;                                            \
        return no_errors(info, 1);                                                                                     \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##potrfBatched(void *handle, int uplo, int n, void *a, int lda, int *info, int batch) \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)uplo, (void)n;                                                                            \
        return no_errors(info, batch);                                                                                 \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##potrsBatched(void *handle, int uplo, int n, int nrhs, void *a, int lda, void *b,    \
                                                int ldb, int *info, int batch)                                         \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)uplo, (void)n, (void)nrhs, (void)b, (void)ldb, (void)batch;                               \
        return no_errors(info, 1); /* one int: cuSOLVER reports argument errors only */                                \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##getrf_bufferSize(void *handle, int m, int n, void *a, int lda, int *count)          \
    {                                                                                                                  \
        IGNORE_MATRIX;                                                                                                 \
        return guess(__func__, factor_elements(m, n), count);                                                          \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##getrf(void *handle, int m, int n, void *a, int lda, void *work, int *pivots,        \
                                         int *info)                                                                    \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)m, (void)n, (void)work, (void)pivots;                                                     \
        return no_errors(info, 1);                                                                                     \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##getrs(void *handle, int trans, int n, int nrhs, const void *a, int lda,             \
                                         const int *pivots, void *b, int ldb, int *info)                               \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)trans, (void)n, (void)nrhs, (void)pivots, (void)b, (void)ldb;                             \
        return no_errors(info, 1);                                                                                     \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##sytrf_bufferSize(void *handle, int n, void *a, int lda, int *count)                 \
    {                                                                                                                  \
        IGNORE_MATRIX;                                                                                                 \
        return guess(__func__, factor_elements(n, n), count);                                                          \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##sytrf(void *handle, int uplo, int n, void *a, int lda, int *pivots, void *work,     \
                                         int count, int *info)                                                         \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)uplo, (void)n, (void)pivots, (void)work, (void)count;                                     \
        return no_errors(info, 1);                                                                                     \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##geqrf_bufferSize(void *handle, int m, int n, void *a, int lda, int *count)          \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)m;                                                                                        \
        return guess(__func__, factor_elements(0, n), count);                                                          \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##geqrf(void *handle, int m, int n, void *a, int lda, void *tau, void *work,          \
                                         int count, int *info)                                                         \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)m, (void)n, (void)tau, (void)work, (void)count;                                           \
        return no_errors(info, 1);                                                                                     \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##org##_bufferSize(void *handle, int m, int n, int k, const void *a, int lda,         \
                                                    const void *tau, int *count)                                       \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)m, (void)k, (void)tau;                                                                    \
        return guess(__func__, factor_elements(0, n), count);                                                          \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##org(void *handle, int m, int n, int k, void *a, int lda, const void *tau,           \
                                       void *work, int count, int *info)                                               \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)m, (void)n, (void)k, (void)tau, (void)work, (void)count;                                  \
        return no_errors(info, 1);                                                                                     \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##orm##_bufferSize(void *handle, int side, int trans, int m, int n, int k,            \
                                                    const void *a, int lda, const void *tau, const void *c, int ldc,   \
                                                    int *count)                                                        \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)trans, (void)k, (void)tau, (void)c, (void)ldc;                                            \
        return guess(__func__, factor_elements(0, side ? m : n), count); /* side 0: from the left */                   \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##orm(void *handle, int side, int trans, int m, int n, int k, const void *a, int lda, \
                                       const void *tau, void *c, int ldc, void *work, int count, int *info)            \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)side, (void)trans, (void)m, (void)n, (void)k, (void)tau, (void)c, (void)ldc;              \
        (void)work, (void)count;                                                                                       \
        return no_errors(info, 1);                                                                                     \
    }

LINEAR(S, orgqr, ormqr)
LINEAR(D, orgqr, ormqr)
LINEAR(C, ungqr, unmqr)
LINEAR(Z, ungqr, unmqr)

#define EIGEN(T, ev)                                                                                                   \
    VEST_EXPORT int cusolverDn##T##ev##d_bufferSize(void *handle, int job, int uplo, int n, const void *a, int lda,    \
                                                    const void *w, int *count)                                         \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)job, (void)uplo, (void)w;                                                                 \
        return guess(__func__, eigen_elements(n), count);                                                              \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##ev##d(void *handle, int job, int uplo, int n, void *a, int lda, void *w,            \
                                         void *work, int count, int *info)                                             \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)job, (void)uplo, (void)n, (void)w, (void)work, (void)count;                               \
        return no_errors(info, 1);                                                                                     \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##ev##j_bufferSize(void *handle, int job, int uplo, int n, const void *a, int lda,    \
                                                    const void *w, int *count, void *parameters)                       \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)job, (void)uplo, (void)w, (void)parameters;                                               \
        return guess(__func__, jacobi_elements(n, 1), count);                                                          \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##ev##j(void *handle, int job, int uplo, int n, void *a, int lda, void *w,            \
                                         void *work, int count, int *info, void *parameters)                           \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)job, (void)uplo, (void)n, (void)w, (void)work, (void)count, (void)parameters;             \
        return no_errors(info, 1);                                                                                     \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##ev##jBatched_bufferSize(void *handle, int job, int uplo, int n, const void *a,      \
                                                           int lda, const void *w, int *count, void *parameters,       \
                                                           int batch)                                                  \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)job, (void)uplo, (void)w, (void)parameters;                                               \
        return guess(__func__, jacobi_elements(n, batch), count);                                                      \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##ev##jBatched(void *handle, int job, int uplo, int n, void *a, int lda, void *w,     \
                                                void *work, int count, int *info, void *parameters, int batch)         \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)job, (void)uplo, (void)n, (void)w, (void)work, (void)count, (void)parameters;             \
        return no_errors(info, batch);                                                                                 \
    }

EIGEN(S, syev)
EIGEN(D, syev)
EIGEN(C, heev)
EIGEN(Z, heev)

#define FACTORS void *s, void *u, int ldu, void *v, int ldv
#define IGNORE_FACTORS (void)s, (void)u, (void)ldu, (void)v, (void)ldv
#define STRIDED_FACTORS                                                                                                \
    const void *a, int lda, long long step_a, void *s, long long step_s, void *u, int ldu, long long step_u, void *v,  \
        int ldv, long long step_v
#define IGNORE_STRIDED_FACTORS IGNORE_FACTORS, (void)step_a, (void)step_s, (void)step_u, (void)step_v

#define SINGULAR(T)                                                                                                    \
    VEST_EXPORT int cusolverDn##T##gesvd_bufferSize(void *handle, int m, int n, int *count)                            \
    {                                                                                                                  \
        (void)handle;                                                                                                  \
        return guess(__func__, svd_elements(m, n), count);                                                             \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##gesvd(void *handle, signed char job_u, signed char job_v, int m, int n, void *a,    \
                                         int lda, FACTORS, void *work, int count, void *real_work, int *info)          \
    {                                                                                                                  \
        IGNORE_MATRIX, IGNORE_FACTORS, (void)job_u, (void)job_v, (void)m, (void)n, (void)work, (void)count;            \
        (void)real_work;                                                                                               \
        return no_errors(info, 1);                                                                                     \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##gesvdj_bufferSize(void *handle, int job, int econ, int m, int n, const void *a,     \
                                                     int lda, FACTORS, int *count, void *parameters)                   \
    {                                                                                                                  \
        IGNORE_MATRIX, IGNORE_FACTORS, (void)job, (void)econ, (void)parameters;                                        \
        return guess(__func__, jacobi_svd_elements(m, n, 1), count);                                                   \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##gesvdj(void *handle, int job, int econ, int m, int n, void *a, int lda, FACTORS,    \
                                          void *work, int count, int *info, void *parameters)                          \
    {                                                                                                                  \
        IGNORE_MATRIX, IGNORE_FACTORS, (void)job, (void)econ, (void)m, (void)n, (void)work, (void)count;               \
        (void)parameters;                                                                                              \
        return no_errors(info, 1);                                                                                     \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##gesvdjBatched_bufferSize(void *handle, int job, int m, int n, const void *a,        \
                                                            int lda, FACTORS, int *count, void *parameters, int batch) \
    {                                                                                                                  \
        IGNORE_MATRIX, IGNORE_FACTORS, (void)job, (void)parameters;                                                    \
        return guess(__func__, jacobi_svd_elements(m, n, batch), count);                                               \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##gesvdjBatched(void *handle, int job, int m, int n, void *a, int lda, FACTORS,       \
                                                 void *work, int count, int *info, void *parameters, int batch)        \
    {                                                                                                                  \
        IGNORE_MATRIX, IGNORE_FACTORS, (void)job, (void)m, (void)n, (void)work, (void)count, (void)parameters;         \
        return no_errors(info, batch);                                                                                 \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##gesvdaStridedBatched_bufferSize(void *handle, int job, int rank, int m, int n,      \
                                                                   STRIDED_FACTORS, int *count, int batch)             \
    {                                                                                                                  \
        IGNORE_MATRIX, IGNORE_STRIDED_FACTORS, (void)job, (void)rank;                                                  \
        return guess(__func__, jacobi_svd_elements(m, n, batch), count);                                               \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##gesvdaStridedBatched(void *handle, int job, int rank, int m, int n,                 \
                                                        STRIDED_FACTORS, void *work, int count, int *info,             \
                                                        double *residuals, int batch)                                  \
    {                                                                                                                  \
        IGNORE_MATRIX, IGNORE_STRIDED_FACTORS, (void)job, (void)rank, (void)m, (void)n, (void)work, (void)count;       \
        for (int i = 0; residuals && i < batch; i++) /* host memory */                                                 \
            residuals[i] = 0;                                                                                          \
        return no_errors(info, batch);                                                                                 \
    }

SINGULAR(S)
SINGULAR(D)
SINGULAR(C)
SINGULAR(Z)

/* The generic 64-bit interface. */
#define DEVICE_AND_HOST void *on_device, size_t device_bytes, void *on_host, size_t host_bytes
#define IGNORE_BUFFERS (void)on_device, (void)device_bytes, (void)on_host, (void)host_bytes

VEST_EXPORT int cusolverDnXpotrf_bufferSize(void *handle, void *parameters, int uplo, int64_t n, int type,
                                            const void *a, int64_t lda, int compute, size_t *on_device, size_t *on_host)
{
    IGNORE_MATRIX, (void)parameters, (void)uplo, (void)compute;
    return guess_bytes(__func__, factor_elements((double)n, (double)n), type, on_device, on_host);
}

VEST_EXPORT int cusolverDnXpotrf(void *handle, void *parameters, int uplo, int64_t n, int type, void *a, int64_t lda,
                                 int compute, DEVICE_AND_HOST, int *info)
{
    IGNORE_MATRIX, IGNORE_BUFFERS, (void)parameters, (void)uplo, (void)n, (void)type, (void)compute;
    return no_errors(info, 1);
}

VEST_EXPORT int cusolverDnXpotrs(void *handle, void *parameters, int uplo, int64_t n, int64_t nrhs, int type,
                                 const void *a, int64_t lda, int type_b, void *b, int64_t ldb, int *info)
{
    IGNORE_MATRIX, (void)parameters, (void)uplo, (void)n, (void)nrhs, (void)type, (void)type_b, (void)b, (void)ldb;
    return no_errors(info, 1);
}

VEST_EXPORT int cusolverDnXgeqrf_bufferSize(void *handle, void *parameters, int64_t m, int64_t n, int type,
                                            const void *a, int64_t lda, int type_tau, const void *tau, int compute,
                                            size_t *on_device, size_t *on_host)
{
    IGNORE_MATRIX, (void)parameters, (void)m, (void)type_tau, (void)tau, (void)compute;
    return guess_bytes(__func__, factor_elements(0, (double)n), type, on_device, on_host);
}

VEST_EXPORT int cusolverDnXgeqrf(void *handle, void *parameters, int64_t m, int64_t n, int type, void *a, int64_t lda,
                                 int type_tau, void *tau, int compute, DEVICE_AND_HOST, int *info)
{
    IGNORE_MATRIX, IGNORE_BUFFERS, (void)parameters, (void)m, (void)n, (void)type, (void)type_tau, (void)tau;
    (void)compute;
    return no_errors(info, 1);
}

VEST_EXPORT int cusolverDnXsytrs_bufferSize(void *handle, int uplo, int64_t n, int64_t nrhs, int type, const void *a,
                                            int64_t lda, const int64_t *pivots, int type_b, void *b, int64_t ldb,
                                            size_t *on_device, size_t *on_host)
{
    IGNORE_MATRIX, (void)uplo, (void)pivots, (void)type_b, (void)b, (void)ldb;
    return guess_bytes(__func__, (double)n * (double)nrhs, type, on_device, on_host);
}

VEST_EXPORT int cusolverDnXsytrs(void *handle, int uplo, int64_t n, int64_t nrhs, int type, const void *a, int64_t lda,
                                 const int64_t *pivots, int type_b, void *b, int64_t ldb, DEVICE_AND_HOST, int *info)
{
    IGNORE_MATRIX, IGNORE_BUFFERS, (void)uplo, (void)n, (void)nrhs, (void)type, (void)pivots, (void)type_b, (void)b;
    (void)ldb;
    return no_errors(info, 1);
}

VEST_EXPORT int cusolverDnXsyevd_bufferSize(void *handle, void *parameters, int job, int uplo, int64_t n, int type,
                                            const void *a, int64_t lda, int type_w, const void *w, int compute,
                                            size_t *on_device, size_t *on_host)
{
    IGNORE_MATRIX, (void)parameters, (void)job, (void)uplo, (void)type_w, (void)w, (void)compute;
    return guess_bytes(__func__, eigen_elements((double)n), type, on_device, on_host);
}

VEST_EXPORT int cusolverDnXsyevd(void *handle, void *parameters, int job, int uplo, int64_t n, int type, void *a,
                                 int64_t lda, int type_w, void *w, int compute, DEVICE_AND_HOST, int *info)
{
    IGNORE_MATRIX, IGNORE_BUFFERS, (void)parameters, (void)job, (void)uplo, (void)n, (void)type, (void)type_w;
    (void)w, (void)compute;
    return no_errors(info, 1);
}

VEST_EXPORT int cusolverDnXsyevBatched_bufferSize(void *handle, void *parameters, int job, int uplo, int64_t n,
                                                  int type, const void *a, int64_t lda, int type_w, const void *w,
                                                  int compute, size_t *on_device, size_t *on_host, int64_t batch)
{
    IGNORE_MATRIX, (void)parameters, (void)job, (void)uplo, (void)type_w, (void)w, (void)compute;
    return guess_bytes(__func__, jacobi_elements((double)n, (double)batch), type, on_device, on_host);
}

VEST_EXPORT int cusolverDnXsyevBatched(void *handle, void *parameters, int job, int uplo, int64_t n, int type, void *a,
                                       int64_t lda, int type_w, void *w, int compute, DEVICE_AND_HOST, int *info,
                                       int64_t batch)
{
    IGNORE_MATRIX, IGNORE_BUFFERS, (void)parameters, (void)job, (void)uplo, (void)n, (void)type, (void)type_w;
    (void)w, (void)compute;
    return no_errors(info, batch);
}

#define EIGENVECTORS(qualifier)                                                                                        \
    int type_w, qualifier void *w, int type_left, qualifier void *left, int64_t ld_left, int type_right,               \
        qualifier void *right, int64_t ld_right
#define IGNORE_EIGENVECTORS                                                                                            \
    (void)type_w, (void)w, (void)type_left, (void)left, (void)ld_left, (void)type_right, (void)right, (void)ld_right

VEST_EXPORT int cusolverDnXgeev_bufferSize(void *handle, void *parameters, int job_left, int job_right, int64_t n,
                                           int type, const void *a, int64_t lda, EIGENVECTORS(const), int compute,
                                           size_t *on_device, size_t *on_host)
{
    IGNORE_MATRIX, IGNORE_EIGENVECTORS, (void)parameters, (void)job_left, (void)job_right, (void)compute;
    return guess_bytes(__func__, eigen_elements((double)n), type, on_device, on_host);
}

VEST_EXPORT int cusolverDnXgeev(void *handle, void *parameters, int job_left, int job_right, int64_t n, int type,
                                void *a, int64_t lda, EIGENVECTORS(), int compute, DEVICE_AND_HOST, int *info)
{
    IGNORE_MATRIX, IGNORE_EIGENVECTORS, IGNORE_BUFFERS, (void)parameters, (void)job_left, (void)job_right, (void)n;
    (void)type, (void)compute;
    return no_errors(info, 1);
}
