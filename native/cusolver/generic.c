/* The generic 64-bit interface. */
#include "cusolver.h"

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
