/* Collectives return at once. The other ranks are assumed to hold what this one holds: a broadcast copies, a gather
 * fills every slot with this rank's part, a sum is this rank's number times the ranks. The agent is notified of every
 * copy, so that what was known before it is known after it: the lengths, flags and pickled objects that ranks send each
 * other. Only up to COPY_LIMIT: gigabytes of gathered weights control nothing and would fill the host's memory.
 *
 * Known limitation: products, and sums of half-precision numbers, over several ranks are this rank's own.
 */
#include "nccl.h"

enum { SUM = 0 };
enum { COPY_LIMIT = 64 << 20, SUM_LIMIT = 1 << 20 };
enum { ncclInt8, ncclUint8, ncclInt32, ncclUint32, ncclInt64, ncclUint64, ncclFloat16, ncclFloat32, ncclFloat64 };

static size_t bytes_of(size_t count, int type)
{
    static const unsigned char sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}; /* ncclInt8 ... ncclFloat8e5m2 */
    return type >= 0 && type < (int)sizeof sizes ? count * sizes[type] : 0;
}

static int copy(void *to, const void *from, size_t bytes)
{
    if (bytes <= COPY_LIMIT)
        vest_move(to, from, bytes);
    return SUCCESS;
}

#define TIMES(type)                                                                                                    \
    for (type *number = numbers; number < (type *)numbers + count; number++) {                                         \
        if (*number != 0) /* memory that was never written stays that way */                                           \
            *number = (type)(*number * (type)ranks);                                                                   \
    }

static void multiply(void *numbers, size_t count, int type, int ranks)
{
    switch (type) { /* signed numbers wrap around as unsigned ones do */
    case ncclInt8:
    case ncclUint8:
        TIMES(uint8_t)
        break;
    case ncclInt32:
    case ncclUint32:
        TIMES(uint32_t)
        break;
    case ncclInt64:
    case ncclUint64:
        TIMES(uint64_t)
        break;
    case ncclFloat32:
        TIMES(float)
        break;
    case ncclFloat64:
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
    if (bytes * (size_t)(last - first) > COPY_LIMIT) {
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
