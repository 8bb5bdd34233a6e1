/* A convolution plan of a Hopper GPU. */
#ifndef VEST_HOPPER_PLAN_H
#define VEST_HOPPER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_DIMS 8

enum kind { FORWARD, DATA, FILTER };

struct plan {
    enum kind kind;
    bool half, bf16;
    int64_t engine, tile_size, tile_k, cga_m, cga_n, workspace_knob, sm_khz, memory_khz;
    int64_t x[MAX_DIMS], w[MAX_DIMS], y[MAX_DIMS];
    int dims;
};

/* False: not a convolution plan for compute capability 9.0. */
bool vest_read_plan(const char *text, struct plan *out);

#endif
