/* The stand-in for cuRAND: generators without state; numbers for the device are not generated.
 *
 * PyTorch draws its random numbers in its own kernels; this library is here for extensions that link to it. A
 * generator for host memory would have to produce real numbers, and is refused.
 */
#define VEST_LIBRARY "curand"
#define VEST_REFUSAL 204 /* CURAND_STATUS_ARCH_MISMATCH: cuRAND has no "not supported" */
#include "stub.h"
#include "versions.h"

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
    *version = vest_version_number(VEST_CURAND, 1000);
    return SUCCESS;
}

GET_PROPERTY(curandGetProperty, VEST_CURAND, OUT_OF_RANGE)
