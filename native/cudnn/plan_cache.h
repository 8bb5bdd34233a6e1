/* Finished cuDNN plans, kept from run to run. */
#ifndef VEST_PLAN_CACHE_H
#define VEST_PLAN_CACHE_H

#include "hopper.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A running hash (two independent FNV-1a streams). `unknown`: something went in that has no hash. */
struct vest_digest {
    uint64_t words[2];
    bool unknown;
};

struct vest_plan {
    int status;
    struct vest_workspace workspace;
};

void vest_digest_add(struct vest_digest *digest, const void *bytes, size_t count);
bool vest_plan_find(const struct vest_digest *digest, struct vest_plan *out);
void vest_plan_add(const struct vest_digest *digest, const struct vest_plan *plan);

#endif
