/* What the parts of the cuDNN interposer share. */
#ifndef VEST_CUDNN_H
#define VEST_CUDNN_H

#include "facts/facts.h"
#include "stub.h"

enum { CUDNN_SUCCESS = 0, CUDNN_ALLOC_FAILED = 1003, CUDNN_NOT_SUPPORTED = 3000 };

/* A function of the real library, which PyTorch loaded before the first call got here. Aborts when it has none. */
void *vest_cudnn_real(const char *name);

/* Declares `function`, the real library's `name`. */
#define REAL(name, result, ...)                                                                                        \
    static result (*function)(__VA_ARGS__);                                                                            \
    if (!function)                                                                                                     \
        function = (result(*)(__VA_ARGS__))vest_cudnn_real(#name);

/* The installed cuDNN, as the table of facts counts versions: 919 for 9.19. */
int vest_cudnn_version(void);

/* `bytes`, or a guess where `fact` was not measured; see facts.def. `name`: the function that was called. */
uint64_t vest_cudnn_size(enum vest_fact fact, const char *name, bool unrecorded, uint64_t bytes);

#endif
