/* The workspace that a plan has on the GPU. */
#ifndef VEST_HOPPER_H
#define VEST_HOPPER_H

#include "vest.h"

/* What the GPU adds to the device-less answer: a size that is exact where `fact` (facts.def) was measured. `most`: the
 * upper bound elsewhere. */
struct vest_part {
    int fact, unrecorded;
    int64_t bytes, most;
};

struct vest_workspace {
    int64_t base;
    struct vest_part part;
};

/* From the plan's JSON text and the device-less answer. */
VEST_EXPORT void vest_hopper_workspace(const char *plan, int64_t deviceless, struct vest_workspace *out);

/* Its bytes here; records a guess where the part is one. */
int64_t vest_workspace_bytes(const struct vest_workspace *workspace);

#endif
