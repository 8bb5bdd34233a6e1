/* Eigenvalues and singular values. */
#include "cusolver.h"

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
