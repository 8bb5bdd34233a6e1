/* The stand-in for NCCL: every communicator is this process alone, whatever its number of ranks.
 *
 * Known limitation: the buffers that NCCL itself keeps on the device are not modelled.
 */
#ifndef VEST_NCCL_H
#define VEST_NCCL_H

#define VEST_LIBRARY "nccl"
#define VEST_REFUSAL 5 /* ncclInvalidUsage: NCCL has no "not supported" */
#include "stub.h"

enum { SUCCESS = 0, UNHANDLED_CUDA_ERROR = 1, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4 };

struct comm {
    int ranks, rank, device;
    bool ranks_known; /* a split's size is only known to the other ranks */
};

/* A PMPI-style second name for every entry point. */
#define ALSO_P(name) VEST_EXPORT extern __typeof__(name) p##name __attribute__((alias(#name)));

#endif
