/* Rounding, and the smaller and larger of two, for memory sizes and the formulas of workspaces. */
#ifndef VEST_ROUND_H
#define VEST_ROUND_H

#include <stdint.h>

static inline int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
static inline int64_t round_up(int64_t value, int64_t unit) { return divide_up(value, unit) * unit; }
static inline int64_t smaller(int64_t one, int64_t other) { return one < other ? one : other; }
static inline int64_t larger(int64_t one, int64_t other) { return one > other ? one : other; }

/* For any size that a caller may give. */
static inline uint64_t vest_round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

#endif
