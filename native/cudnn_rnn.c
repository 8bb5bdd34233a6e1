/* cuDNN's recurrent networks: the sizes the real library asks for, from a model of its buffers.
 *
 * The descriptors are the real library's own; their getters need no device. Only the dropout rate is kept here, since
 * the real setter would fill the random states on a GPU.
 *
 * Rule. Memory is a sum of buffers, each rounded up to 32 bytes. Per pseudo layer 8 MiB, then a copy of all matrices and
 * 256 bytes. Buffers go by tokens (the sum of the sequence lengths) or by state (layers x directions x batch). Padded
 * input adds packed copies of what goes in and out, and two ints a sequence. The workspace for training is the larger
 * of what forward and backward need; inference needs forward's.
 *
 * Evidence: benchmarks/workspaces/truth/h200_rnn.jsonl (cuDNN 9.19, H200), fitted on 80 % of its configurations;
 * benchmarks/workspaces/score_cudnn.py shows the rest. Logged as guessed: what no recorded configuration confirms.
 */
#include "cudnn.h"

#include <pthread.h>
#include <stdlib.h>

#define LIBRARY "cudnn"
#define PSEUDO_LAYER_BYTES ((size_t)8 << 20)
#define FIXED_BYTES 256
#define GATE_STEPS 256 /* steps whose gates a one-way network computes at once */

/* Public names: CUDNN_RNN_ALGO_*, CUDNN_RNN_RELU..., cudnnRNNBiasMode_t, CUDNN_DATA_*, cudnnForwardMode_t. */
enum { STANDARD = 0, PERSIST_STATIC = 1, PERSIST_DYNAMIC = 2, PERSIST_SMALL_H = 3 };
enum { RELU = 0, TANH = 1, LSTM = 2, GRU = 3 };
enum { NO_BIAS = 0, SINGLE_INPUT_BIAS = 1, DOUBLE_BIAS = 2, SINGLE_RECURRENT_BIAS = 3 };
enum { LINEAR_INPUT = 0 };
enum { FP32 = 0, FP64 = 1, FP16 = 2, BF16 = 9 };
enum { TRAINING = 1, PADDED_IO = 1, BAD_PARAM = 2000 };

typedef void *descriptor_t;

static size_t round_up(size_t bytes) { return (bytes + 31) / 32 * 32; }

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Dropout descriptors: which rate was set on which. */

struct dropout {
    struct dropout *next;
    descriptor_t descriptor;
    float rate;
    void *states;
    unsigned long long seed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dropout *dropouts;

static struct dropout **find(descriptor_t descriptor)
{
    struct dropout **place = &dropouts;
    while (*place && (*place)->descriptor != descriptor)
        place = &(*place)->next;
    return place;
}

static struct dropout dropout_of(descriptor_t descriptor)
{
    struct dropout none = {0};
    pthread_mutex_lock(&lock);
    struct dropout *found = *find(descriptor);
    struct dropout answer = found ? *found : none;
    pthread_mutex_unlock(&lock);
    return answer;
}

VEST_EXPORT int cudnnSetDropoutDescriptor(descriptor_t descriptor, void *handle, float rate, void *states,
                                          size_t state_bytes, unsigned long long seed)
{
    (void)handle, (void)state_bytes;
    pthread_mutex_lock(&lock);
    struct dropout **place = find(descriptor);
    if (!*place)
        *place = calloc(1, sizeof **place);
    struct dropout *record = *place;
    if (record)
        *record = (struct dropout){record->next, descriptor, rate, states, seed};
    pthread_mutex_unlock(&lock);
    return record ? CUDNN_SUCCESS : CUDNN_ALLOC_FAILED;
}

VEST_EXPORT int cudnnRestoreDropoutDescriptor(descriptor_t descriptor, void *handle, float rate, void *states,
                                              size_t state_bytes, unsigned long long seed)
{
    return cudnnSetDropoutDescriptor(descriptor, handle, rate, states, state_bytes, seed);
}

VEST_EXPORT int cudnnGetDropoutDescriptor(descriptor_t descriptor, void *handle, float *rate, void **states,
                                          unsigned long long *seed)
{
    (void)handle;
    struct dropout record = dropout_of(descriptor);
    *rate = record.rate;
    *states = record.states;
    *seed = record.seed;
    return CUDNN_SUCCESS;
}

VEST_EXPORT int cudnnDestroyDropoutDescriptor(descriptor_t descriptor)
{
    pthread_mutex_lock(&lock);
    struct dropout **place = find(descriptor);
    struct dropout *record = *place;
    if (record)
        *place = record->next;
    pthread_mutex_unlock(&lock);
    free(record);
    REAL(cudnnDestroyDropoutDescriptor, int, descriptor_t)
    return function(descriptor);
}

/* Random states: 49,152 bytes a multiprocessor (6,488,064 recorded on an H200's 132). */
VEST_EXPORT int cudnnDropoutGetStatesSize(void *handle, size_t *bytes)
{
    (void)handle;
    *bytes = (size_t)vest_gpu()->sms * 49152;
    return CUDNN_SUCCESS;
}

/* The network and its input, read back from the real descriptors. */

struct network {
    int algorithm, cell, bias, type;
    bool dropout, padded, projected;
    size_t gates, layers, directions, input, hidden, output, element;
};

struct batch {
    size_t steps, sequences, tokens;
};

static size_t element_bytes(int type) { return type == FP64 ? 8 : type == FP32 ? 4 : 2; }

static int read_network(descriptor_t descriptor, struct network *out)
{
    int algorithm, cell, bias, direction, input_mode, type, precision, math;
    int32_t input, hidden, projection, layers;
    descriptor_t dropout = NULL;
    uint32_t flags;
    REAL(cudnnGetRNNDescriptor_v8, int, descriptor_t, int *, int *, int *, int *, int *, int *, int *, int *, int32_t *,
         int32_t *, int32_t *, int32_t *, descriptor_t *, uint32_t *)
    int status = function(descriptor, &algorithm, &cell, &bias, &direction, &input_mode, &type, &precision, &math, &input,
                          &hidden, &projection, &layers, &dropout, &flags);
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
        .dropout = dropout && dropout_of(dropout).rate > 0,
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

/* Weights: for each pseudo layer the input matrices, the recurrent ones and the projection, without padding; all biases
 * follow, in the same order. */

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

static size_t matrix_bytes(const struct network *n) { return numbers_before(n, pseudo_layers(n)) * n->element; }

static size_t layer_biases(const struct network *n)
{
    return n->bias == NO_BIAS ? 0 : n->bias == DOUBLE_BIAS ? 2 * n->gates : n->gates;
}

/* Workspace. */

/* Bytes of `copies` buffers, in one piece, of a vector of `width` for each layer, direction and sequence. */
static size_t states(const struct network *n, const struct batch *b, size_t copies, size_t width)
{
    return round_up(copies * pseudo_layers(n) * b->sequences * width * n->element);
}

static size_t per_token(const struct network *n, size_t tokens, size_t width)
{
    return round_up(tokens * width * n->element);
}

/* What every pass has: `passes` counts the tensors that padded input needs twice in backward (x and dx, y and dy...). */
static size_t common_bytes(const struct network *n, const struct batch *b, size_t passes)
{
    size_t bytes = pseudo_layers(n) * PSEUDO_LAYER_BYTES + round_up(matrix_bytes(n)) + FIXED_BYTES;
    if (!n->padded)
        return bytes;
    size_t all = b->steps * b->sequences;
    size_t copies = per_token(n, all, n->input) + per_token(n, all, n->directions * n->output);
    copies += 2 * states(n, b, 1, n->output);
    copies += n->cell == LSTM ? 2 * states(n, b, 1, n->hidden) : 0;
    return bytes + passes * copies + round_up(8 * b->sequences);
}

static size_t standard_states(const struct network *n, const struct batch *b, size_t gates)
{
    size_t bytes = states(n, b, gates, n->hidden);
    bytes += n->cell == LSTM ? states(n, b, 2, n->hidden) : 0;
    return bytes + (n->directions == 2 ? states(n, b, 2, n->hidden) : 0);
}

static size_t unprojected(const struct network *n, const struct batch *b)
{
    return n->projected ? per_token(n, b->tokens, n->directions * n->hidden) : 0;
}

static size_t forward_standard(const struct network *n, const struct batch *b)
{
    size_t bytes = common_bytes(n, b, 1) + standard_states(n, b, n->gates) + unprojected(n, b);
    if (n->directions == 2)
        return bytes + per_token(n, b->tokens, 4 * n->hidden) + per_token(n, b->tokens, 2 * n->gates * n->hidden);
    bytes += n->dropout ? per_token(n, b->tokens, n->hidden) : 0;
    return bytes + per_token(n, smaller(b->tokens, GATE_STEPS * b->sequences), n->gates * n->hidden);
}

/* Steps of gradients that a one-way network of several layers keeps: the layers run behind each other in chunks, of a
 * length chosen by batch and number of steps, and one more chunk is under way. The bounds on the batch lie somewhere
 * between recorded ones: 1 and 2, 8 and 14, 16 and 24, 95 and 112; that on the steps between 120 and 131. */
static size_t wave_steps(const struct network *n, const struct batch *b)
{
    size_t last = b->sequences <= 1 ? 32 : b->sequences <= 8 ? 16 : 8;
    size_t chunk = last;
    if (b->sequences > 16 && b->steps <= 128)
        chunk = b->sequences <= 96 ? 4 : 2;
    return n->layers * chunk + last;
}

/* Gradients passed from layer to layer, for all steps. */
static size_t gradients(const struct network *n, const struct batch *b)
{
    size_t layers_at_once = n->layers == 1 ? 1 : 2;
    return per_token(n, b->tokens, layers_at_once * n->directions * n->hidden);
}

static size_t widest(const struct network *n, const struct batch *b)
{
    size_t directions = n->directions * n->directions;
    return per_token(n, b->tokens, directions * larger(n->input, n->output));
}

static size_t backward_standard(const struct network *n, const struct batch *b)
{
    size_t bytes = common_bytes(n, b, 2) + standard_states(n, b, 1) + unprojected(n, b) + widest(n, b);
    if (n->directions == 2 || n->layers == 1)
        return bytes + gradients(n, b);
    return bytes + per_token(n, smaller(b->tokens, wave_steps(n, b) * b->sequences), n->hidden);
}

static size_t persistent_states(const struct network *n, const struct batch *b)
{
    size_t bytes = states(n, b, 2, n->hidden) * (n->cell == LSTM ? 2 : 1);
    return bytes + (n->directions == 2 ? states(n, b, 1, n->hidden) : 0);
}

static size_t forward_persistent(const struct network *n, const struct batch *b)
{
    size_t bytes = common_bytes(n, b, 1) + persistent_states(n, b);
    bytes += per_token(n, b->tokens, 4 * n->gates * n->hidden);
    bytes += per_token(n, b->tokens, n->directions * n->gates * n->hidden);
    if (n->directions == 2)
        return bytes + per_token(n, b->tokens, 4 * n->hidden);
    return bytes + (n->dropout ? per_token(n, b->tokens, n->hidden) : 0);
}

static size_t backward_persistent(const struct network *n, const struct batch *b)
{
    size_t vectors = n->cell == LSTM ? 12 : n->cell == GRU ? 14 : 9;
    size_t bytes = common_bytes(n, b, 2) + persistent_states(n, b) + widest(n, b) + gradients(n, b);
    return bytes + per_token(n, b->tokens, vectors * n->hidden);
}

/* bfloat16 has no persistent kernels: the answers are those of the standard algorithm. */
static bool is_persistent(const struct network *n) { return n->algorithm != STANDARD && n->type != BF16; }

/* What forward leaves for backward: gates, cells and outputs of each layer, and a bit an element for dropout. */
static size_t reserve_bytes(const struct network *n, const struct batch *b)
{
    size_t width = n->directions * n->hidden, bytes = FIXED_BYTES;
    bytes += per_token(n, b->tokens, n->layers * width * (n->cell == LSTM ? 4 : n->cell == GRU ? 6 : 1));
    bytes += n->cell == LSTM ? per_token(n, b->tokens, n->layers * width) : 0;
    bytes += per_token(n, b->tokens, (n->layers - 1) * width);
    if (n->projected)
        bytes += per_token(n, b->tokens, n->layers * width) +
                 per_token(n, b->tokens, n->layers * n->directions * n->output);
    size_t bits = b->steps * b->sequences * n->directions * n->output;
    return bytes + (n->dropout ? (n->layers - 1) * n->directions * round_up((bits + 7) / 8) : 0);
}

/* What the recordings do not cover or do not confirm. Static persistent kernels asked for more than the model in 11 of
 * 14 recorded trainings of at most 256 tokens, in none of 336 or more, and were refused some hidden sizes above 1,500. */
static bool is_guess(const struct network *n, const struct batch *b, bool backward)
{
    if (n->bias != DOUBLE_BIAS || (n->type == FP64 && is_persistent(n)))
        return true;
    if (backward && n->projected && n->input < n->hidden)
        return true; /* not told apart there: buffers as wide as the hidden state, or as the projection */
    bool is_static = n->algorithm == PERSIST_STATIC && is_persistent(n);
    return is_static && (b->tokens < 336 || n->hidden > 1024);
}

/* The hidden sizes up to which the small persistent kernels were seen to be served, and PyTorch asks for them. */
static bool is_refused(const struct network *n)
{
    size_t largest = n->cell == LSTM || n->cell == GRU ? 192 : 384;
    return n->algorithm == PERSIST_SMALL_H && n->hidden > largest;
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
    if (is_refused(&n))
        return CUDNN_NOT_SUPPORTED;
    bool persistent = is_persistent(&n), backward = false;
    size_t bytes = persistent ? forward_persistent(&n, &b) : forward_standard(&n, &b);
    if (mode == TRAINING) {
        size_t more = persistent ? backward_persistent(&n, &b) : backward_standard(&n, &b);
        backward = more > bytes;
        bytes = larger(bytes, more);
    }
    if (is_guess(&n, &b, backward))
        vest_log_unmodelled(LIBRARY, __func__, "guessed");
    if (workspace)
        *workspace = bytes;
    if (reserve)
        *reserve = mode == TRAINING ? reserve_bytes(&n, &b) : 0;
    return CUDNN_SUCCESS;
}

VEST_EXPORT int cudnnGetRNNWeightSpaceSize(void *handle, descriptor_t rnn, size_t *bytes)
{
    (void)handle;
    struct network n;
    int status = read_network(rnn, &n);
    if (status == CUDNN_SUCCESS)
        *bytes = matrix_bytes(&n) + pseudo_layers(&n) * layer_biases(&n) * n.hidden * n.element;
    return status;
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
    size_t before = smaller(linear, n.gates) * layer_input(&n, layer) * n.hidden;
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
    *bias_address = (char *)weights + matrix_bytes(&n) + place * n.hidden * n.element;
    return describe(bias, n.type, n.hidden, 1);
}
