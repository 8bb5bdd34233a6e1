/* Stands in front of the real cuDNN: plans are asked of it (cudnn_plans.c), nothing is executed.
 *
 * Calls that need a live handle are answered by a size model where there is one (cudnn_rnn.c, cudnn_legacy.c...) and by
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

/* Seen on an H200: what every handle takes, and the machine code of plans, 2 to 8 MiB in all, booked with the first. */
#define HANDLE_BYTES (8ull << 20)
#define CODE_BYTES (8ull << 20)

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

/* Handles. */

VEST_EXPORT int cudnnCreate(struct handle **out)
{
    static bool taken[VEST_MAX_DEVICES];
    int device = vest_device();
    bool first = !__atomic_exchange_n(&taken[device], true, __ATOMIC_RELAXED);
    *out = NULL;
    if (!vest_library_takes("cudnn", device, HANDLE_BYTES + (first ? CODE_BYTES : 0)))
        return ALLOC_FAILED;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return ALLOC_FAILED;
    (*out)->device = device;
    return SUCCESS;
}

VEST_EXPORT int cudnnDestroy(struct handle *handle)
{
    if (handle)
        vest_library_gives("cudnn", handle->device, HANDLE_BYTES);
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

#include "tables/cudnn_nothing.def"
#include "tables/cudnn_unknown.def"
