/* The stand-in for cuSPARSE: descriptors keep shapes; sparse products do nothing.
 *
 * Buffer sizes follow formulas derived from 560 recorded answers (CUSPARSE_BUFFER in facts.def;
 * benchmarks/workspaces/score_libraries.py compares). PyTorch's products and triangular solves over CSR matrices are
 * exact there.
 *
 * Known limitations, all recorded as guesses: algorithms and formats that PyTorch does not ask for; the second phase of
 * a sparse product, and how many entries a sparse sum or product has: they depend on values, so the answer is the
 * expected number for entries spread evenly; batches. Guesses are on the high side.
 */
#ifndef VEST_CUSPARSE_H
#define VEST_CUSPARSE_H

#define VEST_LIBRARY "cusparse"
#define VEST_REFUSAL 10 /* CUSPARSE_STATUS_NOT_SUPPORTED */
#include "facts/facts.h"
#include "round.h"
#include "stub.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID_VALUE = 3 };

#include "object.h"
enum { NOT_SUPPORTED = VEST_REFUSAL };
enum { INDEX_BYTES = 4 }; /* of the interfaces that only know 32-bit indices */
enum { REAL_32F = 0, REAL_16F = 2, REAL_16BF = 14 }; /* cudaDataType: CUDA_R_... */

struct handle {
    void *stream;
    int pointer_mode;
};

struct legacy_matrix {
    int type, fill_mode, diagonal, index_base;
};

/* Any matrix or vector of the generic interface. */
struct matrix {
    int64_t rows, cols, entries;
    void *values;
    int64_t index_bytes;
    bool compressed; /* by rows or columns; otherwise coordinates */
    bool by_rows;    /* a dense matrix's order */
    int value_type;  /* cudaDataType */
    int batch, fill_mode, diagonal;
    int64_t batch_stride;
};

static inline int64_t value_bytes(int type)
{
    switch (type) {
    case REAL_32F: return 4;
    case REAL_16F: case REAL_16BF: return 2;
    case 5: return 16; /* CUDA_C_64F */
    default: return 8; /* CUDA_R_64F, CUDA_C_32F */
    }
}

static inline bool is_half(const struct matrix *matrix) { return value_bytes(matrix->value_type) == 2; }

/* A buffer size, in `out`: exact if a call like this one was recorded (`known`), else a guess. */
int answer(const char *name, int64_t bytes, bool known, size_t *out);
int guess(const char *name, int64_t bytes, size_t *out);

#endif
