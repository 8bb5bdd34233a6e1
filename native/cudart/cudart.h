/* The stand-in for the CUDA runtime (libcudart): memory is honoured, kernel launches do nothing.
 *
 * Status numbers and struct layouts are those of the public API, declared here for the CUDA major version being built
 * (VEST_CUDA_MAJOR); tests compare the struct sizes with the installed headers.
 */
#ifndef VEST_CUDART_H
#define VEST_CUDART_H

#include "stub.h"

#define VEST_LIBRARY "cudart"
#define VEST_REFUSAL fail(NOT_SUPPORTED)

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_DEVICE = 101,
    ILLEGAL_STATE = 401,
    NOT_FOUND = 500,
    NOT_READY = 600,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
};

typedef struct vest_stream *stream_t;
typedef struct vest_event *event_t;

/* Returns `status`, which is the calling thread's last error from now on. */
int fail(int status);

/* Frees memory from a pool or from cudaMalloc, without waiting for the device. */
int free_memory(void *address);

#endif
