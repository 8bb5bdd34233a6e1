/* The stand-in for cuBLAS: matrix products do nothing, handles keep their settings.
 *
 * Results that cuBLAS would write to host memory (dot products, norms, indices) are zeros: the values were never
 * computed. What happens to device memory is left undone. Signatures are written with void pointers where the type says
 * nothing.
 */
#ifndef VEST_CUBLAS_H
#define VEST_CUBLAS_H

#define VEST_LIBRARY "cublas"
#define VEST_REFUSAL 15 /* CUBLAS_STATUS_NOT_SUPPORTED */
#include "facts/facts.h"
#include "stub.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7 };

/* A result in host memory; on the device it is left alone. */
int zero_on_host(void *result, size_t bytes);

#endif
