/* Copies of vectors and matrices between host and device. */
#include "cublas.h"

/* Copies between host and device, column by column. A vector with a stride is a matrix with one row. */
static int copy_columns(int64_t rows, int64_t cols, int64_t element, const char *from, int64_t from_ld, char *to,
                        int64_t to_ld)
{
    if (rows < 0 || cols < 0 || element <= 0 || from_ld <= 0 || to_ld <= 0)
        return INVALID_VALUE;
    if (from_ld == rows && to_ld == rows) {
        vest_copy(to, from, (size_t)(rows * cols * element));
        return SUCCESS;
    }
    for (int64_t column = 0; column < cols; column++)
        vest_copy(to + column * to_ld * element, from + column * from_ld * element, (size_t)(rows * element));
    return SUCCESS;
}

#define COPIES(verb, suffix, integer)                                                                                  \
    VEST_EXPORT int cublas##verb##Matrix##suffix(integer rows, integer cols, integer element, const void *from,        \
                                                 integer from_ld, void *to, integer to_ld)                             \
    {                                                                                                                  \
        return copy_columns(rows, cols, element, from, from_ld, to, to_ld);                                            \
    }                                                                                                                  \
    VEST_EXPORT int cublas##verb##Vector##suffix(integer count, integer element, const void *from, integer from_step,  \
                                                 void *to, integer to_step)                                            \
    {                                                                                                                  \
        return copy_columns(1, count, element, from, from_step, to, to_step);                                          \
    }

COPIES(Set, , int)
COPIES(Get, , int)
COPIES(Set, _64, int64_t)
COPIES(Get, _64, int64_t)
COPIES(Set, Async, int) /* the trailing stream is not needed: copies are done at once */
COPIES(Get, Async, int)
COPIES(Set, Async_64, int64_t)
COPIES(Get, Async_64, int64_t)
