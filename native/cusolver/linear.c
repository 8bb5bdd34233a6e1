/* Linear systems and orthogonal factorisations. */
#include "cusolver.h"

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
