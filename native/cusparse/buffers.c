/* Buffer sizes of the generic interface. */
#include "cusparse.h"

int answer(const char *name, int64_t bytes, bool known, size_t *out)
{
    if (!out)
        return INVALID_VALUE;
    const struct vest_fact_query query = {.name = name, .version = VEST_CUDA_MAJOR, .unrecorded = !known};
    *out = vest_fact_size(FACT_CUSPARSE_BUFFER, &query, bytes > 0 ? (uint64_t)bytes : 0);
    return SUCCESS;
}

int guess(const char *name, int64_t bytes, size_t *out) { return answer(name, bytes, false, out); }

/* Where each piece of `each` entries starts, and where the last ends; with the bytes to align it. */
static int64_t starts(const struct matrix *a, int64_t pieces) { return a->index_bytes * (pieces + 1) - 1; }

/* Entries per thread block. Double precision was recorded up to one block, complex only once each. */
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
    const int64_t pieces = algorithm == SPMM_CSR_ALG2 ? divide_up(a->entries, 24) : divide_up(a->entries, 256) + 1;
    return starts(a, pieces);
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

/* Called twice: without a buffer, for its size, then with it. */
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
