/* What the files on cuDNN's recurrent networks share. */
#ifndef VEST_CUDNN_RNN_H
#define VEST_CUDNN_RNN_H

#include "cudnn.h"

/* Public names: CUDNN_RNN_ALGO_*, CUDNN_RNN_RELU..., cudnnRNNBiasMode_t, CUDNN_DATA_*. */
enum { STANDARD = 0, PERSIST_STATIC = 1, PERSIST_DYNAMIC = 2, PERSIST_SMALL_H = 3 };
enum { RELU = 0, TANH = 1, LSTM = 2, GRU = 3 };
enum { NO_BIAS = 0, SINGLE_INPUT_BIAS = 1, DOUBLE_BIAS = 2, SINGLE_RECURRENT_BIAS = 3 };
enum { FP32 = 0, FP64 = 1, FP16 = 2, BF16 = 9 };

/* `output` is the hidden size, or the projection's; `element` the bytes of a number. */
struct network {
    int algorithm, cell, bias, type;
    bool dropout, padded, projected;
    size_t gates, layers, directions, input, hidden, output, element;
};

/* `tokens` is the sum of the sequence lengths, `steps` the longest. */
struct batch {
    size_t steps, sequences, tokens;
};

bool vest_has_dropout(void *descriptor);
size_t vest_rnn_matrix_bytes(const struct network *n);

/* Sizes; see rnn_sizes.c. `unrecorded` is set where no recording confirms the answer. */
bool vest_rnn_is_refused(const struct network *n);
size_t vest_rnn_workspace(const struct network *n, const struct batch *b, bool training, bool *unrecorded);
size_t vest_rnn_reserve(const struct network *n, const struct batch *b);

#endif
