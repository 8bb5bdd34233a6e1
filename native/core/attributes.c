/* Facts about the target GPU that programs ask for by number. */
#include "vest.h"

#include <stdio.h>
#include <string.h>

#define TEXTURE_1D 131072
#define TEXTURE_2D_HIGH 65536
#define TEXTURE_3D 16384
#define LAYERS 2048
#define SURFACE_2D 131072

/* Reserved by the system in each block's shared memory from compute capability 8.0 on. */
static int reserved_shared(const struct vest_gpu *gpu) { return gpu->cc >= 80 ? 1024 : 0; }

/* Rows: the public attribute number, its value on the target. Same numbers in the runtime and the driver API. */
static const int ones[] = {15, 19, 31, 41, 78, 79, 80, 83, 89, 90, 91, 95, 96, 98, 99, 102, 103, 115, 121, 122, 123, 125};
static const int zeros[] = {17, 18, 20, 32, 34, 35, 84, 85, 86, 88, 92, 93, 94, 100, 101, 104, 105, 107,
                            110, 112, 113, 114, 116, 117, 118, 119, 124, 128, 130, 131, 132, 133, 134};

static const struct {
    int attribute, value;
} constants[] = {
    {1, 1024},        {2, 1024},        {3, 1024},     {4, 64},      {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152},
    {9, 65536},       {10, 32},         {11, 2147483647}, {12, 65536}, {14, 512},     {21, TEXTURE_1D},
    {22, TEXTURE_2D_HIGH * 2}, {23, TEXTURE_2D_HIGH}, {24, TEXTURE_3D}, {25, TEXTURE_3D}, {26, TEXTURE_3D},
    {27, 32768},      {28, 32768},      {29, LAYERS},  {30, 512},    {40, 3},         {42, 32768}, {43, LAYERS},
    {51, 32},         {55, 32768},      {56, SURFACE_2D}, {57, 65536}, {77, 32768},    {87, 2},    {126, 1},
    {129, 1},
};

static bool contains(const int *list, size_t length, int wanted)
{
    for (size_t i = 0; i < length; i++)
        if (list[i] == wanted)
            return true;
    return false;
}

static bool target_attribute(const struct vest_gpu *gpu, int attribute, int device, int *value)
{
    switch (attribute) {
    case 13: *value = gpu->clock_khz; return true;
    case 16: *value = gpu->sms; return true;
    case 33: *value = 6 + device; return true;
    case 36: *value = gpu->memory_clock_khz; return true;
    case 37: *value = gpu->bus_bits; return true;
    case 38: *value = gpu->l2_bytes; return true;
    case 39: *value = gpu->threads_sm; return true;
    case 50: *value = 0; return true;
    case 75: *value = gpu->cc / 10; return true;
    case 76: *value = gpu->cc % 10; return true;
    case 81: *value = gpu->shared_sm_bytes; return true;
    case 82: *value = gpu->regs_sm; return true;
    case 97: *value = gpu->shared_optin_bytes; return true;
    case 106: *value = gpu->blocks_sm; return true;
    case 108: *value = gpu->cc >= 80 ? gpu->l2_bytes / 8 * 5 : 0; return true;
    case 109: *value = gpu->cc >= 80 ? 134213632 : 0; return true;
    case 111: *value = reserved_shared(gpu); return true;
    case 120: case 127: *value = gpu->cc >= 90; return true;
    default: return false;
    }
}

bool vest_attribute(int attribute, int device, int *value)
{
    *value = 0;
    if (target_attribute(vest_gpu(), attribute, device, value))
        return true;
    if (contains(zeros, sizeof zeros / sizeof *zeros, attribute))
        return true;
    if (contains(ones, sizeof ones / sizeof *ones, attribute)) {
        *value = 1;
        return true;
    }
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (constants[i].attribute == attribute) {
            *value = constants[i].value;
            return true;
        }
    return false;
}

int vest_occupancy(int block_threads, size_t shared_bytes)
{
    const int registers_a_thread = 32; /* kernels' own needs are not known; what the compiler aims for */
    const struct vest_gpu *gpu = vest_gpu();
    if (block_threads <= 0 || shared_bytes > (size_t)gpu->shared_optin_bytes)
        return 0;
    int threads = (block_threads + 31) / 32 * 32;
    int blocks = gpu->threads_sm / threads;
    int by_registers = gpu->regs_sm / (registers_a_thread * threads);
    int shared = (int)shared_bytes + reserved_shared(gpu);
    int by_shared = shared ? gpu->shared_sm_bytes / shared : gpu->blocks_sm;
    blocks = blocks < by_registers ? blocks : by_registers;
    blocks = blocks < by_shared ? blocks : by_shared;
    return blocks < gpu->blocks_sm ? blocks : gpu->blocks_sm;
}

void vest_pci_bus_id(int device, char *text, int bytes)
{
    snprintf(text, (size_t)bytes, "0000:%02X:00.0", 6 + device);
}

void vest_uuid(int device, unsigned char uuid[16])
{
    memcpy(uuid, "veritasest-gpu-\0", 16);
    uuid[15] = (unsigned char)device;
}
