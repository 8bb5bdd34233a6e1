/* cuFFT: plans are numbers with a work area; transforms do nothing.
 *
 * Known limitation: the size of the work area is a guess, and recorded as one. The documentation gives only an upper shape
 * ("batch * product(n) * sizeof(cufftComplex)", more where Bluestein's algorithm is needed), so the guess is:
 *   - one dimension, no prime factor above 7, at most 16384 points: 0, the data stay on chip;
 *   - no prime factor above 127: one complex copy of the data;
 *   - otherwise (Bluestein): one copy with the offending dimension padded to the power of two that holds 2n - 1 points.
 */
#define VEST_LIBRARY "cufft"
#define VEST_REFUSAL 16 /* CUFFT_NOT_SUPPORTED */
#include "stub.h"

#include <pthread.h>
#include <stdlib.h>

#include "tables/cufft_nothing.def"
#include "tables/cufft_unknown.def"

typedef long long wide;

enum { SUCCESS = 0, INVALID_PLAN = 1, ALLOC_FAILED = 2, INVALID_VALUE = 4 };
enum { MAX_RANK = 3, LARGEST_RADIX = 127, ON_CHIP_POINTS = 16384 };

/* The cuFFT that the reference torch build of each CUDA major ships. */
#if VEST_CUDA_MAJOR >= 13
static const int VERSION[3] = {12, 0, 0};
#else
static const int VERSION[3] = {11, 3, 3};
#endif

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

VEST_EXPORT int cufftCreate(int *handle)
{
    if (!handle)
        return INVALID_VALUE;
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

static wide largest_prime_factor(wide n)
{
    wide largest = 1;
    for (wide factor = 2; factor * factor <= n; factor++)
        for (; n % factor == 0; n /= factor)
            largest = factor;
    return n > 1 ? n : largest;
}

static wide padded_points(wide n)
{
    wide power = 1;
    while (power < 2 * n - 1)
        power *= 2;
    return power;
}

static size_t guess_work_bytes(int rank, const wide *n, wide batch, size_t complex_bytes)
{
    double points = (double)batch, padding = 1;
    wide radix = 1;
    for (int i = 0; i < rank; i++) {
        wide factor = largest_prime_factor(n[i]);
        points *= (double)n[i];
        if (factor > radix)
            radix = factor;
        if (factor > LARGEST_RADIX && (double)padded_points(n[i]) / (double)n[i] > padding)
            padding = (double)padded_points(n[i]) / (double)n[i];
    }
    if (rank == 1 && radix <= 7 && n[0] <= ON_CHIP_POINTS)
        return 0;
    return (size_t)(points * padding + 0.5) * complex_bytes;
}

static int size_of(const char *name, int rank, const wide *n, wide batch, size_t complex_bytes, size_t *work_bytes)
{
    if (rank < 1 || rank > MAX_RANK || !n || batch < 1 || !complex_bytes)
        return INVALID_VALUE;
    for (int i = 0; i < rank; i++)
        if (n[i] < 1)
            return INVALID_VALUE;
    vest_log_unmodelled(VEST_LIBRARY, name, "guessed");
    *work_bytes = guess_work_bytes(rank, n, batch, complex_bytes);
    return SUCCESS;
}

static int make(const char *name, int handle, int rank, const wide *n, wide batch, size_t complex_bytes, size_t *out)
{
    size_t bytes = 0;
    int status = size_of(name, rank, n, batch, complex_bytes, &bytes);
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

/* cufftType: double precision types have the bit 0x40. */
static size_t complex_bytes_of(int type) { return type & 0x40 ? 16 : 8; }

/* cudaDataType of the arithmetic: half, bfloat16, double, or else single precision. */
static size_t complex_bytes_of_data(int type)
{
    switch (type) {
    case 6: case 15: return 4; /* CUDA_C_16F, CUDA_C_16BF */
    case 5: return 16;         /* CUDA_C_64F */
    default: return 8;
    }
}

static const wide *widen(int rank, const int *n, wide *out)
{
    for (int i = 0; i < rank && i < MAX_RANK; i++)
        out[i] = n[i];
    return out;
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
    return make(__func__, handle, 1, (wide[]){nx}, batch, complex_bytes_of(type), work_bytes);
}

VEST_EXPORT int cufftMakePlan2d(int handle, int nx, int ny, int type, size_t *work_bytes)
{
    return make(__func__, handle, 2, (wide[]){nx, ny}, 1, complex_bytes_of(type), work_bytes);
}

VEST_EXPORT int cufftMakePlan3d(int handle, int nx, int ny, int nz, int type, size_t *work_bytes)
{
    return make(__func__, handle, 3, (wide[]){nx, ny, nz}, 1, complex_bytes_of(type), work_bytes);
}

#define LAYOUT_ARGUMENTS(integer)                                                                                      \
    integer *in_embed, integer in_stride, integer in_distance, integer *out_embed, integer out_stride,                 \
        integer out_distance
#define IGNORE_LAYOUT                                                                                                  \
    (void)in_embed, (void)in_stride, (void)in_distance, (void)out_embed, (void)out_stride, (void)out_distance

VEST_EXPORT int cufftMakePlanMany(int handle, int rank, int *n, LAYOUT_ARGUMENTS(int), int type, int batch,
                                  size_t *work_bytes)
{
    IGNORE_LAYOUT;
    wide wider[MAX_RANK];
    return make(__func__, handle, rank, widen(rank, n, wider), batch, complex_bytes_of(type), work_bytes);
}

VEST_EXPORT int cufftMakePlanMany64(int handle, int rank, wide *n, LAYOUT_ARGUMENTS(wide), int type, wide batch,
                                    size_t *work_bytes)
{
    IGNORE_LAYOUT;
    return make(__func__, handle, rank, n, batch, complex_bytes_of(type), work_bytes);
}

VEST_EXPORT int cufftXtMakePlanMany(int handle, int rank, wide *n, wide *in_embed, wide in_stride, wide in_distance,
                                    int in_type, wide *out_embed, wide out_stride, wide out_distance, int out_type,
                                    wide batch, size_t *work_bytes, int arithmetic)
{
    IGNORE_LAYOUT, (void)in_type, (void)out_type;
    return make(__func__, handle, rank, n, batch, complex_bytes_of_data(arithmetic), work_bytes);
}

static int plan_now(int *handle, int rank, const wide *n, wide batch, int type)
{
    int status = cufftCreate(handle);
    if (status)
        return status;
    status = make("cufftPlanMany", *handle, rank, n, batch, complex_bytes_of(type), NULL);
    if (status)
        cufftDestroy(*handle);
    return status;
}

VEST_EXPORT int cufftPlan1d(int *handle, int nx, int type, int batch)
{
    return plan_now(handle, 1, (wide[]){nx}, batch, type);
}

VEST_EXPORT int cufftPlan2d(int *handle, int nx, int ny, int type)
{
    return plan_now(handle, 2, (wide[]){nx, ny}, 1, type);
}

VEST_EXPORT int cufftPlan3d(int *handle, int nx, int ny, int nz, int type)
{
    return plan_now(handle, 3, (wide[]){nx, ny, nz}, 1, type);
}

VEST_EXPORT int cufftPlanMany(int *handle, int rank, int *n, LAYOUT_ARGUMENTS(int), int type, int batch)
{
    IGNORE_LAYOUT;
    wide wider[MAX_RANK];
    return plan_now(handle, rank, widen(rank, n, wider), batch, type);
}

VEST_EXPORT int cufftEstimate1d(int nx, int type, int batch, size_t *work_bytes)
{
    return size_of(__func__, 1, (wide[]){nx}, batch, complex_bytes_of(type), work_bytes);
}

VEST_EXPORT int cufftEstimate2d(int nx, int ny, int type, size_t *work_bytes)
{
    return size_of(__func__, 2, (wide[]){nx, ny}, 1, complex_bytes_of(type), work_bytes);
}

VEST_EXPORT int cufftEstimate3d(int nx, int ny, int nz, int type, size_t *work_bytes)
{
    return size_of(__func__, 3, (wide[]){nx, ny, nz}, 1, complex_bytes_of(type), work_bytes);
}

VEST_EXPORT int cufftEstimateMany(int rank, int *n, LAYOUT_ARGUMENTS(int), int type, int batch, size_t *work_bytes)
{
    IGNORE_LAYOUT;
    wide wider[MAX_RANK];
    return size_of(__func__, rank, widen(rank, n, wider), batch, complex_bytes_of(type), work_bytes);
}

VEST_EXPORT int cufftGetVersion(int *version)
{
    *version = VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2];
    return SUCCESS;
}

VEST_EXPORT int cufftGetProperty(int which, int *value)
{
    if (which < 0 || which > 2 || !value)
        return INVALID_VALUE;
    *value = VERSION[which];
    return SUCCESS;
}
