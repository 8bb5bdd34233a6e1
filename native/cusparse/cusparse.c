/* cuSPARSE: descriptors remember shapes; sparse products do nothing.
 *
 * Buffer sizes follow formulas read off 560 recorded answers (CUSPARSE_BUFFER in facts.def;
 * benchmarks/workspaces/score_libraries.py compares). PyTorch's products and triangular solves over CSR matrices are
 * exact there.
 *
 * Known limitations, all recorded as guesses: algorithms and formats that PyTorch does not ask for; the second phase of
 * a sparse product, and how many entries a sparse sum or product has: they depend on values, so the answer is the
 * expected number for entries spread evenly; batches. Guesses are on the high side.
 */
#define VEST_LIBRARY "cusparse"
#define VEST_REFUSAL 10 /* CUSPARSE_STATUS_NOT_SUPPORTED */
#include "facts/facts.h"
#include "stub.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/cusparse_noop.def"
#include "symbols/cusparse_unsupported.def"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID_VALUE = 3 };

#include "object.h"
enum { NOT_SUPPORTED = VEST_REFUSAL };
enum { INDEX_BYTES = 4 }; /* of the interfaces that only know 32-bit indices */
enum { REAL_32F = 0, REAL_16F = 2, REAL_16BF = 14 }; /* cudaDataType: CUDA_R_... */

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
    int64_t index_bytes;
    bool compressed; /* by rows or columns; otherwise coordinates */
    bool by_rows;    /* a dense matrix's order */
    int value_type;  /* cudaDataType */
    int batch, fill_mode, diagonal;
    int64_t batch_stride;
};

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
    const int *parts = vest_version(VEST_CUSPARSE, VEST_CUDA_MAJOR)->parts;
    *version = parts[0] * 1000 + parts[1] * 100 + parts[2];
    return SUCCESS;
}

VEST_EXPORT int cusparseGetProperty(int which, int *value)
{
    if (which < 0 || which > 2 || !value)
        return INVALID_VALUE;
    *value = vest_version(VEST_CUSPARSE, VEST_CUDA_MAJOR)->parts[which];
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

static int describe(struct matrix **out, struct matrix made)
{
    void *object;
    int status = create(&object, sizeof **out);
    if (status)
        return status;
    *out = object;
    **out = made;
    (*out)->batch = 1;
    return SUCCESS;
}

/* cusparseIndexType_t: 1 for 16 bits, 2 for 32, 3 for 64. */
static int64_t index_bytes(int type) { return type == 3 ? 8 : type == 1 ? 2 : 4; }

#define COMPRESSED(name)                                                                                               \
    VEST_EXPORT int name(struct matrix **out, int64_t rows, int64_t cols, int64_t entries, void *offsets,              \
                         void *indices, void *values, int offset_type, int index_type, int base, int value_type)       \
    {                                                                                                                  \
        (void)offsets, (void)indices, (void)offset_type, (void)base;                                                   \
        struct matrix made = {.rows = rows, .cols = cols, .entries = entries, .values = values};                       \
        made.index_bytes = index_bytes(index_type);                                                                    \
        made.compressed = true;                                                                                        \
        made.value_type = value_type;                                                                                  \
        return describe(out, made);                                                                                    \
    }
#define COORDINATES(name)                                                                                              \
    VEST_EXPORT int name(struct matrix **out, int64_t rows, int64_t cols, int64_t entries, void *row_indices,          \
                         void *col_indices, void *values, int index_type, int base, int value_type)                    \
    {                                                                                                                  \
        (void)row_indices, (void)col_indices, (void)base;                                                              \
        struct matrix made = {.rows = rows, .cols = cols, .entries = entries, .values = values};                       \
        made.index_bytes = index_bytes(index_type);                                                                    \
        made.value_type = value_type;                                                                                  \
        return describe(out, made);                                                                                    \
    }
#define DENSE(name)                                                                                                    \
    VEST_EXPORT int name(struct matrix **out, int64_t rows, int64_t cols, int64_t ld, void *values, int value_type,    \
                         int order)                                                                                    \
    {                                                                                                                  \
        (void)ld;                                                                                                      \
        struct matrix made = {.rows = rows, .cols = cols, .entries = rows * cols, .values = values};                   \
        made.by_rows = order == 2; /* CUSPARSE_ORDER_ROW */                                                            \
        made.value_type = value_type;                                                                                  \
        return describe(out, made);                                                                                    \
    }
#define VECTOR(name)                                                                                                   \
    VEST_EXPORT int name(struct matrix **out, int64_t size, void *values, int value_type)                              \
    {                                                                                                                  \
        struct matrix made = {.rows = size, .cols = 1, .entries = size, .values = values};                             \
        made.value_type = value_type;                                                                                  \
        return describe(out, made);                                                                                    \
    }

COMPRESSED(cusparseCreateCsr)
COMPRESSED(cusparseCreateCsc)
COORDINATES(cusparseCreateCoo)
COMPRESSED(cusparseCreateConstCsr)
COMPRESSED(cusparseCreateConstCsc)
COORDINATES(cusparseCreateConstCoo)
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

static int64_t divide_up(int64_t count, int64_t each) { return (count + each - 1) / each; }
static int64_t round_up(int64_t value, int64_t step) { return divide_up(value, step) * step; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t value_bytes(int type)
{
    switch (type) {
    case REAL_32F: return 4;
    case REAL_16F: case REAL_16BF: return 2;
    case 5: return 16; /* CUDA_C_64F */
    default: return 8; /* CUDA_R_64F, CUDA_C_32F */
    }
}

static bool is_half(const struct matrix *matrix) { return value_bytes(matrix->value_type) == 2; }

static int answer(const char *name, int64_t bytes, bool known, size_t *out)
{
    if (!out)
        return INVALID_VALUE;
    const struct vest_fact_query query = {.name = name, .version = VEST_CUDA_MAJOR, .unrecorded = !known};
    *out = vest_fact_size(FACT_CUSPARSE_BUFFER, &query, bytes > 0 ? (uint64_t)bytes : 0);
    return SUCCESS;
}

static int guess(const char *name, int64_t bytes, size_t *out) { return answer(name, bytes, false, out); }

/* Where each piece of `each` entries starts, and where the last ends; the bytes to align it are asked for too. */
static int64_t starts(const struct matrix *a, int64_t pieces) { return a->index_bytes * (pieces + 1) - 1; }

/* Entries that a thread block takes. Double precision was recorded up to one block, complex only once each. */
static int64_t block_entries(const struct matrix *a, bool *known)
{
    const bool wide = a->index_bytes == 8;
    if (is_half(a))
        return wide ? 896 : 1024;
    if (a->value_type == REAL_32F)
        return wide ? 3072 : 4096;
    const int64_t entries = value_bytes(a->value_type) == 16 ? 384 : a->value_type == 1 && !wide ? 3584 : 896;
    *known &= a->entries <= entries;
    return entries;
}

/* Half precision adds up in a vector of floats. */
static int64_t vector_product_bytes(const struct matrix *a, int op, bool *known)
{
    const int64_t results = op ? a->cols : a->rows;
    return starts(a, divide_up(a->entries, block_entries(a, known)) + 1) + (is_half(a) ? 4 * results + 127 : 0);
}

/* What PyTorch does not use: bounds. */
static int64_t coordinates_bytes(const struct matrix *a, int op)
{
    return 1024 + a->entries / 16 + 8 * (op ? a->cols : a->rows);
}

VEST_EXPORT int cusparseSpMV_bufferSize(void *handle, int op, const void *alpha, const struct matrix *a, const void *x,
                                        const void *beta, void *y, int compute, int algorithm, size_t *bytes)
{
    (void)handle, (void)alpha, (void)x, (void)beta, (void)y, (void)compute;
    if (!a->compressed || algorithm == 3) /* CUSPARSE_SPMV_CSR_ALG2 */
        return guess(__func__, coordinates_bytes(a, op), bytes);
    bool known = true;
    const int64_t size = vector_product_bytes(a, op, &known);
    return answer(__func__, size, known, bytes);
}

enum { SPMM_COO_ALG2 = 2, SPMM_CSR_ALG1 = 4, SPMM_CSR_ALG2 = 6, SPMM_CSR_ALG3 = 12 };

static int64_t product_bytes(const struct matrix *a, const struct matrix *b, int op, int algorithm, bool *known)
{
    if (b->cols == 1)
        return vector_product_bytes(a, op, known);
    if (algorithm != SPMM_CSR_ALG1 && algorithm != SPMM_CSR_ALG2)
        algorithm = b->by_rows ? SPMM_CSR_ALG2 : SPMM_CSR_ALG1;
    return algorithm == SPMM_CSR_ALG2 ? starts(a, divide_up(a->entries, 24)) : starts(a, divide_up(a->entries, 256) + 1);
}

/* The recorded sizes of the algorithms that PyTorch does not ask for grow with the shape; these are bounds. */
static int64_t other_product_bytes(const struct matrix *a, const struct matrix *b, int op, int algorithm)
{
    if (algorithm == SPMM_CSR_ALG3)
        return 2048 + 8 * larger(a->rows, a->cols);
    if (b->cols == 1)
        return coordinates_bytes(a, op);
    const int64_t each = 4 + value_bytes(a->value_type) * b->cols / 16;
    return algorithm == SPMM_COO_ALG2 && !op ? 4096 + each * a->entries : 0;
}

VEST_EXPORT int cusparseSpMM_bufferSize(void *handle, int op_a, int op_b, const void *alpha, const struct matrix *a,
                                        const struct matrix *b, const void *beta, void *c, int compute, int algorithm,
                                        size_t *bytes)
{
    (void)handle, (void)op_b, (void)alpha, (void)beta, (void)c, (void)compute;
    if (algorithm == SPMM_CSR_ALG3 && op_a)
        return NOT_SUPPORTED;
    if (!a->compressed || algorithm == SPMM_CSR_ALG3) {
        const bool none = algorithm != SPMM_CSR_ALG3 && algorithm != SPMM_COO_ALG2 && b->cols > 1;
        return answer(__func__, other_product_bytes(a, b, op_a, algorithm), none, bytes);
    }
    bool known = a->batch == 1;
    const int64_t size = product_bytes(a, b, op_a, algorithm, &known);
    return answer(__func__, size * a->batch, known, bytes);
}

/* A dense pattern over column-major operands is treated block by block: recorded twice, bounded here. */
VEST_EXPORT int cusparseSDDMM_bufferSize(void *handle, int op_a, int op_b, const void *alpha, const struct matrix *a,
                                         const struct matrix *b, const void *beta, const struct matrix *c, int compute,
                                         int algorithm, size_t *bytes)
{
    (void)handle, (void)op_a, (void)op_b, (void)alpha, (void)beta, (void)compute, (void)algorithm;
    if (c->value_type == REAL_16BF)
        return NOT_SUPPORTED;
    const int64_t inner = a->cols == c->rows ? a->rows : a->cols;
    const bool dense = (double)c->entries * 4 > (double)c->rows * (double)c->cols && c->entries >= 4096;
    if (dense && inner >= 64 && !a->by_rows && !b->by_rows)
        return guess(__func__, 4096 + 2 * (c->index_bytes + value_bytes(c->value_type)) * c->entries, bytes);
    return answer(__func__, 1, c->batch == 1, bytes);
}

/* Rows by level, each with its place and its counter, and a reordered copy of the entries. */
static int64_t solve_bytes(const struct matrix *a, int64_t each_row)
{
    const int64_t fixed = a->index_bytes == 8 ? 250 : 238, rows = larger(a->index_bytes * (a->rows + 1), 1024);
    return fixed + rows + a->rows * each_row + a->entries * (a->index_bytes + value_bytes(a->value_type));
}

VEST_EXPORT int cusparseSpSV_bufferSize(void *handle, int op, const void *alpha, const struct matrix *a, const void *x,
                                        void *y, int compute, int algorithm, void *descriptor, size_t *bytes)
{
    (void)handle, (void)op, (void)alpha, (void)x, (void)y, (void)compute, (void)algorithm, (void)descriptor;
    const int64_t each_row = (a->index_bytes == 8 ? 52 : 40) + 2 * value_bytes(a->value_type);
    return answer(__func__, solve_bytes(a, each_row), a->compressed, bytes);
}

/* Columns are solved 32 at a time. */
VEST_EXPORT int cusparseSpSM_bufferSize(void *handle, int op_a, int op_b, const void *alpha, const struct matrix *a,
                                        const struct matrix *b, void *c, int compute, int algorithm, void *descriptor,
                                        size_t *bytes)
{
    (void)handle, (void)op_a, (void)alpha, (void)c, (void)compute, (void)algorithm, (void)descriptor;
    const int64_t columns = op_b ? b->rows : b->cols;
    const int64_t fixed = (a->index_bytes == 8 ? 44 : 32) + 8 * divide_up(columns, 32);
    const int64_t each_row = fixed + (columns + 1) * value_bytes(a->value_type);
    return answer(__func__, solve_bytes(a, each_row), a->compressed && !op_b, bytes);
}

/* Each entry of A meets the entries of one row of B. */
static double expected_meetings(const struct matrix *a, const struct matrix *b)
{
    return b->rows ? (double)a->entries * (double)b->entries / (double)b->rows : 0;
}

static int64_t expected_products(const struct matrix *a, const struct matrix *b)
{
    double meetings = expected_meetings(a, b), most = (double)a->rows * (double)b->cols;
    return (int64_t)(meetings < most ? meetings : most);
}

/* Half precision with sums in single precision. */
static bool is_mixed_precision(const struct matrix *a, int compute) { return is_half(a) && compute == REAL_32F; }

/* A prefix sum over the entries keeps 8 bytes per 448 of them, and 32 more of those, in steps of 256 bytes. */
static int64_t prefix_sum_bytes(int64_t entries) { return round_up(8 * (32 + divide_up(entries, 448)), 256); }

/* Called twice: without a buffer to learn its size, then with it. */
VEST_EXPORT int cusparseSpGEMM_workEstimation(void *handle, int op_a, int op_b, const void *alpha,
                                              const struct matrix *a, const struct matrix *b, const void *beta,
                                              struct matrix *c, int compute, int algorithm, void *descriptor,
                                              size_t *bytes, void *buffer)
{
    (void)handle, (void)op_a, (void)op_b, (void)alpha, (void)b, (void)beta, (void)c, (void)algorithm;
    (void)descriptor;
    if (is_mixed_precision(a, compute))
        return NOT_SUPPORTED;
    if (buffer)
        return SUCCESS;
    const int64_t size = 567 + prefix_sum_bytes(a->entries) + 12 * a->entries;
    return answer(__func__, size, a->entries <= 16384 && a->index_bytes == 4 && !is_half(a), bytes);
}

VEST_EXPORT int cusparseSpGEMM_compute(void *handle, int op_a, int op_b, const void *alpha, const struct matrix *a,
                                       const struct matrix *b, const void *beta, struct matrix *c, int compute,
                                       int algorithm, void *descriptor, size_t *bytes, void *buffer)
{
    (void)handle, (void)op_a, (void)op_b, (void)alpha, (void)beta, (void)algorithm, (void)descriptor;
    if (is_mixed_precision(a, compute))
        return NOT_SUPPORTED;
    c->entries = expected_products(a, b);
    if (buffer)
        return SUCCESS;
    const int64_t meetings = (int64_t)(expected_meetings(a, b) * 1.01);
    const int64_t size = 8192 + 17 * a->rows + (16 + 2 * value_bytes(a->value_type)) * meetings;
    return guess(__func__, size, bytes);
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
