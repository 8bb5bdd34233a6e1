/* The size of the work area follows rules derived from 1,298 recorded plans (CUFFT_WORK_AREA in facts.def;
 * benchmarks/workspaces/score_libraries.py compares):
 *   - what one kernel can do needs none: smooth sizes that fit into shared memory, primes up to 4096 points (Bluestein
 *     on chip), powers of the primes 13, 17 and 19;
 *   - what needs two kernels needs a complex copy of the data;
 *   - a size with a prime factor above 127 that does not fit on chip needs two signals padded to the next 5-smooth
 *     length that holds 2n - 1 points (Bluestein);
 *   - real signals of even length are complex ones of half the length; of odd length, two of a batch become one.
 *
 * Known limitation: which even lengths have their own kernel is a list, and a list has gaps. Where no plan like
 * the one asked for was recorded the answer is the larger one, and recorded as a guess.
 */
#include "cufft.h"
#include "round.h"

enum { LARGEST_RADIX = 127, LARGEST_POWER_RADIX = 19, LARGEST_MIXED_RADIX = 11 };
enum {
    ALIGNMENT = 1024,
    STRIDED_BYTES = 8192,     /* one transform of a dimension that is not contiguous, or of mixed radices */
    BLUESTEIN_BYTES = 32768,  /* one transform of a size with a large prime factor */
    LARGEST_ODD = 4096,       /* points of a real transform of odd length that one kernel does */
    LARGEST_PRIME_SIDE = 521, /* the largest recorded, in more than one dimension */
    LARGEST_SIDE = 2048,      /* likewise, of any kind */
};

static wide largest_prime_factor(wide n)
{
    wide largest = 1;
    for (wide factor = 2; factor * factor <= n; factor++)
        for (; n % factor == 0; n /= factor)
            largest = factor;
    return n > 1 ? n : largest;
}

static bool is_power_of_two(wide n) { return (n & (n - 1)) == 0; }

static bool is_power_of(wide n, wide prime)
{
    while (n > 1 && n % prime == 0)
        n /= prime;
    return n == 1;
}

static bool in_list(wide n, const int *list)
{
    for (; *list; list++)
        if (*list == n)
            return true;
    return false;
}

/* The padded length of Bluestein's algorithm: no prime factor above 5. */
static wide bluestein_points(wide n)
{
    for (wide points = 2 * n - 1;; points++) {
        wide rest = points;
        for (wide factor = 2; factor <= 5; factor++)
            while (rest % factor == 0)
                rest /= factor;
        if (rest == 1)
            return points;
    }
}

/* A block's shared memory holds a whole contiguous transform: 232,448 bytes on Hopper. */
static bool fits_on_chip(wide bytes) { return bytes <= vest_gpu()->shared_optin_bytes; }

/* Several primes, and among them one that has kernels only for its own powers. */
static bool is_mixed(wide n)
{
    wide radix = largest_prime_factor(n);
    return radix > LARGEST_MIXED_RADIX && radix <= LARGEST_RADIX && !is_power_of(n, radix);
}

static wide bluestein_bytes(wide count, wide n, wide bytes) { return 2 * round_up(count * n * bytes, ALIGNMENT); }

static wide complex_line(const struct shape *shape, wide bytes, bool *known)
{
    wide n = shape->n[0], batch = shape->batch, radix = largest_prime_factor(n);
    if (radix > LARGEST_RADIX) {
        *known &= bytes < 16 || n < 1500 || n > 4096;
        return n * bytes <= BLUESTEIN_BYTES ? 0 : bluestein_bytes(batch, bluestein_points(n), bytes);
    }
    if (is_mixed(n)) {
        *known &= !shape->strided; /* recorded with a copy and without */
        return n * bytes <= STRIDED_BYTES && !shape->strided ? 0 : batch * n * bytes;
    }
    *known &= n * bytes <= 24000 * 8 || n * bytes >= 32768 * 8;
    *known &= radix != LARGEST_MIXED_RADIX || is_power_of(n, radix) || n * bytes <= STRIDED_BYTES;
    return fits_on_chip(n * bytes) ? 0 : batch * n * bytes;
}

/* Even lengths above 480 that one kernel does, and recorded ones up to 2000 that it does not. */
static const int EVEN_ON_CHIP[] = {600, 640, 720, 768, 800, 960, 1000, 1080, 1920, 0};
static const int EVEN_HALVED[] = {500, 802, 1018, 1200, 1280, 1536, 2000, 0};
/* Recorded with one point more than half of them, with no rule in sight. */
static const int EVEN_AND_ONE[] = {24000, 44100, 0};

static bool even_fits(wide n, wide bytes, bool *known)
{
    if (is_power_of_two(n)) {
        *known &= bytes < 16 || n != 4096;
        return n <= (bytes < 16 ? 16384 : 2048);
    }
    if (is_mixed(n)) {
        *known &= n == 26 || n == 34;
        return n == 26;
    }
    if (n <= 480 || in_list(n, EVEN_ON_CHIP))
        return largest_prime_factor(n) <= LARGEST_RADIX;
    *known &= n > 2000 || in_list(n, EVEN_HALVED);
    return false;
}

static bool odd_fits(wide n, bool *known)
{
    wide radix = largest_prime_factor(n);
    if (radix > LARGEST_RADIX || is_mixed(n))
        return false;
    if (radix > LARGEST_MIXED_RADIX)
        return radix <= LARGEST_POWER_RADIX || n == radix;
    *known &= n <= 441 || is_power_of(n, radix);
    return n <= LARGEST_ODD;
}

static wide half_length(wide n, wide batch, wide bytes, bool *known)
{
    wide radix = largest_prime_factor(n);
    /* Two kernels leave the last point of the half spectrum in the work area. */
    bool large = n > 65536 || (n == 65536 && bytes <= 8) || (n > 32768 && bytes > 8);
    wide copy = batch * (n / 2 + (large || in_list(n, EVEN_AND_ONE))) * bytes;
    if (radix <= LARGEST_RADIX || n / 2 <= LARGEST_ODD)
        return copy;
    *known = false;
    return copy + bluestein_bytes(batch, bluestein_points(n / 2) + 1, bytes);
}

/* Neither a kernel for its powers nor Bluestein on chip. */
static bool is_rough(wide n)
{
    wide radix = largest_prime_factor(n);
    return radix > LARGEST_POWER_RADIX && radix <= LARGEST_RADIX && n != radix;
}

/* The last dimension is odd. */
static wide odd_length(const struct shape *shape, wide bytes)
{
    wide n = shape->n[shape->rank - 1], pairs = (shape->batch + 1) / 2;
    bool padded = false;
    for (int i = 0; i < shape->rank; i++)
        padded |= is_rough(shape->n[i]);
    for (int i = 0; i < shape->rank - 1; i++)
        pairs *= shape->n[i];
    if (largest_prime_factor(n) > LARGEST_RADIX && n > LARGEST_ODD)
        return pairs * n * bytes + bluestein_bytes(pairs, bluestein_points(n) + 1, bytes);
    return pairs * n * bytes + round_up(pairs * (n + padded) * bytes, ALIGNMENT);
}

static wide real_line(const struct shape *shape, wide bytes, bool *known)
{
    wide n = shape->n[0];
    if (n == 1)
        return 0;
    *known &= !shape->strided; /* recorded with a copy and without */
    if (n % 2 == 0)
        return !shape->strided && even_fits(n, bytes, known) ? 0 : half_length(n, shape->batch, bytes, known);
    return !shape->strided && odd_fits(n, known) ? 0 : odd_length(shape, bytes);
}

/* Whether a dimension of a transform of several makes two kernels of it. */
static bool side_needs_copy(wide n, bool contiguous, wide bytes, bool *known)
{
    *known &= n <= LARGEST_SIDE;
    if (is_mixed(n)) {
        *known &= n == 65 || n == 129;
        return true;
    }
    if (contiguous)
        return !fits_on_chip(n * bytes);
    return n > LARGEST_SIDE || (!is_power_of_two(n) && n * bytes > STRIDED_BYTES);
}

static bool has_large_prime(const struct shape *shape, int sides, bool *known)
{
    for (int i = 0; i < sides; i++)
        if (largest_prime_factor(shape->n[i]) > LARGEST_RADIX) {
            *known &= shape->n[i] <= LARGEST_PRIME_SIDE;
            return shape->n[i] <= LARGEST_PRIME_SIDE;
        }
    return false;
}

static wide several_dimensions(const struct shape *shape, wide bytes, bool *known)
{
    int last = shape->rank - 1;
    wide n = shape->n[last], lines = 1, points;
    bool real = shape->kind != COMPLEX, copy = false;
    for (int i = 0; i < last; i++)
        lines *= shape->n[i];
    if (real && n % 2 && n > 1 && !odd_fits(n, known))
        return odd_length(shape, bytes);
    if (has_large_prime(shape, real ? last : shape->rank, known))
        return 0;
    points = lines * (real ? n / 2 + 1 : n);
    for (int i = 0; i < last; i++)
        copy |= side_needs_copy(shape->n[i], false, bytes, known);
    copy |= real ? n % 2 == 0 && !even_fits(n, bytes, known) : side_needs_copy(n, true, bytes, known);
    return copy ? shape->batch * points * bytes : 0;
}

static size_t work_bytes_of(const struct shape *shape, bool *known)
{
    wide bytes = (wide)shape->complex_bytes, largest = 1, work;
    *known = !shape->embedded || (shape->rank == 1 && shape->kind == COMPLEX);
    for (int i = 0; i < shape->rank; i++)
        largest = shape->n[i] > largest ? shape->n[i] : largest;
    if (bytes == 4)
        *known &= is_power_of_two(largest) && largest <= (shape->rank == 1 ? 8192 : 512);
    if (shape->rank > 1)
        work = several_dimensions(shape, bytes, known);
    else if (shape->kind == COMPLEX)
        work = complex_line(shape, bytes, known);
    else
        work = real_line(shape, bytes, known);
    return (size_t)work;
}

/* A complex copy of the data: what a transform of two kernels needs. */
static uint64_t copy_bytes(const struct shape *shape)
{
    uint64_t points = (uint64_t)shape->batch;
    for (int i = 0; i < shape->rank; i++)
        points *= (uint64_t)shape->n[i];
    return points * shape->complex_bytes;
}

int size_of(const char *name, const struct shape *shape, size_t *work_bytes)
{
    if (shape->rank < 1 || shape->rank > MAX_RANK || !shape->n || shape->batch < 1 || !shape->complex_bytes)
        return INVALID_VALUE;
    for (int i = 0; i < shape->rank; i++)
        if (shape->n[i] < 1)
            return INVALID_VALUE;
    bool known;
    const size_t bytes = work_bytes_of(shape, &known);
    const struct vest_fact_query query = {
        .name = name,
        .version = VEST_CUDA_MAJOR,
        .unrecorded = !known,
        .most = copy_bytes(shape),
    };
    *work_bytes = vest_fact_size(FACT_CUFFT_WORK_AREA, &query, bytes);
    return SUCCESS;
}
