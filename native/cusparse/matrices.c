/* Matrices and vectors: descriptors that keep their shapes. */
#include "cusparse.h"

#include <string.h>

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
