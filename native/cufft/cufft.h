/* The stand-in for cuFFT: plans are numbers with a work area; transforms do nothing. */
#ifndef VEST_CUFFT_H
#define VEST_CUFFT_H

#define VEST_LIBRARY "cufft"
#define VEST_REFUSAL 16 /* CUFFT_NOT_SUPPORTED */
#include "facts/facts.h"
#include "stub.h"

typedef long long wide;

enum { SUCCESS = 0, INVALID_PLAN = 1, ALLOC_FAILED = 2, INVALID_VALUE = 4 };
enum { MAX_RANK = 3 };

enum kind { COMPLEX, REAL_TO_COMPLEX, COMPLEX_TO_REAL };

struct shape {
    int rank;
    const wide *n;
    wide batch;
    enum kind kind;
    size_t complex_bytes; /* of the arithmetic: 4, 8 or 16 */
    bool strided;
    bool embedded; /* a layout of the caller's own */
};

/* The work area of a transform; see work_area.c. */
int size_of(const char *name, const struct shape *shape, size_t *work_bytes);

/* Gives a plan its work area. `name`: the function that was called. */
int make(const char *name, int handle, struct shape shape, size_t *out);
VEST_EXPORT int cufftCreate(int *handle);
VEST_EXPORT int cufftDestroy(int handle);

#endif
