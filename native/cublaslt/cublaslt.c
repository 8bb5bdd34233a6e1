/* The stand-in for cuBLASLt: descriptors that keep their attributes, and one algorithm that needs no workspace.
 *
 * Callers may keep descriptors in their own memory (the *Init_internal entry points), so every attribute has its
 * place inside the published size of the descriptor: 256 bytes for a product, 64 for the others.
 *
 * The real heuristic may pick an algorithm that uses part of the workspace offered. PyTorch allocates what it offers,
 * not what is picked: CUBLASLT_WORKSPACE in facts.def holds on every GPU.
 */
#define VEST_LIBRARY "cublasLt"
#define VEST_REFUSAL 15 /* CUBLAS_STATUS_NOT_SUPPORTED */
#include "stub.h"
#include "versions.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/cublaslt_noop.def"
#include "symbols/cublaslt_unsupported.def"

enum { SUCCESS = 0, ALLOC_FAILED = 3, INVALID_VALUE = 7 };

#include "object.h"
enum { PRODUCT_BYTES = 256, OTHER_BYTES = 64, SLOT = 8 };

static size_t cache_capacity = 8192; /* entries; documented default of the heuristics cache */

VEST_EXPORT size_t cublasLtGetVersion(void)
{
    return (size_t)vest_version_number(VEST_CUBLASLT, 10000);
}

VEST_EXPORT size_t cublasLtGetCudartVersion(void)
{
    const int *parts = vest_version(VEST_CUDART, VEST_CUDA_MAJOR)->parts;
    return (size_t)(parts[0] * 1000 + parts[1] * 10);
}

GET_PROPERTY(cublasLtGetProperty, VEST_CUBLASLT, INVALID_VALUE)

VEST_EXPORT const char *cublasLtGetStatusName(int status)
{
    switch (status) {
    case 0: return "CUBLAS_STATUS_SUCCESS";
    case 3: return "CUBLAS_STATUS_ALLOC_FAILED";
    case 7: return "CUBLAS_STATUS_INVALID_VALUE";
    case 15: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "unknown status";
    }
}

VEST_EXPORT const char *cublasLtGetStatusString(int status) { return cublasLtGetStatusName(status); }

VEST_EXPORT int cublasLtHeuristicsCacheGetCapacity(size_t *capacity)
{
    *capacity = cache_capacity;
    return SUCCESS;
}

VEST_EXPORT int cublasLtHeuristicsCacheSetCapacity(size_t capacity)
{
    cache_capacity = capacity;
    return SUCCESS;
}

VEST_EXPORT int cublasLtCreate(void **handle) { return create(handle, OTHER_BYTES); }
VEST_EXPORT int cublasLtDestroy(void *handle) { return destroy(handle); }

/* Where an attribute lives in its descriptor; -1: not one we know. */
static int product_place(int id)
{
    if (id >= 0 && id <= 26)
        return id * SLOT;
    if (id >= 31 && id <= 35) /* scale modes are 32-bit */
        return 27 * SLOT + (id - 31) * 4;
    if (id == 37) /* D_OUT_SCALE_MODE */
        return 27 * SLOT + 5 * 4;
    if (id == 36) /* D_OUT_SCALE_POINTER */
        return 30 * SLOT;
    if (id == 38) /* EMULATION_DESCRIPTOR */
        return 31 * SLOT;
    return -1;
}

static int layout_place(int id)
{
    if (id == 8) /* BATCH_MODE, 32-bit, next to the 32-bit TYPE */
        return 4;
    return id >= 0 && id <= 7 ? id * SLOT : -1;
}

/* Ids 1 and 12 are 64-bit and followed by an unused id, the others 32-bit. */
static int preference_place(int id) { return id >= 0 && id <= 12 ? id * 4 : -1; }

static int plain_place(int id) { return id >= 0 && id <= 7 ? id * SLOT : -1; }

static int set_attribute(char *descriptor, size_t bytes, int place, const void *value, size_t value_bytes)
{
    if (!descriptor || !value || place < 0 || value_bytes > SLOT || (size_t)place + value_bytes > bytes)
        return INVALID_VALUE;
    memcpy(descriptor + place, value, value_bytes);
    return SUCCESS;
}

static int get_attribute(const char *descriptor, size_t bytes, int place, void *value, size_t value_bytes,
                         size_t *written)
{
    if (!descriptor || place < 0 || value_bytes > SLOT || (size_t)place + value_bytes > bytes)
        return INVALID_VALUE;
    if (written)
        *written = value_bytes ? value_bytes : SLOT; /* asked with 0: how much room would be needed */
    if (value && value_bytes)
        memcpy(value, descriptor + place, value_bytes);
    return SUCCESS;
}

#define ATTRIBUTES(kind, bytes, place)                                                                                 \
    VEST_EXPORT int cublasLt##kind##SetAttribute(void *descriptor, int id, const void *value, size_t value_bytes)      \
    {                                                                                                                  \
        return set_attribute(descriptor, bytes, place(id), value, value_bytes);                                        \
    }                                                                                                                  \
    VEST_EXPORT int cublasLt##kind##GetAttribute(const void *descriptor, int id, void *value, size_t value_bytes,      \
                                                 size_t *written)                                                      \
    {                                                                                                                  \
        return get_attribute(descriptor, bytes, place(id), value, value_bytes, written);                               \
    }                                                                                                                  \
    VEST_EXPORT int cublasLt##kind##Destroy(void *descriptor) { return destroy(descriptor); }

ATTRIBUTES(MatmulDesc, PRODUCT_BYTES, product_place)
ATTRIBUTES(MatrixLayout, OTHER_BYTES, layout_place)
ATTRIBUTES(MatmulPreference, OTHER_BYTES, preference_place)
ATTRIBUTES(MatrixTransformDesc, OTHER_BYTES, plain_place)
ATTRIBUTES(EmulationDesc, OTHER_BYTES, plain_place)

static int clear(void *descriptor, size_t given, size_t needed)
{
    if (!descriptor || given < needed)
        return INVALID_VALUE;
    memset(descriptor, 0, given);
    return SUCCESS;
}

VEST_EXPORT int cublasLtMatmulDescInit_internal(void *descriptor, size_t bytes, int compute_type, int scale_type)
{
    int status = clear(descriptor, bytes, PRODUCT_BYTES);
    if (status)
        return status;
    const int default_epilogue = 1, lower_and_upper = 2, whole_gpu = 0;
    set_attribute(descriptor, PRODUCT_BYTES, product_place(0), &compute_type, sizeof compute_type);
    set_attribute(descriptor, PRODUCT_BYTES, product_place(1), &scale_type, sizeof scale_type);
    set_attribute(descriptor, PRODUCT_BYTES, product_place(6), &lower_and_upper, sizeof lower_and_upper);
    set_attribute(descriptor, PRODUCT_BYTES, product_place(7), &default_epilogue, sizeof default_epilogue);
    set_attribute(descriptor, PRODUCT_BYTES, product_place(15), &whole_gpu, sizeof whole_gpu);
    return SUCCESS;
}

VEST_EXPORT int cublasLtMatrixLayoutInit_internal(void *descriptor, size_t bytes, int type, uint64_t rows,
                                                  uint64_t cols, int64_t ld)
{
    int status = clear(descriptor, bytes, OTHER_BYTES);
    if (status)
        return status;
    const int one_matrix = 1;
    set_attribute(descriptor, OTHER_BYTES, layout_place(0), &type, sizeof type);
    set_attribute(descriptor, OTHER_BYTES, layout_place(2), &rows, sizeof rows);
    set_attribute(descriptor, OTHER_BYTES, layout_place(3), &cols, sizeof cols);
    set_attribute(descriptor, OTHER_BYTES, layout_place(4), &ld, sizeof ld);
    set_attribute(descriptor, OTHER_BYTES, layout_place(5), &one_matrix, sizeof one_matrix);
    return SUCCESS;
}

VEST_EXPORT int cublasLtMatmulPreferenceInit_internal(void *descriptor, size_t bytes)
{
    int status = clear(descriptor, bytes, OTHER_BYTES);
    if (status)
        return status;
    const uint32_t alignment_bytes = 256; /* documented default of MIN_ALIGNMENT_A..D */
    for (int id = 5; id <= 8; id++)
        set_attribute(descriptor, OTHER_BYTES, preference_place(id), &alignment_bytes, sizeof alignment_bytes);
    return SUCCESS;
}

VEST_EXPORT int cublasLtMatrixTransformDescInit_internal(void *descriptor, size_t bytes, int scale_type)
{
    int status = clear(descriptor, bytes, OTHER_BYTES);
    return status ? status
                  : set_attribute(descriptor, OTHER_BYTES, plain_place(0), &scale_type, sizeof scale_type);
}

VEST_EXPORT int cublasLtEmulationDescInit_internal(void *descriptor, size_t bytes)
{
    return clear(descriptor, bytes, OTHER_BYTES);
}

VEST_EXPORT int cublasLtMatmulDescCreate(void **out, int compute_type, int scale_type)
{
    int status = create(out, PRODUCT_BYTES);
    return status ? status : cublasLtMatmulDescInit_internal(*out, PRODUCT_BYTES, compute_type, scale_type);
}

VEST_EXPORT int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    int status = create(out, OTHER_BYTES);
    return status ? status : cublasLtMatrixLayoutInit_internal(*out, OTHER_BYTES, type, rows, cols, ld);
}

VEST_EXPORT int cublasLtMatmulPreferenceCreate(void **out)
{
    int status = create(out, OTHER_BYTES);
    return status ? status : cublasLtMatmulPreferenceInit_internal(*out, OTHER_BYTES);
}

VEST_EXPORT int cublasLtMatrixTransformDescCreate(void **out, int scale_type)
{
    int status = create(out, OTHER_BYTES);
    return status ? status : cublasLtMatrixTransformDescInit_internal(*out, OTHER_BYTES, scale_type);
}

VEST_EXPORT int cublasLtEmulationDescCreate(void **out) { return create(out, OTHER_BYTES); }

struct algorithm {
    uint64_t opaque[8];
};

struct heuristic {
    struct algorithm algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};
_Static_assert(sizeof(struct heuristic) == 96, "cublasLtMatmulHeuristicResult_t is 96 bytes");

VEST_EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *product, void *a, void *b, void *c, void *d,
                                               void *preference, int wanted, struct heuristic *results, int *found)
{
    (void)handle, (void)product, (void)a, (void)b, (void)c, (void)d, (void)preference;
    if (wanted < 1 || !results || !found)
        return INVALID_VALUE;
    results[0] = (struct heuristic){.workspace_bytes = FACT_VALUE(CUBLASLT_WORKSPACE), .waves = 1.0f};
    *found = 1;
    return SUCCESS;
}

VEST_EXPORT int cublasLtMatmulAlgoCheck(void *handle, void *product, void *a, void *b, void *c, void *d,
                                        const struct algorithm *algorithm, struct heuristic *result)
{
    (void)handle, (void)product, (void)a, (void)b, (void)c, (void)d;
    if (!algorithm || !result)
        return INVALID_VALUE;
    *result = (struct heuristic){
        .algorithm = *algorithm,
        .workspace_bytes = FACT_VALUE(CUBLASLT_WORKSPACE),
        .waves = 1.0f,
    };
    return SUCCESS;
}

VEST_EXPORT int cublasLtMatmulAlgoGetIds(void *handle, int compute, int scale, int a, int b, int c, int d, int wanted,
                                         int *ids, int *found)
{
    (void)handle, (void)compute, (void)scale, (void)a, (void)b, (void)c, (void)d;
    if (wanted < 1 || !ids)
        return INVALID_VALUE;
    ids[0] = 0;
    if (found)
        *found = 1;
    return SUCCESS;
}

VEST_EXPORT int cublasLtMatmulAlgoInit(void *handle, int compute, int scale, int a, int b, int c, int d, int id,
                                       struct algorithm *out)
{
    (void)handle, (void)compute, (void)scale, (void)a, (void)b, (void)c, (void)d, (void)id;
    if (!out)
        return INVALID_VALUE;
    *out = (struct algorithm){0};
    return SUCCESS;
}
