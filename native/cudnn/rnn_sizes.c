/* What cuDNN's recurrent networks need in addition to their weights: a model of the real library's buffers.
 *
 * Rule. Memory is a sum of buffers, each rounded up to 32 bytes: 8 MiB for every pseudo layer, a copy of all matrices,
 * 256 bytes, and buffers that grow with tokens (the sum of the sequence lengths) or with state (layers x directions x
 * batch). Padded input adds packed copies of what goes in and out, and two ints per sequence. The workspace for
 * training is the larger of what forward and backward need; inference needs forward's.
 *
 * Evidence: CUDNN_RNN_* in facts.def. Fitted on 80 % of the recorded configurations, exact on all others but one static
 * persistent network (benchmarks/workspaces/score_cudnn.py).
 */
#include "rnn.h"
#include "round.h"

#define PSEUDO_LAYER_BYTES ((size_t)8 << 20)
#define FIXED_BYTES 256
#define GATE_STEPS 256 /* steps whose gates a one-way network computes at once */

static size_t align(size_t bytes) { return (size_t)round_up((int64_t)bytes, 32); }

/* Bytes of `copies` buffers, in one piece, of a vector of `width` for each layer, direction and sequence. */
static size_t states(const struct network *n, const struct batch *b, size_t copies, size_t width)
{
    return align(copies * n->layers * n->directions * b->sequences * width * n->element);
}

static size_t per_token(const struct network *n, size_t tokens, size_t width)
{
    return align(tokens * width * n->element);
}

/* What every pass has. Padded input is copied once in forward, twice in backward (x and dx, y and dy...). */
static size_t common_bytes(const struct network *n, const struct batch *b, size_t times)
{
    size_t bytes = n->layers * n->directions * PSEUDO_LAYER_BYTES + align(vest_rnn_matrix_bytes(n)) + FIXED_BYTES;
    if (!n->padded)
        return bytes;
    size_t all = b->steps * b->sequences;
    size_t copies = per_token(n, all, n->input) + per_token(n, all, n->directions * n->output);
    copies += 2 * states(n, b, 1, n->output);
    copies += n->cell == LSTM ? 2 * states(n, b, 1, n->hidden) : 0;
    return bytes + times * copies + align(8 * b->sequences);
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

/* PyTorch (ATen/native/cudnn/RNN.cpp, get_algo) uses the standard algorithm for packed input, projections and double;
 * else the small persistent kernels up to a hidden size of 192 (LSTM, GRU; backward 128) or 384 (RELU, TANH; 256);
 * else, in half precision, the static ones for a single one-way layer of LSTM, RELU or TANH whose hidden and input
 * sizes are multiples of 128, hidden at most 1,024, and a batch of at most 128 in multiples of 8; else the standard
 * one. bfloat16 has no persistent kernels: the answers are those of the standard algorithm. */
static bool is_persistent(const struct network *n) { return n->algorithm != STANDARD && n->type != BF16; }

/* What forward leaves for backward: gates, cells and outputs of each layer, and a bit an element for dropout. */
size_t vest_rnn_reserve(const struct network *n, const struct batch *b)
{
    size_t width = n->directions * n->hidden, bytes = FIXED_BYTES;
    bytes += per_token(n, b->tokens, n->layers * width * (n->cell == LSTM ? 4 : n->cell == GRU ? 6 : 1));
    bytes += n->cell == LSTM ? per_token(n, b->tokens, n->layers * width) : 0;
    bytes += per_token(n, b->tokens, (n->layers - 1) * width);
    if (n->projected)
        bytes += per_token(n, b->tokens, n->layers * width) +
                 per_token(n, b->tokens, n->layers * n->directions * n->output);
    size_t bits = b->steps * b->sequences * n->directions * n->output;
    return bytes + (n->dropout ? (n->layers - 1) * n->directions * align((bits + 7) / 8) : 0);
}

/* What the recordings do not cover or do not confirm. Static persistent kernels needed more than the model in 11 of
 * 14 recorded trainings of at most 256 tokens, in none of more, and were refused some hidden sizes above 1,500. */
static bool is_unrecorded(const struct network *n, const struct batch *b, bool backward)
{
    if (n->bias != DOUBLE_BIAS || (n->type == FP64 && is_persistent(n)))
        return true;
    if (backward && n->projected && n->input < n->hidden)
        return true; /* not distinguished there: buffers as wide as the hidden state, or as the projection */
    bool is_static = n->algorithm == PERSIST_STATIC && is_persistent(n);
    return is_static && (b->tokens <= 256 || n->hidden > 1024);
}

/* The hidden sizes up to which the small persistent kernels were seen to be served, and PyTorch asks for them. */
bool vest_rnn_is_refused(const struct network *n)
{
    size_t largest = n->cell == LSTM || n->cell == GRU ? 192 : 384;
    return n->algorithm == PERSIST_SMALL_H && n->hidden > largest;
}

size_t vest_rnn_workspace(const struct network *n, const struct batch *b, bool training, bool *unrecorded)
{
    bool persistent = is_persistent(n);
    size_t forward = persistent ? forward_persistent(n, b) : forward_standard(n, b);
    size_t backward = !training ? 0 : persistent ? backward_persistent(n, b) : backward_standard(n, b);
    *unrecorded = is_unrecorded(n, b, backward > forward);
    return larger(forward, backward);
}
