/* cuSPARSE: descriptors remember shapes; sparse products do nothing.
 *
 * Known limitation: buffer sizes are guesses, and recorded as such: the pointers, permutations or row schedules that the
 * algorithm must at least hold. How many entries a sparse sum or product has depends on values, so the answer is the
 * expected number for entries spread evenly, also recorded.
 */
#define VEST_LIBRARY "cusparse"
#define VEST_REFUSAL 10 /* CUSPARSE_STATUS_NOT_SUPPORTED */
#include "stub.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tables/cusparse_nothing.def"
#include "tables/cusparse_unknown.def"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID_VALUE = 3 };
enum { INDEX_BYTES = 4, VALUE_BYTES = 8 };

/* The cuSPARSE that the reference torch build of each CUDA major ships. */
#if VEST_CUDA_MAJOR >= 13
static const int VERSION[3] = {12, 6, 3};
#else
static const int VERSION[3] = {12, 5, 8};
#endif

struct handle {
    void *stream;
    int pointer_mode;
};

struct legacy_matrix {
    int type, fill_mode, diagonal, index_base;
};

/* Any matrix or vector of the generic interface. */
struct matrix {
    int64_t rows, cols, entries;
    void *values;
    int batch, fill_mode, diagonal;
    int64_t batch_stride;
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

#define OBJECT(creator, destroyer, type)                                                                               \
    VEST_EXPORT int creator(void **out) { return create(out, sizeof(type)); }                                          \
    VEST_EXPORT int destroyer(void *object) { return destroy(object); }

OBJECT(cusparseCreate, cusparseDestroy, struct handle)
OBJECT(cusparseCreateMatDescr, cusparseDestroyMatDescr, struct legacy_matrix)
OBJECT(cusparseCreateBsrsv2Info, cusparseDestroyBsrsv2Info, int)
OBJECT(cusparseCreateBsrsm2Info, cusparseDestroyBsrsm2Info, int)
OBJECT(cusparseSpSV_createDescr, cusparseSpSV_destroyDescr, int)
OBJECT(cusparseSpSM_createDescr, cusparseSpSM_destroyDescr, int)
OBJECT(cusparseSpGEMM_createDescr, cusparseSpGEMM_destroyDescr, int)

VEST_EXPORT int cusparseSetStream(struct handle *handle, void *stream)
{
    if (!handle)
        return NOT_INITIALIZED;
    handle->stream = stream;
    return SUCCESS;
}

VEST_EXPORT int cusparseGetStream(struct handle *handle, void **stream)
{
    if (!handle)
        return NOT_INITIALIZED;
    *stream = handle->stream;
    return SUCCESS;
}

VEST_EXPORT int cusparseSetPointerMode(struct handle *handle, int mode)
{
    if (!handle)
        return NOT_INITIALIZED;
    handle->pointer_mode = mode;
    return SUCCESS;
}

VEST_EXPORT int cusparseGetPointerMode(struct handle *handle, int *mode)
{
    if (!handle)
        return NOT_INITIALIZED;
    *mode = handle->pointer_mode;
    return SUCCESS;
}

VEST_EXPORT int cusparseGetVersion(struct handle *handle, int *version)
{
    (void)handle;
    *version = VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2];
    return SUCCESS;
}

VEST_EXPORT int cusparseGetProperty(int which, int *value)
{
    if (which < 0 || which > 2 || !value)
        return INVALID_VALUE;
    *value = VERSION[which];
    return SUCCESS;
}

VEST_EXPORT const char *cusparseGetErrorName(int status)
{
    switch (status) {
    case 0: return "CUSPARSE_STATUS_SUCCESS";
    case 1: return "CUSPARSE_STATUS_NOT_INITIALIZED";
    case 2: return "CUSPARSE_STATUS_ALLOC_FAILED";
    case 3: return "CUSPARSE_STATUS_INVALID_VALUE";
    case 10: return "CUSPARSE_STATUS_NOT_SUPPORTED";
    default: return "unknown status";
    }
}

VEST_EXPORT const char *cusparseGetErrorString(int status) { return cusparseGetErrorName(status); }

/* The getters return the value itself, not a status. */
#define LEGACY_SETTING(what, field)                                                                                    \
    VEST_EXPORT int cusparseSetMat##what(struct legacy_matrix *matrix, int value)                                      \
    {                                                                                                                  \
        matrix->field = value;                                                                                         \
        return SUCCESS;                                                                                                \
    }                                                                                                                  \
    VEST_EXPORT int cusparseGetMat##what(const struct legacy_matrix *matrix) { return matrix->field; }

LEGACY_SETTING(Type, type)
LEGACY_SETTING(FillMode, fill_mode)
LEGACY_SETTING(DiagType, diagonal)
LEGACY_SETTING(IndexBase, index_base)

static int describe(struct matrix **out, int64_t rows, int64_t cols, int64_t entries, void *values)
{
    void *object;
    int status = create(&object, sizeof **out);
    if (status)
        return status;
    *out = object;
    **out = (struct matrix){.rows = rows, .cols = cols, .entries = entries, .values = values, .batch = 1};
    return SUCCESS;
}

/* The trailing index types, bases and value types are not read. */
#define COMPRESSED(name)                                                                                               \
    VEST_EXPORT int name(struct matrix **out, int64_t rows, int64_t cols, int64_t entries, void *offsets,              \
                         void *indices, void *values)                                                                  \
    {                                                                                                                  \
        (void)offsets, (void)indices;                                                                                  \
        return describe(out, rows, cols, entries, values);                                                             \
    }
#define DENSE(name)                                                                                                    \
    VEST_EXPORT int name(struct matrix **out, int64_t rows, int64_t cols, int64_t ld, void *values)                    \
    {                                                                                                                  \
        (void)ld;                                                                                                      \
        return describe(out, rows, cols, rows * cols, values);                                                         \
    }
#define VECTOR(name)                                                                                                   \
    VEST_EXPORT int name(struct matrix **out, int64_t size, void *values) { return describe(out, size, 1, size, values); }

COMPRESSED(cusparseCreateCsr)
COMPRESSED(cusparseCreateCsc)
COMPRESSED(cusparseCreateCoo)
COMPRESSED(cusparseCreateConstCsr)
COMPRESSED(cusparseCreateConstCsc)
COMPRESSED(cusparseCreateConstCoo)
DENSE(cusparseCreateDnMat)
DENSE(cusparseCreateConstDnMat)
VECTOR(cusparseCreateDnVec)
VECTOR(cusparseCreateConstDnVec)

VEST_EXPORT int cusparseDestroySpMat(struct matrix *matrix) { return destroy(matrix); }
VEST_EXPORT int cusparseDestroyDnMat(struct matrix *matrix) { return destroy(matrix); }
VEST_EXPORT int cusparseDestroyDnVec(struct matrix *matrix) { return destroy(matrix); }

VEST_EXPORT int cusparseSpMatGetSize(const struct matrix *matrix, int64_t *rows, int64_t *cols, int64_t *entries)
{
    *rows = matrix->rows;
    *cols = matrix->cols;
    *entries = matrix->entries;
    return SUCCESS;
}

static int set_values(struct matrix *matrix, void *values)
{
    matrix->values = values;
    return SUCCESS;
}

static int get_values(const struct matrix *matrix, void **values)
{
    *values = matrix->values;
    return SUCCESS;
}

#define VALUES(kind)                                                                                                   \
    VEST_EXPORT int cusparse##kind##SetValues(struct matrix *matrix, void *values)                                     \
    {                                                                                                                  \
        return set_values(matrix, values);                                                                             \
    }                                                                                                                  \
    VEST_EXPORT int cusparse##kind##GetValues(struct matrix *matrix, void **values)                                    \
    {                                                                                                                  \
        return get_values(matrix, values);                                                                             \
    }                                                                                                                  \
    VEST_EXPORT int cusparseConst##kind##GetValues(struct matrix *matrix, void **values)                               \
    {                                                                                                                  \
        return get_values(matrix, values);                                                                             \
    }

VALUES(SpMat)
VALUES(DnMat)
VALUES(DnVec)

VEST_EXPORT int cusparseCsrSetPointers(struct matrix *matrix, void *offsets, void *indices, void *values)
{
    (void)offsets, (void)indices;
    return set_values(matrix, values);
}

VEST_EXPORT int cusparseCsrSetStridedBatch(struct matrix *matrix, int batch, int64_t offsets_stride, int64_t stride)
{
    (void)offsets_stride;
    matrix->batch = batch;
    matrix->batch_stride = stride;
    return SUCCESS;
}

VEST_EXPORT int cusparseDnMatSetStridedBatch(struct matrix *matrix, int batch, int64_t stride)
{
    matrix->batch = batch;
    matrix->batch_stride = stride;
    return SUCCESS;
}

VEST_EXPORT int cusparseDnMatGetStridedBatch(const struct matrix *matrix, int *batch, int64_t *stride)
{
    *batch = matrix->batch;
    *stride = matrix->batch_stride;
    return SUCCESS;
}

VEST_EXPORT int cusparseSpMatGetStridedBatch(const struct matrix *matrix, int *batch)
{
    *batch = matrix->batch;
    return SUCCESS;
}

/* cusparseSpMatAttribute_t: 0 fill mode, 1 diagonal; both are 32-bit. */
static int *attribute(struct matrix *matrix, int id)
{
    return id == 0 ? &matrix->fill_mode : id == 1 ? &matrix->diagonal : NULL;
}

VEST_EXPORT int cusparseSpMatSetAttribute(struct matrix *matrix, int id, const void *value, size_t bytes)
{
    int *field = attribute(matrix, id);
    if (!field || bytes != sizeof *field)
        return INVALID_VALUE;
    memcpy(field, value, bytes);
    return SUCCESS;
}

VEST_EXPORT int cusparseSpMatGetAttribute(struct matrix *matrix, int id, void *value, size_t bytes)
{
    int *field = attribute(matrix, id);
    if (!field || bytes != sizeof *field)
        return INVALID_VALUE;
    memcpy(value, field, bytes);
    return SUCCESS;
}

static int guess(const char *name, int64_t bytes, size_t *out)
{
    if (!out)
        return INVALID_VALUE;
    vest_log_unmodelled(VEST_LIBRARY, name, "guessed");
    *out = bytes > 0 ? (size_t)bytes : 0;
    return SUCCESS;
}

static int64_t row_schedule(const struct matrix *matrix) { return INDEX_BYTES * (matrix->rows + 1) * matrix->batch; }

/* A triangular solve keeps a level for every row and a reordered copy of the entries. */
static int64_t solve_schedule(const struct matrix *matrix)
{
    return 2 * INDEX_BYTES * matrix->rows + (INDEX_BYTES + VALUE_BYTES) * matrix->entries;
}

VEST_EXPORT int cusparseSpMV_bufferSize(void *handle, int op, const void *alpha, const struct matrix *a, const void *x,
                                        const void *beta, void *y, int compute, int algorithm, size_t *bytes)
{
    (void)handle, (void)op, (void)alpha, (void)x, (void)beta, (void)y, (void)compute, (void)algorithm;
    return guess(__func__, row_schedule(a), bytes);
}

VEST_EXPORT int cusparseSpMM_bufferSize(void *handle, int op_a, int op_b, const void *alpha, const struct matrix *a,
                                        const void *b, const void *beta, void *c, int compute, int algorithm,
                                        size_t *bytes)
{
    (void)handle, (void)op_a, (void)op_b, (void)alpha, (void)b, (void)beta, (void)c, (void)compute, (void)algorithm;
    return guess(__func__, row_schedule(a), bytes);
}

VEST_EXPORT int cusparseSDDMM_bufferSize(void *handle, int op_a, int op_b, const void *alpha, const void *a,
                                         const void *b, const void *beta, const struct matrix *c, int compute,
                                         int algorithm, size_t *bytes)
{
    (void)handle, (void)op_a, (void)op_b, (void)alpha, (void)a, (void)b, (void)beta, (void)compute, (void)algorithm;
    return guess(__func__, row_schedule(c), bytes);
}

VEST_EXPORT int cusparseSpSV_bufferSize(void *handle, int op, const void *alpha, const struct matrix *a, const void *x,
                                        void *y, int compute, int algorithm, void *descriptor, size_t *bytes)
{
    (void)handle, (void)op, (void)alpha, (void)x, (void)y, (void)compute, (void)algorithm, (void)descriptor;
    return guess(__func__, solve_schedule(a), bytes);
}

VEST_EXPORT int cusparseSpSM_bufferSize(void *handle, int op_a, int op_b, const void *alpha, const struct matrix *a,
                                        const void *b, void *c, int compute, int algorithm, void *descriptor,
                                        size_t *bytes)
{
    (void)handle, (void)op_a, (void)op_b, (void)alpha, (void)b, (void)c, (void)compute, (void)algorithm;
    (void)descriptor;
    return guess(__func__, solve_schedule(a), bytes);
}

/* Each entry of A meets the entries of one row of B. */
static int64_t expected_products(const struct matrix *a, const struct matrix *b)
{
    double products = b->rows ? (double)a->entries * (double)b->entries / (double)b->rows : 0;
    double most = (double)a->rows * (double)b->cols;
    return (int64_t)(products < most ? products : most);
}

/* Called twice: without a buffer to learn its size, then with it. */
VEST_EXPORT int cusparseSpGEMM_workEstimation(void *handle, int op_a, int op_b, const void *alpha,
                                              const struct matrix *a, const struct matrix *b, const void *beta,
                                              struct matrix *c, int compute, int algorithm, void *descriptor,
                                              size_t *bytes, void *buffer)
{
    (void)handle, (void)op_a, (void)op_b, (void)alpha, (void)b, (void)beta, (void)c, (void)compute, (void)algorithm;
    (void)descriptor;
    return buffer ? SUCCESS : guess(__func__, row_schedule(a), bytes);
}

VEST_EXPORT int cusparseSpGEMM_compute(void *handle, int op_a, int op_b, const void *alpha, const struct matrix *a,
                                       const struct matrix *b, const void *beta, struct matrix *c, int compute,
                                       int algorithm, void *descriptor, size_t *bytes, void *buffer)
{
    (void)handle, (void)op_a, (void)op_b, (void)alpha, (void)beta, (void)compute, (void)algorithm, (void)descriptor;
    int64_t products = expected_products(a, b);
    c->entries = products;
    return buffer ? SUCCESS : guess(__func__, (INDEX_BYTES + VALUE_BYTES) * products, bytes);
}

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

/* A radix sort keeps a second copy of keys and permutation. */
VEST_EXPORT int cusparseXcoosort_bufferSizeExt(void *handle, int rows, int cols, int entries, const int *row_indices,
                                               const int *col_indices, size_t *bytes)
{
    (void)handle, (void)rows, (void)cols, (void)row_indices, (void)col_indices;
    return guess(__func__, 3 * INDEX_BYTES * (int64_t)entries, bytes);
}

VEST_EXPORT int cusparseXcsrsort_bufferSizeExt(void *handle, int rows, int cols, int entries, const int *offsets,
                                               const int *indices, size_t *bytes)
{
    (void)handle, (void)rows, (void)cols, (void)offsets, (void)indices;
    return guess(__func__, 2 * INDEX_BYTES * (int64_t)entries, bytes);
}
