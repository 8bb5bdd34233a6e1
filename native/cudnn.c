/* Stands in front of the real cuDNN: plans are asked of it, nothing is executed.
 *
 * cuDNN's graph API answers for a GPU that is not there: a device-properties descriptor made from a JSON text takes the
 * place of the handle (documented from cuDNN 9.8 on). So the real heuristics choose the real engines for the target
 * GPU, and their workspaces are the real ones. Calls that need a live handle are answered here, by a size model where
 * there is one and by a recorded refusal where there is none.
 */
#include "stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VEST_LIBRARY "cudnn"
#define VEST_REFUSAL 3000 /* CUDNN_STATUS_NOT_SUPPORTED */

enum { SUCCESS = 0, ALLOC_FAILED = 1003 };

/* Public names: CUDNN_BACKEND_*_DESCRIPTOR, CUDNN_TYPE_*, CUDNN_ATTR_*. */
enum { ENGINE = 2, ENGINE_HEURISTICS = 4, EXECUTION_PLAN = 5, DEVICE_PROPERTIES = 38 };
enum { TYPE_HANDLE = 0, TYPE_DESCRIPTOR = 15, TYPE_CHAR = 24 };
enum { HEURISTICS_PROPERTIES = 204, PLAN_PROPERTIES = 407, ENGINE_PROPERTIES = 1307, PROPERTIES_JSON = 2702 };

typedef void *descriptor_t;

struct handle {
    void *stream;
};

/* The real library, loaded by PyTorch before the first call gets here. */

static void *real(const char *name)
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

#define REAL(name, type)                                                                                               \
    static type *function;                                                                                             \
    if (!function)                                                                                                     \
        function = (type *)real(#name);

typedef int create_type(int, descriptor_t *);
typedef int set_type(descriptor_t, int, int, int64_t, const void *);
typedef int finalize_type(descriptor_t);

static int create_descriptor(int kind, descriptor_t *out)
{
    REAL(cudnnBackendCreateDescriptor, create_type)
    return function(kind, out);
}

static int set_attribute(descriptor_t descriptor, int attribute, int type, int64_t count, const void *values)
{
    REAL(cudnnBackendSetAttribute, set_type)
    return function(descriptor, attribute, type, count, values);
}

/* The target GPU as cuDNN sees it. NULL: this cuDNN cannot be asked without a device. */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static descriptor_t properties;

static void make_properties(void)
{
    const char *text = getenv("VERITASEST_CUDNN_PROPERTIES");
    descriptor_t made = NULL;
    REAL(cudnnBackendFinalize, finalize_type)
    if (text && create_descriptor(DEVICE_PROPERTIES, &made) == SUCCESS &&
        set_attribute(made, PROPERTIES_JSON, TYPE_CHAR, (int64_t)strlen(text) + 1, text) == SUCCESS &&
        function(made) == SUCCESS)
        properties = made;
    else
        vest_log_unmodelled(VEST_LIBRARY, "device properties without a device (cuDNN 9.8 or later)", "refused");
}

static int attach_properties(descriptor_t descriptor, int attribute)
{
    pthread_once(&once, make_properties);
    return properties ? set_attribute(descriptor, attribute, TYPE_DESCRIPTOR, 1, &properties) : VEST_REFUSAL;
}

VEST_EXPORT int cudnnBackendCreateDescriptor(int kind, descriptor_t *out)
{
    int status = create_descriptor(kind, out);
    if (status != SUCCESS)
        return status;
    switch (kind) {
    case ENGINE: return attach_properties(*out, ENGINE_PROPERTIES);
    case ENGINE_HEURISTICS: return attach_properties(*out, HEURISTICS_PROPERTIES);
    case EXECUTION_PLAN: return attach_properties(*out, PLAN_PROPERTIES);
    default: return SUCCESS;
    }
}

/* Handles are ours and mean nothing to the real library: the properties attached above stand for them. */
VEST_EXPORT int cudnnBackendSetAttribute(descriptor_t descriptor, int attribute, int type, int64_t count, const void *values)
{
    return type == TYPE_HANDLE ? SUCCESS : set_attribute(descriptor, attribute, type, count, values);
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
