/* Batched factorisations. */
#include "cublas.h"

/* `info` of LU and the inverses is an array on the device, one int per matrix, and says "no
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
