/* cuRAND: generators that remember nothing; numbers for the device are not generated.
 *
 * PyTorch draws its random numbers in kernels of its own; this library is here for extensions that link to it. A
 * generator for host memory would have to produce real numbers, and is refused.
 */
#define VEST_LIBRARY "curand"
#define VEST_REFUSAL 204 /* CURAND_STATUS_ARCH_MISMATCH: cuRAND has no "not supported" */
#include "facts/facts.h"
#include "stub.h"

#include <stdlib.h>

#include "symbols/curand_noop.def"
#include "symbols/curand_unsupported.def"

enum { SUCCESS = 0, ALLOCATION_FAILED = 102, OUT_OF_RANGE = 104 };

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
    const int *parts = vest_version(VEST_CURAND, VEST_CUDA_MAJOR)->parts;
    *version = parts[0] * 1000 + parts[1] * 100 + parts[2];
    return SUCCESS;
}

VEST_EXPORT int curandGetProperty(int which, int *value)
{
    if (which < 0 || which > 2 || !value)
        return OUT_OF_RANGE;
    *value = vest_version(VEST_CURAND, VEST_CUDA_MAJOR)->parts[which];
    return SUCCESS;
}
