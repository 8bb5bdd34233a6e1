/* Stands in front of the real cuDNN: plans are asked of it (cudnn_plans.c), nothing is executed.
 *
 * Calls that need a live handle are answered here, by a size model where there is one and by a recorded refusal where
 * there is none.
 */
#include "cudnn.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define VEST_LIBRARY "cudnn"
#define VEST_REFUSAL CUDNN_NOT_SUPPORTED

enum { SUCCESS = CUDNN_SUCCESS, ALLOC_FAILED = CUDNN_ALLOC_FAILED };

typedef void *descriptor_t;

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

/* Batch normalisation. Measured on an H200: the spatial mode, which PyTorch uses for contiguous tensors, needs neither
 * workspace nor reserve. The persistent mode (channels-last) is not modelled yet. */

enum { SPATIAL = 1 };

static int batch_norm_size(int mode, size_t *bytes, const char *name)
{
    *bytes = 0;
    if (mode != SPATIAL)
        vest_log_unmodelled(VEST_LIBRARY, name, "guessed");
    return SUCCESS;
}

VEST_EXPORT int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(struct handle *handle, int mode, int operation,
                                                                         descriptor_t x, descriptor_t z, descriptor_t y,
                                                                         descriptor_t scale, descriptor_t activation,
                                                                         size_t *bytes)
{
    (void)handle, (void)operation, (void)x, (void)z, (void)y, (void)scale, (void)activation;
    return batch_norm_size(mode, bytes, __func__);
}

VEST_EXPORT int cudnnGetBatchNormalizationBackwardExWorkspaceSize(struct handle *handle, int mode, int operation,
                                                                  descriptor_t x, descriptor_t y, descriptor_t dy,
                                                                  descriptor_t dz, descriptor_t dx, descriptor_t scale,
                                                                  descriptor_t activation, size_t *bytes)
{
    (void)handle, (void)operation, (void)x, (void)y, (void)dy, (void)dz, (void)dx, (void)scale, (void)activation;
    return batch_norm_size(mode, bytes, __func__);
}

VEST_EXPORT int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(struct handle *handle, int mode, int operation,
                                                                     descriptor_t activation, descriptor_t x, size_t *bytes)
{
    (void)handle, (void)operation, (void)activation, (void)x;
    return batch_norm_size(mode, bytes, __func__);
}

/* Random states for dropout: 49,152 bytes a multiprocessor (6,488,064 on an H200's 132). */
VEST_EXPORT int cudnnDropoutGetStatesSize(struct handle *handle, size_t *bytes)
{
    (void)handle;
    *bytes = (size_t)vest_gpu()->sms * 49152;
    return SUCCESS;
}

#include "tables/cudnn_nothing.def"
#include "tables/cudnn_unknown.def"
