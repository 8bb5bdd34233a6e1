/* Workspace sizes.
 *
 * cuSOLVER does not document its workspace sizes. The formulas below were derived from 2,447 recorded answers
 * (CUSOLVER_WORKSPACE in facts.def; benchmarks/workspaces/score_libraries.py compares). They look like what the
 * routines are made of: a block of 32 elements is the unit, an eigenvalue problem holds the workspace of the reflectors
 * it applies, a singular value problem that of its QR factorisation.
 *
 * Known limitation: sides above 4096 were not recorded. Answers for them follow the same formulas and are recorded as
 * guesses.
 */
#include "cusolver.h"

#include <limits.h>

enum { BLOCK = 32, LARGEST_RECORDED = 4096 };

static int64_t blocks(int64_t n) { return (n + BLOCK - 1) / BLOCK; }
static int64_t padded(int64_t count) { return round_up(count, BLOCK); }

/* The lower triangle's tiles have a flag each. */
int64_t potrf_bytes(bool upper, int64_t n, int64_t element)
{
    return upper ? 128 + 32 * element : round_up(4 * (32 + blocks(n) * blocks(n)), 32);
}

static int64_t next_power_of_two(int64_t n)
{
    int64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

/* Pivots by column block, then the largest of: a tree over them, flags of the tiles, a tall panel's buffers. */
int64_t getrf_bytes(int64_t m, int64_t n, int64_t element)
{
    const int64_t columns = blocks(smaller(m, n));
    const int64_t tree = 256 * smaller(16, next_power_of_two(columns)), flags = round_up(4 * blocks(m) * blocks(n), 32);
    const int64_t panel = m > 1536 ? 8192 * element + (m + 2047) / 2048 * (256 * element + 2048) : 0;
    return 256 * (columns + 1) + larger(larger(tree, flags), panel);
}

/* Where tall panels begin was not recorded. */
bool getrf_known(int64_t m) { return m <= 1536 || m >= 2000; }

int64_t geqrf_elements(int64_t n) { return 1024 * (larger(n, 256) + 512); }

int64_t sytrf_elements(int64_t n, int64_t element)
{
    const int64_t least = element == 4 ? 24608 : element == 8 ? 13328 : 11016;
    return larger(least, n * (n <= 4000 ? 64 : 128) + 64);
}

int64_t orgqr_elements(int64_t m, int64_t n, int64_t k)
{
    k = smaller(k, 128);
    return padded(m * k) + padded(2 * larger(n * k, 8192)) + 16640;
}

int64_t ormqr_elements(bool left, int64_t m, int64_t n, int64_t k)
{
    const int64_t longer = larger(m, n), other = longer > BLOCK ? padded(left ? n : m) : 0;
    return 65792 + 256 * m + (left ? 512 * n : 0) + padded(k * longer + k * k + other);
}

/* Divide and conquer on `batch` matrices: the larger of applying the reflectors and of merging the halves. */
int64_t eigen_elements(int64_t n, int64_t batch)
{
    const int64_t vector = padded(batch * n);
    const int64_t apply =
        batch * (65536 + 768 * n) + padded(batch * (n - 1) * (2 * n - 1)) + (n > BLOCK ? vector : 0);
    const int64_t merge = batch * (32896 + 128 * n) + padded(batch * (n - 1) * (3 * n - 1)) + vector;
    return 32 + larger(apply, merge) + batch * (n * n + 2 * n + 3);
}

int64_t jacobi_elements(int64_t n)
{
    const int64_t p = blocks(n);
    return n > 4000 ? 5 * n * n / 2 + 16 : n * n + n + 1024 + 4 * p * p + 1025 * p;
}

int64_t batched_jacobi_elements(int64_t n, int64_t batch)
{
    const int64_t p = blocks(n);
    return 1024 + 4 * p * p + batch * (n * n + 2 * n + 1024 * p + 1);
}

/* Another size for n = 4096 than for 4000 and below: sizes between them were not recorded. */
bool below_4096_known(int64_t n) { return n <= 4000 || n >= 4096; }

/* A tall matrix is factorised first; a wide one is treated as square, by its columns. */
int64_t svd_elements(int64_t m, int64_t n)
{
    const int64_t square = padded(n * n), vector = padded(n);
    if (m <= n)
        return ormqr_elements(false, n, n, n) + square + 3 * vector;
    const int64_t applied = ormqr_elements(false, m, n, n) + 2 * padded(m * n) + 2 * square + 3 * vector;
    const int64_t formed = geqrf_elements(n) + 32 + padded(m * n) + 2 * square + vector + orgqr_elements(m, m, n);
    return larger(applied, formed);
}

static int64_t jacobi_square_elements(int64_t n)
{
    const int64_t p = blocks(n);
    return padded(2 * n * n) + 1024 + 2048 * p + padded(n + 4 * p * p + p);
}

/* m > n. `full`: all m left vectors. */
static int64_t jacobi_tall_elements(bool full, int64_t m, int64_t n)
{
    const int64_t factorised = geqrf_elements(n) + 32, applied = ormqr_elements(true, m, full ? m : n, n);
    return larger(factorised, applied) + padded(n);
}

int64_t jacobi_svd_elements(bool full, int64_t m, int64_t n)
{
    if (m == n)
        return jacobi_square_elements(n);
    if (m < n)
        return padded(m * n) + jacobi_tall_elements(full, n, m);
    return larger(jacobi_tall_elements(full, m, n), jacobi_square_elements(n) + padded(n * n));
}

/* Through the eigenvalues of A'A, in double precision always; single precision keeps a converted copy. */
int64_t gram_svd_elements(int64_t m, int64_t n, int64_t batch, bool is_complex, bool single)
{
    const int64_t unit = is_complex ? 2 : 4, copy = round_up(batch * m * n, unit); /* 32 bytes */
    const int64_t eigen = n <= BLOCK ? batched_jacobi_elements(n, batch) : eigen_elements(n, batch);
    const int64_t values = is_complex ? round_up(batch * n, 4) / 2 : round_up(batch * n, 4);
    const int64_t work = single ? larger(eigen, copy) : eigen;
    const int64_t total = copy + round_up(batch * (n * n + 2 * n), unit) + values + work;
    return single ? 2 * total : total;
}

int64_t geev_bytes(int64_t n, int64_t element, bool is_complex)
{
    const int64_t square = larger(n * n, orgqr_elements(n - 1, n - 1, n - 1)) + 32;
    return round_up(square * element + n * element * (is_complex ? 7 : 8) / 2, 512);
}

/* The formulas are exact on all that was recorded. */
static int64_t size_or_guess(const char *name, int64_t largest_side, bool known, int64_t size)
{
    const struct vest_fact_query query = {
        .name = name,
        .version = VEST_CUDA_MAJOR,
        .unrecorded = !known || largest_side > LARGEST_RECORDED,
    };
    return (int64_t)vest_fact_size(FACT_CUSOLVER_WORKSPACE, &query, size > 0 ? (uint64_t)size : 0);
}

int answer(const char *name, int64_t largest_side, bool known, int64_t elements, int *count)
{
    if (!count)
        return INVALID_VALUE;
    elements = size_or_guess(name, largest_side, known, elements);
    *count = elements < 1 ? 1 : elements > INT_MAX ? INT_MAX : (int)elements;
    return SUCCESS;
}

int answer_bytes(const char *name, int64_t largest_side, int64_t bytes, size_t *on_device, size_t *on_host)
{
    if (!on_device || !on_host)
        return INVALID_VALUE;
    *on_device = (size_t)size_or_guess(name, largest_side, true, bytes);
    *on_host = 0;
    return SUCCESS;
}
