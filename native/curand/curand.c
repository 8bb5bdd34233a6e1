/* cuRAND: generators that remember nothing; numbers for the device are not generated.
 *
 * PyTorch draws its random numbers in kernels of its own; this library is here for extensions that link to it. A generator
 * for host memory would have to produce real numbers, and is refused.
 */
#define VEST_LIBRARY "curand"
#define VEST_REFUSAL 204 /* CURAND_STATUS_ARCH_MISMATCH: cuRAND has no "not supported" */
#include "stub.h"

#include <stdlib.h>

#include "symbols/curand_noop.def"
#include "symbols/curand_unsupported.def"

enum { SUCCESS = 0, ALLOCATION_FAILED = 102, OUT_OF_RANGE = 104 };

/* The cuRAND that the reference torch build of each CUDA major ships. */
#if VEST_CUDA_MAJOR >= 13
static const int VERSION[3] = {10, 4, 0};
#else
static const int VERSION[3] = {10, 3, 9};
#endif

VEST_EXPORT int curandCreateGenerator(void **out, int kind)
{
    (void)kind;
    *out = calloc(1, sizeof(int));
    return *out ? SUCCESS : ALLOCATION_FAILED;
}

VEST_EXPORT int curandDestroyGenerator(void *generator)
{
    free(generator);
    return SUCCESS;
}

VEST_EXPORT int curandGetVersion(int *version)
{
    *version = VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2];
    return SUCCESS;
}

VEST_EXPORT int curandGetProperty(int which, int *value)
{
    if (which < 0 || which > 2 || !value)
        return OUT_OF_RANGE;
    *value = VERSION[which];
    return SUCCESS;
}
