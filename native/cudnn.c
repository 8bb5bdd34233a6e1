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
    void *stream;
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

/* Handles. */

VEST_EXPORT int cudnnCreate(struct handle **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? SUCCESS : ALLOC_FAILED;
}

VEST_EXPORT int cudnnDestroy(struct handle *handle)
{
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
