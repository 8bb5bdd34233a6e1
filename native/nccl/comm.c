/* Communicators, registered buffers, and what else is not a collective. */
#include "nccl.h"
#include "facts/facts.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/nccl_noop.def"
#include "symbols/nccl_unsupported.def"

enum { NO_COLOR = -1, FIRST_CUSTOM_OP = 5 };

struct unique_id {
    char bytes[128];
};

struct simulation {
    size_t size;
    unsigned magic, version;
    float estimated_time;
};

VEST_EXPORT int ncclGetVersion(int *version)
{
    if (!version)
        return INVALID_ARGUMENT;
    const int *parts = vest_version(VEST_NCCL, 0)->parts;
    *version = parts[0] * 10000 + parts[1] * 100 + parts[2];
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

/* Which ranks have the same colour is not known here; the key is the rank that the caller wants. */
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
