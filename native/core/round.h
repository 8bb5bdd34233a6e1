/* The two ways to round up. */
#ifndef VEST_ROUND_H
#define VEST_ROUND_H

#include <stdint.h>

static inline uint64_t vest_ceil_div(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit; }
static inline uint64_t vest_round_up(uint64_t value, uint64_t unit) { return vest_ceil_div(value, unit) * unit; }

#endif
