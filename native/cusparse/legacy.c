/* The older interface: block matrices, sums, sorts. */
#include "cusparse.h"

#include <limits.h>

/* -1: no zero on the diagonal. In host pointer mode the answer is host memory; elsewhere it is left alone. */
static int no_zero_pivot(int *position)
{
    if (position && !vest_is_device(position))
        *position = -1;
    return SUCCESS;
}

VEST_EXPORT int cusparseXbsrsv2_zeroPivot(void *handle, void *info, int *position)
{
    (void)handle, (void)info;
    return no_zero_pivot(position);
}

VEST_EXPORT int cusparseXbsrsm2_zeroPivot(void *handle, void *info, int *position)
{
    (void)handle, (void)info;
    return no_zero_pivot(position);
}

static int guess_int(const char *name, int64_t bytes, int *out)
{
    size_t wide = 0;
    int status = guess(name, bytes, &wide);
    if (out)
        *out = wide > INT_MAX ? INT_MAX : (int)wide;
    return status;
}

#define LEGACY_SIZES(T)                                                                                                \
    VEST_EXPORT int cusparse##T##bsrsv2_bufferSize(void *handle, int direction, int op, int rows, int blocks,          \
                                                   const void *matrix, void *values, const int *offsets,               \
                                                   const int *indices, int block, void *info, int *bytes)              \
    {                                                                                                                  \
        (void)handle, (void)direction, (void)op, (void)matrix, (void)values, (void)offsets, (void)indices, (void)info; \
        return guess_int(__func__, 2 * INDEX_BYTES * (int64_t)rows * block + INDEX_BYTES * (int64_t)blocks, bytes);    \
    }                                                                                                                  \
    VEST_EXPORT int cusparse##T##bsrsm2_bufferSize(void *handle, int direction, int op_a, int op_x, int rows,          \
                                                   int columns, int blocks, const void *matrix, void *values,          \
                                                   const int *offsets, const int *indices, int block, void *info,      \
                                                   int *bytes)                                                         \
    {                                                                                                                  \
        (void)handle, (void)direction, (void)op_a, (void)op_x, (void)columns, (void)matrix, (void)values;              \
        (void)offsets, (void)indices, (void)info;                                                                      \
        return guess_int(__func__, 2 * INDEX_BYTES * (int64_t)rows * block + INDEX_BYTES * (int64_t)blocks, bytes);    \
    }                                                                                                                  \
    VEST_EXPORT int cusparse##T##csrgeam2_bufferSizeExt(                                                               \
        void *handle, int rows, int cols, const void *alpha, const void *a, int entries_a, const void *values_a,       \
        const int *offsets_a, const int *indices_a, const void *beta, const void *b, int entries_b,                    \
        const void *values_b, const int *offsets_b, const int *indices_b, const void *c, const void *values_c,         \
        const int *offsets_c, const int *indices_c, size_t *bytes)                                                     \
    {                                                                                                                  \
        (void)handle, (void)cols, (void)alpha, (void)a, (void)entries_a, (void)values_a, (void)offsets_a;              \
        (void)indices_a, (void)beta, (void)b, (void)entries_b, (void)values_b, (void)offsets_b, (void)indices_b;       \
        (void)c, (void)values_c, (void)offsets_c, (void)indices_c;                                                     \
        return guess(__func__, INDEX_BYTES * ((int64_t)rows + 1), bytes);                                              \
    }

LEGACY_SIZES(S)
LEGACY_SIZES(D)
LEGACY_SIZES(C)
LEGACY_SIZES(Z)

/* The sum of two sparse matrices has at most the entries of both. */
VEST_EXPORT int cusparseXcsrgeam2Nnz(void *handle, int rows, int cols, const void *a, int entries_a,
                                     const int *offsets_a, const int *indices_a, const void *b, int entries_b,
                                     const int *offsets_b, const int *indices_b, const void *c, int *offsets_c,
                                     int *total, void *buffer)
{
    (void)handle, (void)rows, (void)cols, (void)a, (void)offsets_a, (void)indices_a, (void)b, (void)offsets_b;
    (void)indices_b, (void)c, (void)offsets_c, (void)buffer;
    vest_log_unmodelled(VEST_LIBRARY, __func__, "guessed");
    if (total && !vest_is_device(total))
        *total = entries_a + entries_b;
    return SUCCESS;
}

/* A sort keeps second copies of its arrays, each on 128 bytes, and a little more as it grows. */
static int64_t sort_bytes(int64_t arrays, int64_t entries)
{
    return arrays * round_up(INDEX_BYTES * entries, 128) + 896 + round_up(entries / 128, 128);
}

VEST_EXPORT int cusparseXcoosort_bufferSizeExt(void *handle, int rows, int cols, int entries, const int *row_indices,
                                               const int *col_indices, size_t *bytes)
{
    (void)handle, (void)rows, (void)cols, (void)row_indices, (void)col_indices;
    return guess(__func__, sort_bytes(4, entries), bytes);
}

VEST_EXPORT int cusparseXcsrsort_bufferSizeExt(void *handle, int rows, int cols, int entries, const int *offsets,
                                               const int *indices, size_t *bytes)
{
    (void)handle, (void)rows, (void)cols, (void)offsets, (void)indices;
    return guess(__func__, sort_bytes(5, entries), bytes);
}
