/* cuFFT: plans are numbers with a work area; transforms do nothing.
 *
 * The size of the work area follows rules read off 1,298 recorded plans (CUFFT_WORK_AREA in facts.def;
 * benchmarks/workspaces/score_libraries.py compares):
 *   - what one kernel can do needs none: smooth sizes that fit into shared memory, primes up to 4096 points (Bluestein
 *     on chip), powers of the primes 13, 17 and 19;
 *   - what takes two kernels needs a complex copy of the data;
 *   - a size with a prime factor above 127 that does not fit on chip needs two signals padded to the next 5-smooth
 *     length that holds 2n - 1 points (Bluestein);
 *   - real signals of even length are complex ones of half the length; of odd length, two of a batch become one.
 *
 * Known limitation: which even lengths have a kernel of their own is a list, and a list has gaps. Where no plan like
 * the one asked for was recorded the answer is the larger one, and recorded as a guess.
 */
#define VEST_LIBRARY "cufft"
#define VEST_REFUSAL 16 /* CUFFT_NOT_SUPPORTED */
#include "facts/facts.h"
#include "stub.h"

#include <pthread.h>
#include <stdlib.h>

#include "symbols/cufft_noop.def"
#include "symbols/cufft_unsupported.def"

typedef long long wide;

enum { SUCCESS = 0, INVALID_PLAN = 1, ALLOC_FAILED = 2, INVALID_VALUE = 4 };
enum { MAX_RANK = 3, LARGEST_RADIX = 127, LARGEST_POWER_RADIX = 19, LARGEST_MIXED_RADIX = 11 };
enum {
    ALIGNMENT = 1024,
    STRIDED_BYTES = 8192,     /* one transform of a dimension that is not contiguous, or of mixed radices */
    BLUESTEIN_BYTES = 32768,  /* one transform of a size with a large prime factor */
    LARGEST_ODD = 4096,       /* points of a real transform of odd length that one kernel does */
    LARGEST_PRIME_SIDE = 521, /* the largest recorded, in more than one dimension */
    LARGEST_SIDE = 2048,      /* likewise, of any kind */
};

struct plan {
    bool used, manual; /* manual: the caller brings the work area */
    size_t work_bytes;
    void *work;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct plan *plans;
static int capacity;

static bool grow(void)
{
    int larger = capacity ? 2 * capacity : 64;
    struct plan *moved = realloc(plans, (size_t)larger * sizeof *plans);
    if (!moved)
        return false;
    for (int i = capacity; i < larger; i++)
        moved[i] = (struct plan){0};
    plans = moved;
    capacity = larger;
    return true;
}

/* With the lock held. Handle 0 is never given: callers use it for "none". */
static struct plan *find(int handle)
{
    return handle > 0 && handle < capacity && plans[handle].used ? &plans[handle] : NULL;
}

static struct vest_library overhead = {.name = "cufft", .first_bytes = FACT_VALUE(CUFFT_FIRST_PLAN)};

VEST_EXPORT int cufftCreate(int *handle)
{
    if (!handle)
        return INVALID_VALUE;
    if (!vest_overhead_acquire(&overhead, vest_device()))
        return ALLOC_FAILED;
    pthread_mutex_lock(&lock);
    int free_slot = 1;
    while (free_slot < capacity && plans[free_slot].used)
        free_slot++;
    bool ok = free_slot < capacity || grow();
    if (ok) {
        plans[free_slot] = (struct plan){.used = true};
        *handle = free_slot;
    }
    pthread_mutex_unlock(&lock);
    return ok ? SUCCESS : ALLOC_FAILED;
}

VEST_EXPORT int cufftDestroy(int handle)
{
    pthread_mutex_lock(&lock);
    struct plan *plan = find(handle);
    void *work = plan ? plan->work : NULL;
    if (plan)
        *plan = (struct plan){0};
    pthread_mutex_unlock(&lock);
    if (work)
        vest_free(work);
    return plan ? SUCCESS : INVALID_PLAN;
}

VEST_EXPORT int cufftSetAutoAllocation(int handle, int automatic)
{
    pthread_mutex_lock(&lock);
    struct plan *plan = find(handle);
    if (plan)
        plan->manual = !automatic;
    pthread_mutex_unlock(&lock);
    return plan ? SUCCESS : INVALID_PLAN;
}

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

static wide round_up(wide value, wide step) { return (value + step - 1) / step * step; }

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

static int size_of(const char *name, const struct shape *shape, size_t *work_bytes)
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

static int make(const char *name, int handle, struct shape shape, size_t *out)
{
    size_t bytes = 0;
    int status = size_of(name, &shape, &bytes);
    if (status)
        return status;
    pthread_mutex_lock(&lock);
    struct plan *plan = find(handle);
    bool allocate = plan && !plan->manual && bytes;
    if (plan)
        plan->work_bytes = bytes;
    if (allocate && !plan->work)
        plan->work = vest_alloc(vest_device(), bytes);
    if (!plan)
        status = INVALID_PLAN;
    else if (allocate && !plan->work)
        status = ALLOC_FAILED;
    pthread_mutex_unlock(&lock);
    if (out)
        *out = bytes;
    return status;
}

/* cufftType: R2C 0x2a, C2R 0x2c, C2C 0x29; double precision types have the bit 0x40 more. */
static struct shape typed(int rank, const wide *n, wide batch, int type)
{
    int bare = type & ~0x40;
    return (struct shape){
        .rank = rank,
        .n = n,
        .batch = batch,
        .kind = bare == 0x2a ? REAL_TO_COMPLEX : bare == 0x2c ? COMPLEX_TO_REAL : COMPLEX,
        .complex_bytes = type & 0x40 ? 16 : 8,
    };
}

/* cudaDataType: CUDA_R_32F 0, R_64F 1, R_16F 2, R_16BF 14; complex: C_32F 4, C_64F 5, C_16F 6, C_16BF 15. */
static bool is_real_data(int type) { return type == 0 || type == 1 || type == 2 || type == 14; }

static size_t complex_bytes_of_data(int type)
{
    switch (type) {
    case 2: case 6: case 14: case 15: return 4;
    case 1: case 5: return 16;
    default: return 8;
    }
}

static const wide *widen(int rank, const int *n, wide *out)
{
    for (int i = 0; n && i < rank && i < MAX_RANK; i++)
        out[i] = n[i];
    return n ? out : NULL;
}

VEST_EXPORT int cufftGetSize(int handle, size_t *work_bytes)
{
    pthread_mutex_lock(&lock);
    struct plan *plan = find(handle);
    if (plan)
        *work_bytes = plan->work_bytes;
    pthread_mutex_unlock(&lock);
    return plan ? SUCCESS : INVALID_PLAN;
}

VEST_EXPORT int cufftMakePlan1d(int handle, int nx, int type, int batch, size_t *work_bytes)
{
    return make(__func__, handle, typed(1, (wide[]){nx}, batch, type), work_bytes);
}

VEST_EXPORT int cufftMakePlan2d(int handle, int nx, int ny, int type, size_t *work_bytes)
{
    return make(__func__, handle, typed(2, (wide[]){nx, ny}, 1, type), work_bytes);
}

VEST_EXPORT int cufftMakePlan3d(int handle, int nx, int ny, int nz, int type, size_t *work_bytes)
{
    return make(__func__, handle, typed(3, (wide[]){nx, ny, nz}, 1, type), work_bytes);
}

#define LAYOUT_ARGUMENTS(integer)                                                                                      \
    integer *in_embed, integer in_stride, integer in_distance, integer *out_embed, integer out_stride,                 \
        integer out_distance

/* Strides count only where embeddings are given. */
#define LAY_OUT(shape)                                                                                                 \
    do {                                                                                                               \
        (void)in_distance, (void)out_distance;                                                                         \
        (shape).embedded = in_embed || out_embed;                                                                      \
        (shape).strided = (in_embed && in_stride != 1) || (out_embed && out_stride != 1);                              \
    } while (0)

VEST_EXPORT int cufftMakePlanMany(int handle, int rank, int *n, LAYOUT_ARGUMENTS(int), int type, int batch,
                                  size_t *work_bytes)
{
    wide wider[MAX_RANK];
    struct shape shape = typed(rank, widen(rank, n, wider), batch, type);
    LAY_OUT(shape);
    return make(__func__, handle, shape, work_bytes);
}

VEST_EXPORT int cufftMakePlanMany64(int handle, int rank, wide *n, LAYOUT_ARGUMENTS(wide), int type, wide batch,
                                    size_t *work_bytes)
{
    struct shape shape = typed(rank, n, batch, type);
    LAY_OUT(shape);
    return make(__func__, handle, shape, work_bytes);
}

VEST_EXPORT int cufftXtMakePlanMany(int handle, int rank, wide *n, wide *in_embed, wide in_stride, wide in_distance,
                                    int in_type, wide *out_embed, wide out_stride, wide out_distance, int out_type,
                                    wide batch, size_t *work_bytes, int arithmetic)
{
    struct shape shape = {.rank = rank, .n = n, .batch = batch, .complex_bytes = complex_bytes_of_data(arithmetic)};
    shape.kind = is_real_data(in_type) ? REAL_TO_COMPLEX : is_real_data(out_type) ? COMPLEX_TO_REAL : COMPLEX;
    LAY_OUT(shape);
    return make(__func__, handle, shape, work_bytes);
}

static int plan_now(int *handle, struct shape shape)
{
    int status = cufftCreate(handle);
    if (status)
        return status;
    status = make("cufftPlanMany", *handle, shape, NULL);
    if (status)
        cufftDestroy(*handle);
    return status;
}

VEST_EXPORT int cufftPlan1d(int *handle, int nx, int type, int batch)
{
    return plan_now(handle, typed(1, (wide[]){nx}, batch, type));
}

VEST_EXPORT int cufftPlan2d(int *handle, int nx, int ny, int type)
{
    return plan_now(handle, typed(2, (wide[]){nx, ny}, 1, type));
}

VEST_EXPORT int cufftPlan3d(int *handle, int nx, int ny, int nz, int type)
{
    return plan_now(handle, typed(3, (wide[]){nx, ny, nz}, 1, type));
}

VEST_EXPORT int cufftPlanMany(int *handle, int rank, int *n, LAYOUT_ARGUMENTS(int), int type, int batch)
{
    wide wider[MAX_RANK];
    struct shape shape = typed(rank, widen(rank, n, wider), batch, type);
    LAY_OUT(shape);
    return plan_now(handle, shape);
}

static int estimate(const char *name, struct shape shape, size_t *work_bytes)
{
    return size_of(name, &shape, work_bytes);
}

VEST_EXPORT int cufftEstimate1d(int nx, int type, int batch, size_t *work_bytes)
{
    return estimate(__func__, typed(1, (wide[]){nx}, batch, type), work_bytes);
}

VEST_EXPORT int cufftEstimate2d(int nx, int ny, int type, size_t *work_bytes)
{
    return estimate(__func__, typed(2, (wide[]){nx, ny}, 1, type), work_bytes);
}

VEST_EXPORT int cufftEstimate3d(int nx, int ny, int nz, int type, size_t *work_bytes)
{
    return estimate(__func__, typed(3, (wide[]){nx, ny, nz}, 1, type), work_bytes);
}

VEST_EXPORT int cufftEstimateMany(int rank, int *n, LAYOUT_ARGUMENTS(int), int type, int batch, size_t *work_bytes)
{
    wide wider[MAX_RANK];
    struct shape shape = typed(rank, widen(rank, n, wider), batch, type);
    LAY_OUT(shape);
    return estimate(__func__, shape, work_bytes);
}

VEST_EXPORT int cufftGetVersion(int *version)
{
    const int *parts = vest_version(VEST_CUFFT, VEST_CUDA_MAJOR)->parts;
    *version = parts[0] * 1000 + parts[1] * 100 + parts[2];
    return SUCCESS;
}

VEST_EXPORT int cufftGetProperty(int which, int *value)
{
    if (which < 0 || which > 2 || !value)
        return INVALID_VALUE;
    *value = vest_version(VEST_CUFFT, VEST_CUDA_MAJOR)->parts[which];
    return SUCCESS;
}
