/* Copies of vectors and matrices between host and device. */
#include "cublas.h"

/* Copies between host and device, column by column. A vector with a stride is a matrix with one row. */
struct shape {
    int64_t rows, cols, element_bytes;
};

static int copy_columns(struct shape shape, const char *from, int64_t from_ld, char *to, int64_t to_ld)
{
    const int64_t column_bytes = shape.rows * shape.element_bytes;
    if (shape.rows < 0 || shape.cols < 0 || shape.element_bytes <= 0 || from_ld <= 0 || to_ld <= 0)
        return INVALID_VALUE;
    if (from_ld == shape.rows && to_ld == shape.rows) {
        vest_copy(to, from, (size_t)(shape.cols * column_bytes));
        return SUCCESS;
    }
    for (int64_t column = 0; column < shape.cols; column++)
        vest_copy(to + column * to_ld * shape.element_bytes, from + column * from_ld * shape.element_bytes,
                  (size_t)column_bytes);
    return SUCCESS;
}

#define COPIES(verb, suffix, integer)                                                                                  \
    VEST_EXPORT int cublas##verb##Matrix##suffix(integer rows, integer cols, integer element, const void *from,        \
                                                 integer from_ld, void *to, integer to_ld)                             \
    {                                                                                                                  \
        return copy_columns((struct shape){rows, cols, element}, from, from_ld, to, to_ld);                            \
    }                                                                                                                  \
    VEST_EXPORT int cublas##verb##Vector##suffix(integer count, integer element, const void *from, integer from_step,  \
                                                 void *to, integer to_step)                                            \
    {                                                                                                                  \
        return copy_columns((struct shape){1, count, element}, from, from_step, to, to_step);                          \
    }

COPIES(Set, , int)
COPIES(Get, , int)
COPIES(Set, _64, int64_t)
COPIES(Get, _64, int64_t)
COPIES(Set, Async, int) /* the trailing stream is not needed: copies are done at once */
COPIES(Get, Async, int)
COPIES(Set, Async_64, int64_t)
COPIES(Get, Async_64, int64_t)
