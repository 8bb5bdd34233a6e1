/* The stand-in in front of the real cuDNN, which is asked for plans (plans.c); nothing is executed.
 *
 * Calls that need a live handle are answered by a size model where there is one (rnn.c, legacy.c...) and by
 * a recorded refusal where there is none.
 */
#include "cudnn.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define VEST_LIBRARY "cudnn"
#define VEST_REFUSAL CUDNN_NOT_SUPPORTED

enum { SUCCESS = CUDNN_SUCCESS, ALLOC_FAILED = CUDNN_ALLOC_FAILED };

struct handle {
    int device;
    void *stream;
};

/* The machine code of plans is booked with the first handle. */
static struct vest_library overhead = {
    .name = "cudnn",
    .handle_bytes = FACT_VALUE(CUDNN_HANDLE),
    .first_bytes = FACT_VALUE(CUDNN_CODE),
};

void *vest_cudnn_real(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen("libcudnn.so.9", RTLD_LAZY | RTLD_NOLOAD);
    void *function = library ? dlsym(library, name) : NULL;
    if (!function) {
        fprintf(stderr, "veritasest: the installed cuDNN has no %s\n", name);
        abort();
    }
    return function;
}

int vest_cudnn_version(void)
{
    REAL(cudnnGetVersion, size_t, void)
    return (int)(function() / 100); /* 91900 for 9.19.0 */
}

uint64_t vest_cudnn_size(enum vest_fact fact, const char *name, bool unrecorded, uint64_t bytes)
{
    const struct vest_fact_query query = {.name = name, .version = vest_cudnn_version(), .unrecorded = unrecorded};
    return vest_fact_size(fact, &query, bytes);
}

/* Handles. */

VEST_EXPORT int cudnnCreate(struct handle **out)
{
    int device = vest_device();
    *out = vest_overhead_acquire(&overhead, device) ? calloc(1, sizeof **out) : NULL;
    if (!*out)
        return ALLOC_FAILED;
    (*out)->device = device;
    return SUCCESS;
}

VEST_EXPORT int cudnnDestroy(struct handle *handle)
{
    if (handle)
        vest_overhead_release(&overhead, handle->device);
    free(handle);
    return SUCCESS;
}

VEST_EXPORT int cudnnSetStream(struct handle *handle, void *stream)
{
    handle->stream = stream;
    return SUCCESS;
}

VEST_EXPORT int cudnnGetStream(struct handle *handle, void **stream)
{
    *stream = handle->stream;
    return SUCCESS;
}

#include "symbols/cudnn_noop.def"
#include "symbols/cudnn_unsupported.def"
