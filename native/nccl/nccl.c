/* NCCL: every communicator is this process alone, whatever its number of ranks.
 *
 * Collectives return at once. The other ranks are taken to hold what this one holds: a broadcast copies, a gather fills
 * every slot with this rank's part, a sum is this rank's number times the ranks. The agent hears of every move, so that
 * what was known before it is known after it: the lengths, flags and pickled objects that ranks tell each other. Only
 * up to MOVE_LIMIT: gigabytes of gathered weights decide nothing and would fill the host's memory.
 *
 * Known limitations: buffers that NCCL keeps on the device for itself are not modelled; products, and sums of half
 * precision numbers, over several ranks are this rank's own.
 */
#define VEST_LIBRARY "nccl"
#define VEST_REFUSAL 5 /* ncclInvalidUsage: NCCL has no "not supported" */
#include "stub.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/nccl_noop.def"
#include "symbols/nccl_unsupported.def"

enum { SUCCESS = 0, UNHANDLED_CUDA_ERROR = 1, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4 };
enum { VERSION_CODE = 22809, NO_COLOR = -1, FIRST_CUSTOM_OP = 5, SUM = 0 };
enum { MOVE_LIMIT = 64 << 20, SUM_LIMIT = 1 << 20 };

struct unique_id {
    char bytes[128];
};

struct comm {
    int ranks, rank, device;
    bool ranks_known; /* a split's size is only known to the other ranks */
};

struct simulation {
    size_t size;
    unsigned magic, version;
    float estimated_time;
};

/* A PMPI-style second name for every entry point. */
#define ALSO_P(name) VEST_EXPORT extern __typeof__(name) p##name __attribute__((alias(#name)));

VEST_EXPORT int ncclGetVersion(int *version)
{
    if (!version)
        return INVALID_ARGUMENT;
    *version = VERSION_CODE;
    return SUCCESS;
}
ALSO_P(ncclGetVersion)

/* Different at every call, the same in every run (splitmix64). */
VEST_EXPORT int ncclGetUniqueId(struct unique_id *out)
{
    static uint64_t calls;
    if (!out)
        return INVALID_ARGUMENT;
    uint64_t state = (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED)) << 32;
    for (size_t i = 0; i < sizeof *out; i += sizeof state) {
        state += 0x9e3779b97f4a7c15u;
        uint64_t word = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
        word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
        memcpy(out->bytes + i, &word, sizeof word);
    }
    return SUCCESS;
}
ALSO_P(ncclGetUniqueId)

static int create(struct comm **out, int ranks, int rank, int device)
{
    if (!out || ranks < 1 || rank < 0 || rank >= ranks)
        return INVALID_ARGUMENT;
    *out = malloc(sizeof **out);
    if (!*out)
        return SYSTEM_ERROR;
    **out = (struct comm){.ranks = ranks, .rank = rank, .device = device, .ranks_known = true};
    vest_log_unmodelled(VEST_LIBRARY, "memory of the communicator", "guessed");
    return SUCCESS;
}

VEST_EXPORT int ncclCommInitRank(struct comm **out, int ranks, struct unique_id id, int rank)
{
    (void)id;
    return create(out, ranks, rank, vest_device());
}
ALSO_P(ncclCommInitRank)

VEST_EXPORT int ncclCommInitRankConfig(struct comm **out, int ranks, struct unique_id id, int rank, void *config)
{
    (void)id, (void)config;
    return create(out, ranks, rank, vest_device());
}
ALSO_P(ncclCommInitRankConfig)

VEST_EXPORT int ncclCommInitRankScalable(struct comm **out, int ranks, int rank, int id_count, struct unique_id *ids,
                                         void *config)
{
    (void)id_count, (void)ids, (void)config;
    return create(out, ranks, rank, vest_device());
}
ALSO_P(ncclCommInitRankScalable)

VEST_EXPORT int ncclCommInitAll(struct comm **out, int devices, const int *list)
{
    int status = devices < 1 ? INVALID_ARGUMENT : SUCCESS;
    for (int i = 0; i < devices && !status; i++)
        status = create(&out[i], devices, i, list ? list[i] : i);
    return status;
}
ALSO_P(ncclCommInitAll)

/* The members of a colour are known to nobody here; the key is the rank that the caller wants. */
VEST_EXPORT int ncclCommSplit(struct comm *parent, int color, int key, struct comm **out, void *config)
{
    (void)config;
    if (!parent || !out)
        return INVALID_ARGUMENT;
    *out = NULL;
    if (color == NO_COLOR)
        return SUCCESS;
    int status = create(out, parent->ranks, key >= 0 && key < parent->ranks ? key : 0, parent->device);
    if (!status)
        (*out)->ranks_known = false;
    return status;
}
ALSO_P(ncclCommSplit)

VEST_EXPORT int ncclCommShrink(struct comm *parent, int *excluded, int count, struct comm **out, void *config,
                               int flags)
{
    (void)config, (void)flags;
    if (!parent || count < 0)
        return INVALID_ARGUMENT;
    int below = 0;
    for (int i = 0; i < count; i++)
        below += excluded[i] < parent->rank;
    return create(out, parent->ranks - count, parent->rank - below, parent->device);
}
ALSO_P(ncclCommShrink)

VEST_EXPORT int ncclCommDestroy(struct comm *comm)
{
    free(comm);
    return SUCCESS;
}
ALSO_P(ncclCommDestroy)

VEST_EXPORT int ncclCommAbort(struct comm *comm) { return ncclCommDestroy(comm); }
ALSO_P(ncclCommAbort)

#define FACT(name, field)                                                                                              \
    VEST_EXPORT int name(const struct comm *comm, int *out)                                                            \
    {                                                                                                                  \
        if (!comm || !out)                                                                                             \
            return INVALID_ARGUMENT;                                                                                   \
        *out = comm->field;                                                                                            \
        return SUCCESS;                                                                                                \
    }                                                                                                                  \
    ALSO_P(name)

FACT(ncclCommCount, ranks)
FACT(ncclCommUserRank, rank)
FACT(ncclCommCuDevice, device)

VEST_EXPORT int ncclCommGetAsyncError(struct comm *comm, int *error)
{
    (void)comm;
    if (!error)
        return INVALID_ARGUMENT;
    *error = SUCCESS;
    return SUCCESS;
}
ALSO_P(ncclCommGetAsyncError)

VEST_EXPORT const char *ncclGetErrorString(int status)
{
    static const char *const texts[] = {
        "no error",         "unhandled cuda error", "unhandled system error", "internal error",
        "invalid argument", "invalid usage",        "remote process exited",  "in progress",
    };
    return status >= 0 && status < (int)(sizeof texts / sizeof *texts) ? texts[status] : "unknown result code";
}
ALSO_P(ncclGetErrorString)

VEST_EXPORT const char *ncclGetLastError(struct comm *comm)
{
    (void)comm;
    return "";
}
ALSO_P(ncclGetLastError)

VEST_EXPORT int ncclGroupSimulateEnd(struct simulation *out)
{
    if (out)
        out->estimated_time = -1.0f; /* NCCL_UNDEF_FLOAT */
    return SUCCESS;
}
ALSO_P(ncclGroupSimulateEnd)

VEST_EXPORT int ncclMemAlloc(void **out, size_t bytes)
{
    if (!out)
        return INVALID_ARGUMENT;
    *out = vest_alloc(vest_device(), bytes);
    return *out ? SUCCESS : UNHANDLED_CUDA_ERROR;
}
ALSO_P(ncclMemAlloc)

VEST_EXPORT int ncclMemFree(void *address) { return !address || vest_free(address) ? SUCCESS : INVALID_ARGUMENT; }
ALSO_P(ncclMemFree)

static int new_handle(void **out)
{
    if (!out)
        return INVALID_ARGUMENT;
    *out = calloc(1, sizeof(int));
    return *out ? SUCCESS : SYSTEM_ERROR;
}

static int free_handle(void *handle)
{
    free(handle);
    return SUCCESS;
}

VEST_EXPORT int ncclCommRegister(const struct comm *comm, void *buffer, size_t bytes, void **handle)
{
    (void)comm, (void)buffer, (void)bytes;
    return new_handle(handle);
}
ALSO_P(ncclCommRegister)

VEST_EXPORT int ncclCommDeregister(const struct comm *comm, void *handle)
{
    (void)comm;
    return free_handle(handle);
}
ALSO_P(ncclCommDeregister)

VEST_EXPORT int ncclCommWindowRegister(struct comm *comm, void *buffer, size_t bytes, void **window, int flags)
{
    (void)comm, (void)buffer, (void)bytes, (void)flags;
    return new_handle(window);
}
ALSO_P(ncclCommWindowRegister)

VEST_EXPORT int ncclCommWindowDeregister(struct comm *comm, void *window)
{
    (void)comm;
    return free_handle(window);
}
ALSO_P(ncclCommWindowDeregister)

VEST_EXPORT int ncclRedOpCreatePreMulSum(int *op, void *scalar, int type, int residence, struct comm *comm)
{
    static int created;
    (void)scalar, (void)type, (void)residence, (void)comm;
    if (!op)
        return INVALID_ARGUMENT;
    *op = FIRST_CUSTOM_OP + __atomic_fetch_add(&created, 1, __ATOMIC_RELAXED) % 1000000;
    return SUCCESS;
}
ALSO_P(ncclRedOpCreatePreMulSum)

static size_t bytes_of(size_t count, int type)
{
    static const unsigned char sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}; /* ncclInt8 ... ncclFloat8e5m2 */
    return type >= 0 && type < (int)sizeof sizes ? count * sizes[type] : 0;
}

static int copy(void *to, const void *from, size_t bytes)
{
    if (bytes <= MOVE_LIMIT)
        vest_move(to, from, bytes);
    return SUCCESS;
}

#define TIMES(type)                                                                                                    \
    for (type *number = numbers; number < (type *)numbers + count; number++) {                                         \
        if (*number != 0) /* device memory that nobody wrote to stays so */                                            \
            *number = (type)(*number * (type)ranks);                                                                   \
    }

static void multiply(void *numbers, size_t count, int type, int ranks)
{
    switch (type) { /* ncclInt8 to ncclFloat64; signed numbers wrap around as unsigned ones do */
    case 0:
    case 1:
        TIMES(uint8_t)
        break;
    case 2:
    case 3:
        TIMES(uint32_t)
        break;
    case 4:
    case 5:
        TIMES(uint64_t)
        break;
    case 7:
        TIMES(float)
        break;
    case 8:
        TIMES(double)
        break;
    }
}

/* The reduction of this rank's part with the same from every other rank. */
static int reduce(void *to, const void *from, size_t count, int type, int op, const struct comm *comm)
{
    struct vest_extent extent;
    size_t bytes = bytes_of(count, type);
    copy(to, from, bytes);
    if (op == SUM && comm->ranks_known && comm->ranks > 1 && bytes && bytes <= SUM_LIMIT && vest_find(to, &extent) &&
        (uintptr_t)to + bytes <= extent.base + extent.bytes)
        multiply(to, count, type, comm->ranks);
    return SUCCESS;
}

/* Every slot that is known to exist gets this rank's part. */
static int fill_slots(char *to, const void *part, size_t bytes, const struct comm *comm)
{
    int first = comm->ranks_known ? 0 : comm->rank, last = comm->ranks_known ? comm->ranks : comm->rank + 1;
    if (bytes * (size_t)(last - first) > MOVE_LIMIT) {
        first = comm->rank;
        last = first + 1;
    }
    for (int slot = first; slot < last; slot++)
        copy(to + (size_t)slot * bytes, part, bytes);
    return SUCCESS;
}

VEST_EXPORT int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct comm *comm,
                              void *stream)
{
    vest_issue_transfer(stream);
    return reduce(to, from, count, type, op, comm);
}
ALSO_P(ncclAllReduce)

VEST_EXPORT int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root, struct comm *comm,
                           void *stream)
{
    vest_issue_transfer(stream);
    return comm->rank == root ? reduce(to, from, count, type, op, comm) : SUCCESS;
}
ALSO_P(ncclReduce)

VEST_EXPORT int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, struct comm *comm,
                              void *stream)
{
    vest_issue_transfer(stream);
    return comm->rank == root ? copy(to, from, bytes_of(count, type)) : SUCCESS;
}
ALSO_P(ncclBroadcast)

VEST_EXPORT int ncclAllGather(const void *from, void *to, size_t count, int type, struct comm *comm, void *stream)
{
    vest_issue_transfer(stream);
    return fill_slots(to, from, bytes_of(count, type), comm);
}
ALSO_P(ncclAllGather)

VEST_EXPORT int ncclGather(const void *from, void *to, size_t count, int type, int root, struct comm *comm,
                           void *stream)
{
    vest_issue_transfer(stream);
    return comm->rank == root ? fill_slots(to, from, bytes_of(count, type), comm) : SUCCESS;
}
ALSO_P(ncclGather)

VEST_EXPORT int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, struct comm *comm,
                                  void *stream)
{
    vest_issue_transfer(stream);
    return reduce(to, (const char *)from + (size_t)comm->rank * bytes_of(count, type), count, type, op, comm);
}
ALSO_P(ncclReduceScatter)

VEST_EXPORT int ncclScatter(const void *from, void *to, size_t count, int type, int root, struct comm *comm,
                            void *stream)
{
    vest_issue_transfer(stream);
    size_t bytes = bytes_of(count, type);
    return comm->rank == root ? copy(to, (const char *)from + (size_t)root * bytes, bytes) : SUCCESS;
}
ALSO_P(ncclScatter)

VEST_EXPORT int ncclAlltoAll(const void *from, void *to, size_t count, int type, struct comm *comm, void *stream)
{
    vest_issue_transfer(stream);
    size_t bytes = bytes_of(count, type);
    return fill_slots(to, (const char *)from + (size_t)comm->rank * bytes, bytes, comm);
}
ALSO_P(ncclAlltoAll)
