/* cuDNN's recurrent networks: weight space, where each weight is in it, and the temporary sizes (rnn_sizes.c).
 *
 * The descriptors are the real library's own; their getters need no device.
 *
 * Weights, for each pseudo layer: the input matrices, the recurrent ones and the projection, without padding; all
 * biases follow, in the same order. Exact on all of benchmarks/workspaces/truth/h200_rnn.jsonl (cuDNN 9.19, H200).
 */
#include "rnn.h"

#include <stdlib.h>

#define LIBRARY "cudnn"

/* Public names: CUDNN_LINEAR_INPUT, CUDNN_FWD_MODE_TRAINING, CUDNN_RNN_PADDED_IO_ENABLED, CUDNN_STATUS_BAD_PARAM. */
enum { LINEAR_INPUT = 0, TRAINING = 1, PADDED_IO = 1, BAD_PARAM = 2000 };

typedef void *descriptor_t;

static size_t element_bytes(int type) { return type == FP64 ? 8 : type == FP32 ? 4 : 2; }

static int read_network(descriptor_t descriptor, struct network *out)
{
    int algorithm, cell, bias, direction, input_mode, type, precision, math;
    int32_t input, hidden, projection, layers;
    descriptor_t dropout = NULL;
    uint32_t flags;
    REAL(cudnnGetRNNDescriptor_v8, int, descriptor_t, int *, int *, int *, int *, int *, int *, int *, int *, int32_t *,
         int32_t *, int32_t *, int32_t *, descriptor_t *, uint32_t *)
    int status = function(descriptor, &algorithm, &cell, &bias, &direction, &input_mode, &type, &precision, &math,
                          &input, &hidden, &projection, &layers, &dropout, &flags);
    if (status != CUDNN_SUCCESS)
        return status;
    if (input_mode != LINEAR_INPUT) {
        vest_log_unmodelled(LIBRARY, "RNN without input matrices (CUDNN_SKIP_INPUT)", "refused");
        return CUDNN_NOT_SUPPORTED;
    }
    *out = (struct network){
        .algorithm = algorithm,
        .cell = cell,
        .bias = bias,
        .type = type,
        .dropout = vest_has_dropout(dropout),
        .padded = flags & PADDED_IO,
        .projected = projection < hidden,
        .gates = cell == LSTM ? 4 : cell == GRU ? 3 : 1,
        .layers = (size_t)layers,
        .directions = direction ? 2 : 1,
        .input = (size_t)input,
        .hidden = (size_t)hidden,
        .output = (size_t)projection,
        .element = element_bytes(type),
    };
    return CUDNN_SUCCESS;
}

static int read_batch(descriptor_t descriptor, struct batch *out)
{
    int type, layout, steps, sequences, width;
    double fill;
    REAL(cudnnGetRNNDataDescriptor, int, descriptor_t, int *, int *, int *, int *, int *, int, int *, void *)
    int status = function(descriptor, &type, &layout, &steps, &sequences, &width, 0, NULL, &fill);
    if (status != CUDNN_SUCCESS)
        return status;
    int *lengths = calloc((size_t)sequences, sizeof *lengths);
    if (!lengths)
        return CUDNN_ALLOC_FAILED;
    status = function(descriptor, &type, &layout, &steps, &sequences, &width, sequences, lengths, &fill);
    *out = (struct batch){.steps = (size_t)steps, .sequences = (size_t)sequences};
    for (int i = 0; i < sequences; i++)
        out->tokens += (size_t)lengths[i];
    free(lengths);
    return status;
}

static size_t pseudo_layers(const struct network *n) { return n->layers * n->directions; }

static size_t layer_input(const struct network *n, size_t pseudo_layer)
{
    return pseudo_layer < n->directions ? n->input : n->output * n->directions;
}

static size_t layer_numbers(const struct network *n, size_t pseudo_layer)
{
    size_t projection = n->projected ? n->output * n->hidden : 0;
    return n->gates * n->hidden * (layer_input(n, pseudo_layer) + n->output) + projection;
}

/* Numbers in the matrices of the pseudo layers before this one; in all of them for the one after the last. */
static size_t numbers_before(const struct network *n, size_t pseudo_layer)
{
    size_t sum = 0;
    for (size_t i = 0; i < pseudo_layer; i++)
        sum += layer_numbers(n, i);
    return sum;
}

size_t vest_rnn_matrix_bytes(const struct network *n) { return numbers_before(n, pseudo_layers(n)) * n->element; }

static size_t layer_biases(const struct network *n)
{
    return n->bias == NO_BIAS ? 0 : n->bias == DOUBLE_BIAS ? 2 * n->gates : n->gates;
}

VEST_EXPORT int cudnnGetRNNTempSpaceSizes(void *handle, descriptor_t rnn, int mode, descriptor_t x, size_t *workspace,
                                          size_t *reserve)
{
    (void)handle;
    struct network n;
    struct batch b;
    int status = read_network(rnn, &n);
    if (status == CUDNN_SUCCESS)
        status = read_batch(x, &b);
    if (status != CUDNN_SUCCESS)
        return status;
    if (vest_rnn_is_refused(&n))
        return CUDNN_NOT_SUPPORTED;
    bool unrecorded;
    size_t bytes = vest_rnn_workspace(&n, &b, mode == TRAINING, &unrecorded);
    bytes = vest_cudnn_size(FACT_CUDNN_RNN_WORKSPACE, __func__, unrecorded, bytes);
    if (workspace)
        *workspace = bytes;
    bytes = mode == TRAINING ? vest_rnn_reserve(&n, &b) : 0;
    if (reserve)
        *reserve = bytes ? vest_cudnn_size(FACT_CUDNN_RNN_RESERVE, __func__, false, bytes) : 0;
    return CUDNN_SUCCESS;
}

VEST_EXPORT int cudnnGetRNNWeightSpaceSize(void *handle, descriptor_t rnn, size_t *bytes)
{
    (void)handle;
    struct network n;
    int status = read_network(rnn, &n);
    if (status != CUDNN_SUCCESS)
        return status;
    const size_t biases = pseudo_layers(&n) * layer_biases(&n) * n.hidden * n.element;
    *bytes = vest_cudnn_size(FACT_CUDNN_RNN_WEIGHTS, __func__, false, vest_rnn_matrix_bytes(&n) + biases);
    return CUDNN_SUCCESS;
}

/* Where one matrix and its bias lie. */

static int describe(descriptor_t tensor, int type, size_t rows, size_t columns)
{
    int sizes[] = {1, (int)rows, (int)columns}, strides[] = {(int)(rows * columns), (int)columns, 1};
    REAL(cudnnSetTensorNdDescriptor, int, descriptor_t, int, int, const int *, const int *)
    return tensor ? function(tensor, type, 3, sizes, strides) : CUDNN_SUCCESS;
}

/* Which of its pseudo layer's biases a linear layer has; false: none. */
static bool bias_place(const struct network *n, size_t linear, size_t *place)
{
    bool recurrent = linear >= n->gates;
    *place = n->bias == SINGLE_RECURRENT_BIAS ? linear - n->gates : linear;
    if (linear >= 2 * n->gates || n->bias == NO_BIAS)
        return false;
    return n->bias == DOUBLE_BIAS || recurrent == (n->bias == SINGLE_RECURRENT_BIAS);
}

VEST_EXPORT int cudnnGetRNNWeightParams(void *handle, descriptor_t rnn, int32_t pseudo_layer, size_t weight_bytes,
                                        const void *weights, int32_t linear_layer, descriptor_t matrix,
                                        void **matrix_address, descriptor_t bias, void **bias_address)
{
    (void)handle, (void)weight_bytes;
    struct network n;
    int status = read_network(rnn, &n);
    if (status != CUDNN_SUCCESS)
        return status;
    size_t layer = (size_t)pseudo_layer, linear = (size_t)linear_layer, last = 2 * n.gates - (n.projected ? 0 : 1);
    if (layer >= pseudo_layers(&n) || linear > last)
        return BAD_PARAM;
    bool projection = linear == 2 * n.gates;
    size_t rows = projection ? n.output : n.hidden;
    size_t columns = projection ? n.hidden : linear < n.gates ? layer_input(&n, layer) : n.output;
    size_t before = (linear < n.gates ? linear : n.gates) * layer_input(&n, layer) * n.hidden;
    before += linear > n.gates ? (linear - n.gates) * n.output * n.hidden : 0;
    if (matrix_address)
        *matrix_address = (char *)weights + (numbers_before(&n, layer) + before) * n.element;
    status = matrix_address ? describe(matrix, n.type, rows, columns) : CUDNN_SUCCESS;
    if (status != CUDNN_SUCCESS || !bias_address)
        return status; /* PyTorch asks for one of the two at a time */
    size_t place;
    *bias_address = NULL;
    if (!bias_place(&n, linear, &place))
        return CUDNN_SUCCESS;
    place += layer * layer_biases(&n);
    *bias_address = (char *)weights + vest_rnn_matrix_bytes(&n) + place * n.hidden * n.element;
    return describe(bias, n.type, n.hidden, 1);
}
