/* Names and texts of errors. */
#include "cuda.h"

static const struct {
    int status;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

static int describe(int status, bool name, const char **out)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].status == status)
            *out = name ? errors[i].name : errors[i].text;
    return *out ? SUCCESS : INVALID_VALUE;
}

VEST_EXPORT int cuGetErrorName(int status, const char **out) { return describe(status, true, out); }
VEST_EXPORT int cuGetErrorString(int status, const char **out) { return describe(status, false, out); }
