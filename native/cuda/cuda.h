/* The stand-in for the CUDA driver (libcuda.so.1): public entry points only.
 *
 * PyTorch calls it for expandable segments (cuMem*), run-time compiled kernels and pointer queries; Triton for its
 * launches. Interfaces that are not public (cuGetExportTable) are answered "not found".
 */
#ifndef VEST_CUDA_H
#define VEST_CUDA_H

#include "stub.h"

#define VEST_LIBRARY "cuda"
#define VEST_REFUSAL NOT_SUPPORTED

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_DEVICE = 101,
    ILLEGAL_STATE = 401,
    NOT_FOUND = 500,
    NOT_READY = 600,
    NOT_SUPPORTED = 801,
};

typedef unsigned long long address_t;
typedef struct vest_stream *stream_t;
typedef struct vest_event *event_t;

static inline void *pointer(address_t address) { return (void *)(uintptr_t)address; }
static inline int known_device(int device)
{
    return device >= 0 && device < vest_gpu()->count ? SUCCESS : INVALID_DEVICE;
}

/* A device's context: there is one per device. */
void *vest_context(int device);

#endif
