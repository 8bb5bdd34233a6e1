/* What the parts of the cuDNN interposer share. */
#ifndef VEST_CUDNN_H
#define VEST_CUDNN_H

#include "stub.h"

enum { CUDNN_SUCCESS = 0, CUDNN_ALLOC_FAILED = 1003, CUDNN_NOT_SUPPORTED = 3000 };

/* A function of the real library, which PyTorch loaded before the first call got here. Aborts when it has none. */
void *vest_cudnn_real(const char *name);

/* Declares `function`, the real library's `name`. */
#define REAL(name, result, ...)                                                                                        \
    static result (*function)(__VA_ARGS__);                                                                            \
    if (!function)                                                                                                     \
        function = (result(*)(__VA_ARGS__))vest_cudnn_real(#name);

/* The workspace a plan has on the GPU, from its JSON text and the device-less answer; see hopper.c. */
int64_t vest_hopper_workspace(const char *plan, int64_t deviceless, bool *guessed);

#endif
