/* cuDNN's older size queries that need a handle: batch normalisation and CTC loss.
 *
 * The tensors are described by the real library's own descriptors; their getters need no device.
 *
 * Evidence: CUDNN_BATCH_NORM and CUDNN_CTC in facts.def. Fitted on 80 % of the recorded configurations;
 * benchmarks/workspaces/score_cudnn.py shows the rest.
 */
#include "cudnn.h"
#include "round.h"

/* Public names: CUDNN_DATA_*, CUDNN_BATCHNORM_*, CUDNN_BATCHNORM_OPS_*. */
enum { FP32 = 0, FP64 = 1 };
enum { SPATIAL_PERSISTENT = 2 };
enum { BN = 0, BN_ACTIVATION = 1, BN_ADD_ACTIVATION = 2 };
enum { MAX_DIMENSIONS = 8 };

typedef void *descriptor_t;

struct tensor {
    int type, dimensions, sizes[MAX_DIMENSIONS], strides[MAX_DIMENSIONS];
};

static int read_tensor(descriptor_t descriptor, struct tensor *out)
{
    REAL(cudnnGetTensorNdDescriptor, int, descriptor_t, int, int *, int *, int *, int *)
    return function(descriptor, MAX_DIMENSIONS, &out->type, &out->dimensions, out->sizes, out->strides);
}

/* Batch normalisation.
 *
 * Only the persistent mode on channels-last tensors, which PyTorch chooses for training, asks for memory. Its kernels
 * cut the tensor into tiles of channels (64, or 16 where these are not a multiple of four) by rows of elements, and
 * leave two floats a channel and tile, in forward with a flag each. Fewer than four channels make tiles of four, with
 * four times the rows. The reserve is a mask of 64 bits a row and tile, for the one operation that adds a tensor. */

struct tiling {
    size_t tiles, tile_bytes, rows, row_scale;
};

static struct tiling tile(const struct tensor *x)
{
    size_t channels = (size_t)x->sizes[1], rows = (size_t)x->sizes[0];
    for (int i = 2; i < x->dimensions; i++)
        rows *= (size_t)x->sizes[i];
    size_t width = channels < 4 ? 4 : channels % 4 ? 16 : 64;
    return (struct tiling){
        .tiles = divide_up(channels, width),
        .tile_bytes = width * 2 * sizeof(float),
        .rows = rows,
        .row_scale = channels < 4 ? 4 : 1,
    };
}

static bool is_channels_last(const struct tensor *x) { return x->sizes[1] == 1 || x->strides[1] == 1; }

/* No double, and no 5, 6, 7, 9, 10, 11, 13, 14 or 15 channels, were recorded. */
static bool is_unrecorded(const struct tensor *x)
{
    return x->type == FP64 || (x->sizes[1] > 4 && x->sizes[1] < 16 && x->sizes[1] % 4);
}

enum pass { FORWARD, BACKWARD, RESERVE };

static size_t persistent_bytes(const struct tensor *x, enum pass pass, int operation)
{
    struct tiling t = tile(x);
    size_t forward_rows = t.row_scale * (x->type == FP32 ? 64 : 160), backward_rows = t.row_scale * 96;
    switch (pass) {
    case FORWARD: return 1072 + 4 * t.tiles + divide_up(t.rows, forward_rows) * t.tiles * (t.tile_bytes + 4);
    case BACKWARD: return 1056 + 4 * t.tiles + divide_up(t.rows, backward_rows) * t.tiles * t.tile_bytes;
    default: return operation == BN_ADD_ACTIVATION ? 1024 + divide_up(t.rows, 32) * 32 * t.tiles * 8 : 0;
    }
}

static bool is_refused(const struct tensor *x, enum pass pass, int operation)
{
    if (!is_channels_last(x))
        return operation == BN_ADD_ACTIVATION || (operation == BN_ACTIVATION && pass != RESERVE);
    return operation == BN_ADD_ACTIVATION && pass == FORWARD && x->sizes[1] % 4;
}

static int batch_norm_size(int mode, int operation, descriptor_t descriptor, enum pass pass, size_t *bytes,
                           const char *name)
{
    struct tensor x;
    *bytes = vest_cudnn_size(FACT_CUDNN_BATCH_NORM_OTHER, name, false, 0);
    if (mode != SPATIAL_PERSISTENT)
        return CUDNN_SUCCESS;
    int status = read_tensor(descriptor, &x);
    if (status != CUDNN_SUCCESS)
        return status;
    if (is_refused(&x, pass, operation))
        return CUDNN_NOT_SUPPORTED;
    if (!is_channels_last(&x))
        return CUDNN_SUCCESS;
    if (pass == RESERVE && operation != BN_ADD_ACTIVATION && !is_unrecorded(&x))
        return CUDNN_SUCCESS; /* there is no mask to keep */
    *bytes = vest_cudnn_size(FACT_CUDNN_BATCH_NORM, name, is_unrecorded(&x), persistent_bytes(&x, pass, operation));
    return CUDNN_SUCCESS;
}

VEST_EXPORT int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *handle, int mode, int operation,
                                                                         descriptor_t x, descriptor_t z, descriptor_t y,
                                                                         descriptor_t scale, descriptor_t activation,
                                                                         size_t *bytes)
{
    (void)handle, (void)z, (void)y, (void)scale, (void)activation;
    return batch_norm_size(mode, operation, x, FORWARD, bytes, __func__);
}

VEST_EXPORT int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *handle, int mode, int operation, descriptor_t x,
                                                                  descriptor_t y, descriptor_t dy, descriptor_t dz,
                                                                  descriptor_t dx, descriptor_t scale,
                                                                  descriptor_t activation, size_t *bytes)
{
    (void)handle, (void)y, (void)dy, (void)dz, (void)dx, (void)scale, (void)activation;
    return batch_norm_size(mode, operation, x, BACKWARD, bytes, __func__);
}

VEST_EXPORT int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *handle, int mode, int operation,
                                                                     descriptor_t activation, descriptor_t x,
                                                                     size_t *bytes)
{
    (void)handle, (void)activation;
    return batch_norm_size(mode, operation, x, RESERVE, bytes, __func__);
}

/* CTC loss: per sequence, the probabilities (steps x alphabet), two tables of steps x the label with blanks around each
 * letter, the label itself, and a few words. The old call, whose labels are on the host, also has room for them; its
 * longest label counts. Both algorithms ask for the same. */

static int ctc_size(const char *name, descriptor_t probabilities, size_t longest, size_t label_words, size_t *bytes)
{
    struct tensor p;
    int status = read_tensor(probabilities, &p);
    if (status != CUDNN_SUCCESS)
        return status;
    size_t steps = (size_t)p.sizes[0], batch = (size_t)p.sizes[1], alphabet = (size_t)p.sizes[2];
    size_t blanked = 2 * longest + 1;
    *bytes = batch * sizeof(float) * (steps * alphabet + 2 * steps * blanked + blanked + label_words);
    *bytes = vest_cudnn_size(FACT_CUDNN_CTC, name, false, *bytes);
    return CUDNN_SUCCESS;
}

VEST_EXPORT int cudnnGetCTCLossWorkspaceSize(void *handle, descriptor_t probabilities, descriptor_t gradients,
                                             const int *labels, const int *label_lengths, const int *input_lengths,
                                             int algorithm, descriptor_t loss, size_t *bytes)
{
    (void)handle, (void)gradients, (void)labels, (void)input_lengths, (void)algorithm, (void)loss;
    struct tensor p;
    int status = read_tensor(probabilities, &p);
    if (status != CUDNN_SUCCESS)
        return status;
    size_t longest = 0;
    for (int i = 0; i < p.sizes[1]; i++)
        longest = (size_t)label_lengths[i] > longest ? (size_t)label_lengths[i] : longest;
    return ctc_size(__func__, probabilities, longest, longest + 4, bytes);
}

VEST_EXPORT int cudnnGetCTCLossWorkspaceSize_v8(void *handle, int algorithm, descriptor_t loss,
                                                descriptor_t probabilities, descriptor_t gradients, size_t *bytes)
{
    (void)handle, (void)algorithm, (void)gradients;
    int type, normalization, gradient_mode, longest;
    REAL(cudnnGetCTCLossDescriptor_v9, int, descriptor_t, int *, int *, int *, int *)
    int status = function(loss, &type, &normalization, &gradient_mode, &longest);
    return status == CUDNN_SUCCESS ? ctc_size(__func__, probabilities, (size_t)longest, 2, bytes) : status;
}
