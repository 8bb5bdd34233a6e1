/* The many ways to describe a transform. */
#include "cufft.h"

/* cufftType: R2C 0x2a, C2R 0x2c, C2C 0x29; double precision types have the bit 0x40 more. */
static struct shape typed(int rank, const wide *n, wide batch, int type)
{
    int bare = type & ~0x40;
    return (struct shape){
        .rank = rank,
        .n = n,
        .batch = batch,
        .kind = bare == 0x2a ? REAL_TO_COMPLEX : bare == 0x2c ? COMPLEX_TO_REAL : COMPLEX,
        .complex_bytes = type & 0x40 ? 16 : 8,
    };
}

/* cudaDataType: CUDA_R_32F 0, R_64F 1, R_16F 2, R_16BF 14; complex: C_32F 4, C_64F 5, C_16F 6, C_16BF 15. */
static bool is_real_data(int type) { return type == 0 || type == 1 || type == 2 || type == 14; }

static size_t complex_bytes_of_data(int type)
{
    switch (type) {
    case 2: case 6: case 14: case 15: return 4;
    case 1: case 5: return 16;
    default: return 8;
    }
}

static const wide *widen(int rank, const int *n, wide *out)
{
    for (int i = 0; n && i < rank && i < MAX_RANK; i++)
        out[i] = n[i];
    return n ? out : NULL;
}

VEST_EXPORT int cufftMakePlan1d(int handle, int nx, int type, int batch, size_t *work_bytes)
{
    return make(__func__, handle, typed(1, (wide[]){nx}, batch, type), work_bytes);
}

VEST_EXPORT int cufftMakePlan2d(int handle, int nx, int ny, int type, size_t *work_bytes)
{
    return make(__func__, handle, typed(2, (wide[]){nx, ny}, 1, type), work_bytes);
}

VEST_EXPORT int cufftMakePlan3d(int handle, int nx, int ny, int nz, int type, size_t *work_bytes)
{
    return make(__func__, handle, typed(3, (wide[]){nx, ny, nz}, 1, type), work_bytes);
}

#define LAYOUT_ARGUMENTS(integer)                                                                                      \
    integer *in_embed, integer in_stride, integer in_distance, integer *out_embed, integer out_stride,                 \
        integer out_distance

/* Strides count only with embeddings. */
#define LAY_OUT(shape)                                                                                                 \
    do {                                                                                                               \
        (void)in_distance, (void)out_distance;                                                                         \
        (shape).embedded = in_embed || out_embed;                                                                      \
        (shape).strided = (in_embed && in_stride != 1) || (out_embed && out_stride != 1);                              \
    } while (0)

VEST_EXPORT int cufftMakePlanMany(int handle, int rank, int *n, LAYOUT_ARGUMENTS(int), int type, int batch,
                                  size_t *work_bytes)
{
    wide wider[MAX_RANK];
    struct shape shape = typed(rank, widen(rank, n, wider), batch, type);
    LAY_OUT(shape);
    return make(__func__, handle, shape, work_bytes);
}

VEST_EXPORT int cufftMakePlanMany64(int handle, int rank, wide *n, LAYOUT_ARGUMENTS(wide), int type, wide batch,
                                    size_t *work_bytes)
{
    struct shape shape = typed(rank, n, batch, type);
    LAY_OUT(shape);
    return make(__func__, handle, shape, work_bytes);
}

VEST_EXPORT int cufftXtMakePlanMany(int handle, int rank, wide *n, wide *in_embed, wide in_stride, wide in_distance,
                                    int in_type, wide *out_embed, wide out_stride, wide out_distance, int out_type,
                                    wide batch, size_t *work_bytes, int arithmetic)
{
    struct shape shape = {.rank = rank, .n = n, .batch = batch, .complex_bytes = complex_bytes_of_data(arithmetic)};
    shape.kind = is_real_data(in_type) ? REAL_TO_COMPLEX : is_real_data(out_type) ? COMPLEX_TO_REAL : COMPLEX;
    LAY_OUT(shape);
    return make(__func__, handle, shape, work_bytes);
}

static int plan_now(int *handle, struct shape shape)
{
    int status = cufftCreate(handle);
    if (status)
        return status;
    status = make("cufftPlanMany", *handle, shape, NULL);
    if (status)
        cufftDestroy(*handle);
    return status;
}

VEST_EXPORT int cufftPlan1d(int *handle, int nx, int type, int batch)
{
    return plan_now(handle, typed(1, (wide[]){nx}, batch, type));
}

VEST_EXPORT int cufftPlan2d(int *handle, int nx, int ny, int type)
{
    return plan_now(handle, typed(2, (wide[]){nx, ny}, 1, type));
}

VEST_EXPORT int cufftPlan3d(int *handle, int nx, int ny, int nz, int type)
{
    return plan_now(handle, typed(3, (wide[]){nx, ny, nz}, 1, type));
}

VEST_EXPORT int cufftPlanMany(int *handle, int rank, int *n, LAYOUT_ARGUMENTS(int), int type, int batch)
{
    wide wider[MAX_RANK];
    struct shape shape = typed(rank, widen(rank, n, wider), batch, type);
    LAY_OUT(shape);
    return plan_now(handle, shape);
}

static int estimate(const char *name, struct shape shape, size_t *work_bytes)
{
    return size_of(name, &shape, work_bytes);
}

VEST_EXPORT int cufftEstimate1d(int nx, int type, int batch, size_t *work_bytes)
{
    return estimate(__func__, typed(1, (wide[]){nx}, batch, type), work_bytes);
}

VEST_EXPORT int cufftEstimate2d(int nx, int ny, int type, size_t *work_bytes)
{
    return estimate(__func__, typed(2, (wide[]){nx, ny}, 1, type), work_bytes);
}

VEST_EXPORT int cufftEstimate3d(int nx, int ny, int nz, int type, size_t *work_bytes)
{
    return estimate(__func__, typed(3, (wide[]){nx, ny, nz}, 1, type), work_bytes);
}

VEST_EXPORT int cufftEstimateMany(int rank, int *n, LAYOUT_ARGUMENTS(int), int type, int batch, size_t *work_bytes)
{
    wide wider[MAX_RANK];
    struct shape shape = typed(rank, widen(rank, n, wider), batch, type);
    LAY_OUT(shape);
    return estimate(__func__, shape, work_bytes);
}
