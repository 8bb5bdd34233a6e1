/* The stand-in for NVML: what nvidia-smi would say about the emulated GPUs. Memory is that of cudaMemGetInfo.
 *
 * Sensors (temperature, power, utilisation) report the constants of an idle GPU: only dashboards depend on them.
 * Features that a GPU may lack (NVLink, MIG, fans, ECC) are reported as not supported.
 */
#ifndef VEST_NVML_H
#define VEST_NVML_H

#define VEST_LIBRARY "nvml"
#define VEST_REFUSAL NOT_SUPPORTED
#include "stub.h"

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    VERSION_MISMATCH = 25,
};

bool is_initialized(void);
int index_of(const void *handle); /* -1: not a device */
int copy_text(const char *text, char *out, unsigned bytes);

#endif
