/* The target GPU, read once from the run's settings, and each thread's current device. */
#include "settings.h"
#include "vest.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The H200 of the catalogue (a test compares them): for a process that loads the stand-ins without the launcher. */
static struct vest_gpu gpu = {
    .name = "NVIDIA H200",
    .count = 1,
    .cc = 90,
    .binary = 90,
    .sms = 132,
    .driver = 13000,
    .total_bytes = 150109880320ull,
    .context_bytes = 527ull << 20,
    .limit_bytes = 150109880320ull - (527ull << 20),
    .clock_khz = 1980000,
    .memory_clock_khz = 3201000,
    .bus_bits = 6144,
    .l2_bytes = 62914560,
    .shared_sm_bytes = 233472,
    .shared_optin_bytes = 232448,
    .regs_sm = 65536,
    .threads_sm = 2048,
    .blocks_sm = 32,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local int current_device;

static bool set_number(const char *key, uint64_t value)
{
    const struct {
        const char *key;
        int *small;
        uint64_t *large;
    } fields[] = {
        {"count", &gpu.count, NULL},
        {"cc", &gpu.cc, NULL},
        {"binary", &gpu.binary, NULL},
        {"sms", &gpu.sms, NULL},
        {"driver", &gpu.driver, NULL},
        {"total", NULL, &gpu.total_bytes},
        {"context", NULL, &gpu.context_bytes},
        {"limit", NULL, &gpu.limit_bytes},
        {"clock_khz", &gpu.clock_khz, NULL},
        {"memory_clock_khz", &gpu.memory_clock_khz, NULL},
        {"bus_bits", &gpu.bus_bits, NULL},
        {"l2", &gpu.l2_bytes, NULL},
        {"shared_sm", &gpu.shared_sm_bytes, NULL},
        {"shared_optin", &gpu.shared_optin_bytes, NULL},
        {"regs_sm", &gpu.regs_sm, NULL},
        {"threads_sm", &gpu.threads_sm, NULL},
        {"blocks_sm", &gpu.blocks_sm, NULL},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(fields[i].key, key) != 0)
            continue;
        if (fields[i].small && value > INT_MAX)
            return false;
        if (fields[i].small)
            *fields[i].small = (int)value;
        else
            *fields[i].large = value;
        return true;
    }
    return false;
}

static void refuse(const char *what, const char *text)
{
    fprintf(stderr, "veritasest: the run's settings: %s: '%s'\n", what, text);
    abort();
}

static void set_field(const char *field, const char *value)
{
    if (strcmp(field, "name") == 0) {
        snprintf(gpu.name, sizeof gpu.name, "%s", value);
    } else if (strcmp(field, "limit") == 0 && strcmp(value, "none") == 0) {
        gpu.limit_bytes = UINT64_MAX;
    } else {
        char *end;
        errno = 0;
        uint64_t number = strtoull(value, &end, 10);
        /* strtoull() itself accepts a sign, leading space and numbers that are too large. */
        if (*value < '0' || *value > '9' || *end || errno || !set_number(field, number))
            refuse("an unknown setting of the GPU, or a bad number", field);
    }
}

static void read_gpu(void)
{
    const char *key, *value, *prefix = "gpu_";
    vest_require_settings();
    for (size_t i = 0; vest_setting_at(i, &key, &value); i++)
        if (strncmp(key, prefix, strlen(prefix)) == 0)
            set_field(key + strlen(prefix), value);
    if (gpu.count < 1 || gpu.count > VEST_MAX_DEVICES)
        refuse("a device count out of range", "gpu_count");
    if (gpu.context_bytes > gpu.total_bytes)
        refuse("a context larger than the device", "gpu_context");
}

const struct vest_gpu *vest_gpu(void)
{
    pthread_once(&once, read_gpu);
    return &gpu;
}

int vest_device(void) { return current_device; }

bool vest_set_device(int device)
{
    if (device < 0 || device >= vest_gpu()->count)
        return false;
    current_device = device;
    return true;
}
