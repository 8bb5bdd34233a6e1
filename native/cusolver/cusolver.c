/* cuSOLVER: dense factorisations do nothing and report success.
 *
 * `info` on the device is set to 0 ("no error"), because PyTorch reads it back and raises on anything else.
 *
 * cuSOLVER does not document its workspace sizes. The formulas below were read off 2,447 recorded answers
 * (CUSOLVER_WORKSPACE in facts.def; benchmarks/workspaces/score_libraries.py compares). They look like what the
 * routines are made of: a block of 32 elements is the unit, an eigenvalue problem holds the workspace of the reflectors
 * it applies, a singular value problem that of its QR factorisation.
 *
 * Known limitation: sides above 4096 were not recorded. Answers for them follow the same formulas and are recorded as
 * guesses.
 */
#define VEST_LIBRARY "cusolver"
#define VEST_REFUSAL 9 /* CUSOLVER_STATUS_NOT_SUPPORTED */
#include "facts/facts.h"
#include "stub.h"

#include <limits.h>
#include <stdlib.h>

#include "symbols/cusolver_noop.def"
#include "symbols/cusolver_unsupported.def"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID_VALUE = 3 };

#include "object.h"
enum { BLOCK = 32, LARGEST_RECORDED = 4096 };

struct handle {
    int device;
    void *stream;
    int deterministic, math_mode, emulation_strategy;
};

#define OBJECT(creator, destroyer)                                                                                     \
    VEST_EXPORT int creator(void **out) { return create(out, sizeof(struct handle)); }                                 \
    VEST_EXPORT int destroyer(void *object) { return destroy(object); }

static struct vest_library overhead = {.name = "cusolver", .handle_bytes = FACT_VALUE(CUSOLVER_HANDLE)};

VEST_EXPORT int cusolverDnCreate(struct handle **out)
{
    int device = vest_device();
    if (!out)
        return INVALID_VALUE;
    if (!vest_overhead_acquire(&overhead, device))
        return ALLOC_FAILED;
    int status = create((void **)out, sizeof **out);
    if (status == SUCCESS)
        (*out)->device = device;
    return status;
}

VEST_EXPORT int cusolverDnDestroy(struct handle *handle)
{
    if (handle)
        vest_overhead_release(&overhead, handle->device);
    return destroy(handle);
}

OBJECT(cusolverSpCreate, cusolverSpDestroy)
OBJECT(cusolverDnCreateParams, cusolverDnDestroyParams)
OBJECT(cusolverDnCreateSyevjInfo, cusolverDnDestroySyevjInfo)
OBJECT(cusolverDnCreateGesvdjInfo, cusolverDnDestroyGesvdjInfo)

SETTING(cusolverDnSetStream, cusolverDnGetStream, void *, stream)
SETTING(cusolverSpSetStream, cusolverSpGetStream, void *, stream)
SETTING(cusolverDnSetDeterministicMode, cusolverDnGetDeterministicMode, int, deterministic)
SETTING(cusolverDnSetMathMode, cusolverDnGetMathMode, int, math_mode)
SETTING(cusolverDnSetEmulationStrategy, cusolverDnGetEmulationStrategy, int, emulation_strategy)

VEST_EXPORT int cusolverGetVersion(int *version)
{
    const int *parts = vest_version(VEST_CUSOLVER, VEST_CUDA_MAJOR)->parts;
    *version = parts[0] * 1000 + parts[1] * 100 + parts[2];
    return SUCCESS;
}

VEST_EXPORT int cusolverGetProperty(int which, int *value)
{
    if (which < 0 || which > 2 || !value)
        return INVALID_VALUE;
    *value = vest_version(VEST_CUSOLVER, VEST_CUDA_MAJOR)->parts[which];
    return SUCCESS;
}

static int no_errors(int *info, int64_t count)
{
    static const int zero = 0;
    if (info && count > 0)
        vest_fill(info, &zero, sizeof zero, (size_t)count);
    return SUCCESS;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }
static int64_t blocks(int64_t n) { return (n + BLOCK - 1) / BLOCK; }
static int64_t padded(int64_t count) { return round_up(count, BLOCK); }

/* The lower triangle's tiles have a flag each. */
static int64_t potrf_bytes(bool upper, int64_t n, int64_t element)
{
    return upper ? 128 + 32 * element : round_up(4 * (32 + blocks(n) * blocks(n)), 32);
}

static int64_t next_power_of_two(int64_t n)
{
    int64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

/* Pivots by column block, then the largest of: a tree over them, flags of the tiles, a tall panel's buffers. */
static int64_t getrf_bytes(int64_t m, int64_t n, int64_t element)
{
    const int64_t columns = blocks(smaller(m, n));
    const int64_t tree = 256 * smaller(16, next_power_of_two(columns)), flags = round_up(4 * blocks(m) * blocks(n), 32);
    const int64_t panel = m > 1536 ? 8192 * element + (m + 2047) / 2048 * (256 * element + 2048) : 0;
    return 256 * (columns + 1) + larger(larger(tree, flags), panel);
}

/* Where tall panels begin was not recorded. */
static bool getrf_known(int64_t m) { return m <= 1536 || m >= 2000; }

static int64_t geqrf_elements(int64_t n) { return 1024 * (larger(n, 256) + 512); }

static int64_t sytrf_elements(int64_t n, int64_t element)
{
    const int64_t least = element == 4 ? 24608 : element == 8 ? 13328 : 11016;
    return larger(least, n * (n <= 4000 ? 64 : 128) + 64);
}

static int64_t orgqr_elements(int64_t m, int64_t n, int64_t k)
{
    k = smaller(k, 128);
    return padded(m * k) + padded(2 * larger(n * k, 8192)) + 16640;
}

static int64_t ormqr_elements(bool left, int64_t m, int64_t n, int64_t k)
{
    const int64_t longer = larger(m, n), other = longer > BLOCK ? padded(left ? n : m) : 0;
    return 65792 + 256 * m + (left ? 512 * n : 0) + padded(k * longer + k * k + other);
}

/* Divide and conquer on `batch` matrices: the larger of applying the reflectors and of merging the halves. */
static int64_t eigen_elements(int64_t n, int64_t batch)
{
    const int64_t vector = padded(batch * n);
    const int64_t apply =
        batch * (65536 + 768 * n) + padded(batch * (n - 1) * (2 * n - 1)) + (n > BLOCK ? vector : 0);
    const int64_t merge = batch * (32896 + 128 * n) + padded(batch * (n - 1) * (3 * n - 1)) + vector;
    return 32 + larger(apply, merge) + batch * (n * n + 2 * n + 3);
}

static int64_t jacobi_elements(int64_t n)
{
    const int64_t p = blocks(n);
    return n > 4000 ? 5 * n * n / 2 + 16 : n * n + n + 1024 + 4 * p * p + 1025 * p;
}

static int64_t batched_jacobi_elements(int64_t n, int64_t batch)
{
    const int64_t p = blocks(n);
    return 1024 + 4 * p * p + batch * (n * n + 2 * n + 1024 * p + 1);
}

/* Another size for n = 4096 than for 4000 and below: what lies between was not recorded. */
static bool below_4096_known(int64_t n) { return n <= 4000 || n >= 4096; }

/* A tall matrix is factorised first; a wide one is treated as square, by its columns. */
static int64_t svd_elements(int64_t m, int64_t n)
{
    const int64_t square = padded(n * n), vector = padded(n);
    if (m <= n)
        return ormqr_elements(false, n, n, n) + square + 3 * vector;
    const int64_t applied = ormqr_elements(false, m, n, n) + 2 * padded(m * n) + 2 * square + 3 * vector;
    const int64_t formed = geqrf_elements(n) + 32 + padded(m * n) + 2 * square + vector + orgqr_elements(m, m, n);
    return larger(applied, formed);
}

static int64_t jacobi_square_elements(int64_t n)
{
    const int64_t p = blocks(n);
    return padded(2 * n * n) + 1024 + 2048 * p + padded(n + 4 * p * p + p);
}

/* m > n. `full`: all m left vectors. */
static int64_t jacobi_tall_elements(bool full, int64_t m, int64_t n)
{
    const int64_t factorised = geqrf_elements(n) + 32, applied = ormqr_elements(true, m, full ? m : n, n);
    return larger(factorised, applied) + padded(n);
}

static int64_t jacobi_svd_elements(bool full, int64_t m, int64_t n)
{
    if (m == n)
        return jacobi_square_elements(n);
    if (m < n)
        return padded(m * n) + jacobi_tall_elements(full, n, m);
    return larger(jacobi_tall_elements(full, m, n), jacobi_square_elements(n) + padded(n * n));
}

/* Through the eigenvalues of A'A, in double precision always; single precision keeps a converted copy. */
static int64_t gram_svd_elements(int64_t m, int64_t n, int64_t batch, bool is_complex, bool single)
{
    const int64_t unit = is_complex ? 2 : 4, copy = round_up(batch * m * n, unit); /* 32 bytes */
    const int64_t eigen = n <= BLOCK ? batched_jacobi_elements(n, batch) : eigen_elements(n, batch);
    const int64_t values = is_complex ? round_up(batch * n, 4) / 2 : round_up(batch * n, 4);
    const int64_t work = single ? larger(eigen, copy) : eigen;
    const int64_t total = copy + round_up(batch * (n * n + 2 * n), unit) + values + work;
    return single ? 2 * total : total;
}

static int64_t geev_bytes(int64_t n, int64_t element, bool is_complex)
{
    const int64_t square = larger(n * n, orgqr_elements(n - 1, n - 1, n - 1)) + 32;
    return round_up(square * element + n * element * (is_complex ? 7 : 8) / 2, 512);
}

/* Bytes of an element by letter, and by cudaDataType: CUDA_R_32F 0, CUDA_C_64F 5, CUDA_R_64F 1 or C_32F 4. */
enum { S_BYTES = 4, D_BYTES = 8, C_BYTES = 8, Z_BYTES = 16 };
enum { S_COMPLEX = 0, D_COMPLEX = 0, C_COMPLEX = 1, Z_COMPLEX = 1 };
enum { S_SINGLE = 1, D_SINGLE = 0, C_SINGLE = 1, Z_SINGLE = 0 };
static int64_t element_bytes(int data_type) { return data_type == 0 ? 4 : data_type == 5 ? 16 : 8; }

/* The formulas are exact on all that was recorded. */
static int64_t size_or_guess(const char *name, int64_t largest_side, bool known, int64_t size)
{
    const struct vest_fact_query query = {
        .name = name,
        .version = VEST_CUDA_MAJOR,
        .unrecorded = !known || largest_side > LARGEST_RECORDED,
    };
    return (int64_t)vest_fact_size(FACT_CUSOLVER_WORKSPACE, &query, size > 0 ? (uint64_t)size : 0);
}

static int answer(const char *name, int64_t largest_side, bool known, int64_t elements, int *count)
{
    if (!count)
        return INVALID_VALUE;
    elements = size_or_guess(name, largest_side, known, elements);
    *count = elements < 1 ? 1 : elements > INT_MAX ? INT_MAX : (int)elements;
    return SUCCESS;
}

/* The generic interface counts bytes, and asks for host memory apart. */
static int answer_bytes(const char *name, int64_t largest_side, int64_t bytes, size_t *on_device, size_t *on_host)
{
    if (!on_device || !on_host)
        return INVALID_VALUE;
    *on_device = (size_t)size_or_guess(name, largest_side, true, bytes);
    *on_host = 0;
    return SUCCESS;
}

#define IGNORE_MATRIX (void)handle, (void)a, (void)lda

#define LINEAR(T, org, orm)                                                                                            \
    VEST_EXPORT int cusolverDn##T##potrf_bufferSize(void *handle, int uplo, int n, void *a, int lda, int *count)       \
    {                                                                                                                  \
        IGNORE_MATRIX;                                                                                                 \
        return answer(__func__, n, true, potrf_bytes(uplo, n, T##_BYTES) / T##_BYTES, count);                          \
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
        const int64_t bytes = getrf_bytes(m, n, T##_BYTES);                                                            \
        return answer(__func__, larger(m, n), getrf_known(m), bytes / T##_BYTES, count);                               \
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
        return answer(__func__, n, below_4096_known(n), sytrf_elements(n, T##_BYTES), count);                          \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##sytrf(void *handle, int uplo, int n, void *a, int lda, int *pivots, void *work,     \
                                         int count, int *info)                                                         \
    {                                                                                                                  \
        IGNORE_MATRIX, (void)uplo, (void)n, (void)pivots, (void)work, (void)count;                                     \
        return no_errors(info, 1);                                                                                     \
    }                                                                                                                  \
    VEST_EXPORT int cusolverDn##T##geqrf_bufferSize(void *handle, int m, int n, void *a, int lda, int *count)          \
    {                                                                                                                  \
        IGNORE_MATRIX;                                                                                                 \
        return answer(__func__, larger(m, n), true, geqrf_elements(n), count);                                         \
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
        IGNORE_MATRIX, (void)tau;                                                                                      \
        return answer(__func__, larger(m, n), true, orgqr_elements(m, n, k), count);                                   \
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
        IGNORE_MATRIX, (void)trans, (void)tau, (void)c, (void)ldc;                                                     \
        return answer(__func__, larger(m, n), true, ormqr_elements(!side, m, n, k), count); /* side 0: from the left */\
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
        return answer(__func__, n, true, eigen_elements(n, 1), count);                                                 \
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
        return answer(__func__, n, below_4096_known(n), jacobi_elements(n), count);                                    \
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
        return answer(__func__, n, true, batched_jacobi_elements(n, batch), count);                                    \
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
        return answer(__func__, larger(m, n), true, svd_elements(m, n), count);                                        \
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
        IGNORE_MATRIX, IGNORE_FACTORS, (void)job, (void)parameters;                                                    \
        return answer(__func__, larger(m, n), true, jacobi_svd_elements(!econ, m, n), count);                          \
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
        IGNORE_MATRIX, IGNORE_FACTORS, (void)job, (void)parameters, (void)batch;                                       \
        return answer(__func__, larger(m, n), true, 992, count); /* whatever the shape: at most 32 x 32 */             \
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
        IGNORE_MATRIX, IGNORE_STRIDED_FACTORS, (void)job;                                                              \
        const int64_t elements = gram_svd_elements(m, n, batch, T##_COMPLEX, T##_SINGLE);                              \
        return answer(__func__, larger(m, n), rank == smaller(m, n), elements, count);                                 \
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
    IGNORE_MATRIX, (void)parameters, (void)compute;
    return answer_bytes(__func__, n, potrf_bytes(uplo, n, element_bytes(type)), on_device, on_host);
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
    IGNORE_MATRIX, (void)parameters, (void)type_tau, (void)tau, (void)compute;
    const int64_t bytes = geqrf_elements(n) * element_bytes(type) + 128;
    return answer_bytes(__func__, larger(m, n), bytes, on_device, on_host);
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
    IGNORE_MATRIX, (void)uplo, (void)nrhs, (void)type, (void)pivots, (void)type_b, (void)b, (void)ldb;
    return answer_bytes(__func__, n, 0, on_device, on_host);
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
    const int64_t bytes = eigen_elements(n, 1) * element_bytes(type) + 128;
    return answer_bytes(__func__, n, bytes, on_device, on_host);
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
    const int64_t bytes = eigen_elements(n, batch) * element_bytes(type) + 128;
    return answer_bytes(__func__, n, bytes, on_device, on_host);
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
    IGNORE_MATRIX, IGNORE_EIGENVECTORS, (void)parameters, (void)compute;
    const int64_t element = element_bytes(type), bytes = geev_bytes(n, element, type == 4 || type == 5);
    const int status = answer_bytes(__func__, n, bytes, on_device, on_host);
    /* Part of the problem is solved on the host. That is no GPU memory: an upper bound will do. */
    if (status == SUCCESS)
        *on_host = (size_t)(((1 + !!job_left + !!job_right) * n * n + 900 * n) * element);
    return status;
}

VEST_EXPORT int cusolverDnXgeev(void *handle, void *parameters, int job_left, int job_right, int64_t n, int type,
                                void *a, int64_t lda, EIGENVECTORS(), int compute, DEVICE_AND_HOST, int *info)
{
    IGNORE_MATRIX, IGNORE_EIGENVECTORS, IGNORE_BUFFERS, (void)parameters, (void)job_left, (void)job_right, (void)n;
    (void)type, (void)compute;
    return no_errors(info, 1);
}
