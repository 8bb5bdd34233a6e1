/* Results that cuBLAS writes to host memory. */
#include "cublas.h"

#include <string.h>

int zero_on_host(void *result, size_t bytes)
{
    if (result && !vest_is_device(result))
        memset(result, 0, bytes);
    return SUCCESS;
}

/* Reductions to one value: dot(x, y) has the result in seventh place, the others in fifth. */
#define RESULT7(name, integer, bytes)                                                                                  \
    VEST_EXPORT int name(void *handle, integer n, const void *x, integer x_step, const void *y, integer y_step,        \
                         void *result)                                                                                 \
    {                                                                                                                  \
        (void)handle, (void)n, (void)x, (void)x_step, (void)y, (void)y_step;                                           \
        return zero_on_host(result, bytes);                                                                            \
    }
#define RESULT5(name, integer, bytes)                                                                                  \
    VEST_EXPORT int name(void *handle, integer n, const void *x, integer x_step, void *result)                         \
    {                                                                                                                  \
        (void)handle, (void)n, (void)x, (void)x_step;                                                                  \
        return zero_on_host(result, bytes);                                                                            \
    }
#define BOTH(shape, name, bytes) shape(name##_v2, int, bytes) shape(name##_v2_64, int64_t, bytes)
#define INDEX(name) RESULT5(name##_v2, int, 4) RESULT5(name##_v2_64, int64_t, 8)

BOTH(RESULT7, cublasSdot, 4)
BOTH(RESULT7, cublasDdot, 8)
BOTH(RESULT7, cublasCdotu, 8)
BOTH(RESULT7, cublasCdotc, 8)
BOTH(RESULT7, cublasZdotu, 16)
BOTH(RESULT7, cublasZdotc, 16)
BOTH(RESULT5, cublasSnrm2, 4)
BOTH(RESULT5, cublasDnrm2, 8)
BOTH(RESULT5, cublasScnrm2, 4)
BOTH(RESULT5, cublasDznrm2, 8)
BOTH(RESULT5, cublasSasum, 4)
BOTH(RESULT5, cublasDasum, 8)
BOTH(RESULT5, cublasScasum, 4)
BOTH(RESULT5, cublasDzasum, 8)
INDEX(cublasIsamax)
INDEX(cublasIdamax)
INDEX(cublasIcamax)
INDEX(cublasIzamax)
INDEX(cublasIsamin)
INDEX(cublasIdamin)
INDEX(cublasIcamin)
INDEX(cublasIzamin)

/* cudaDataType: only those a scalar result can have. */
static size_t type_bytes(int type)
{
    switch (type) {
    case 1: return 8;           /* CUDA_R_64F */
    case 5: return 16;          /* CUDA_C_64F */
    case 4: return 8;           /* CUDA_C_32F */
    case 2: case 14: return 2;  /* CUDA_R_16F, CUDA_R_16BF */
    default: return 4;          /* CUDA_R_32F, CUDA_C_16F, CUDA_C_16BF */
    }
}

#define DOT_EX(name, integer)                                                                                          \
    VEST_EXPORT int name(void *handle, integer n, const void *x, int x_type, integer x_step, const void *y,            \
                         int y_type, integer y_step, void *result, int result_type)                                    \
    {                                                                                                                  \
        (void)handle, (void)n, (void)x, (void)x_type, (void)x_step, (void)y, (void)y_type, (void)y_step;               \
        return zero_on_host(result, type_bytes(result_type));                                                          \
    }
#define NORM_EX(name, integer)                                                                                         \
    VEST_EXPORT int name(void *handle, integer n, const void *x, int x_type, integer x_step, void *result,             \
                         int result_type)                                                                              \
    {                                                                                                                  \
        (void)handle, (void)n, (void)x, (void)x_type, (void)x_step;                                                    \
        return zero_on_host(result, type_bytes(result_type));                                                          \
    }
#define INDEX_EX(name, integer)                                                                                        \
    VEST_EXPORT int name(void *handle, integer n, const void *x, int x_type, integer x_step, integer *result)          \
    {                                                                                                                  \
        (void)handle, (void)n, (void)x, (void)x_type, (void)x_step;                                                    \
        return zero_on_host(result, sizeof *result);                                                                   \
    }

DOT_EX(cublasDotEx, int)
DOT_EX(cublasDotEx_64, int64_t)
DOT_EX(cublasDotcEx, int)
DOT_EX(cublasDotcEx_64, int64_t)
NORM_EX(cublasNrm2Ex, int)
NORM_EX(cublasNrm2Ex_64, int64_t)
NORM_EX(cublasAsumEx, int)
NORM_EX(cublasAsumEx_64, int64_t)
INDEX_EX(cublasIamaxEx, int)
INDEX_EX(cublasIamaxEx_64, int64_t)
INDEX_EX(cublasIaminEx, int)
INDEX_EX(cublasIaminEx_64, int64_t)

/* Givens rotations: a and b are also inputs and stay; the rotation (c, s) or its parameters become zeros. */
#define ROTG(name, c_bytes, s_bytes)                                                                                   \
    VEST_EXPORT int name(void *handle, void *a, void *b, void *c, void *s)                                             \
    {                                                                                                                  \
        (void)handle, (void)a, (void)b;                                                                                \
        zero_on_host(c, c_bytes);                                                                                      \
        return zero_on_host(s, s_bytes);                                                                               \
    }
#define ROTMG(name, bytes)                                                                                             \
    VEST_EXPORT int name(void *handle, void *d1, void *d2, void *x1, const void *y1, void *parameters)                 \
    {                                                                                                                  \
        (void)handle, (void)d1, (void)d2, (void)x1, (void)y1;                                                          \
        return zero_on_host(parameters, bytes);                                                                        \
    }

ROTG(cublasSrotg_v2, 4, 4)
ROTG(cublasDrotg_v2, 8, 8)
ROTG(cublasCrotg_v2, 4, 8)
ROTG(cublasZrotg_v2, 8, 16)
ROTMG(cublasSrotmg_v2, 5 * 4)
ROTMG(cublasDrotmg_v2, 5 * 8)
