#include "facts/facts.h"

#include <stddef.h>
#include <string.h>

enum { CUDA_13 = 13, CUDNN_9_19 = 919 };

static const struct vest_fact_row rows[] = {
#define MODEL 0
#define H200(version) 90, 132, version
#define ALL 0, 0, 0
#define EXACT {100, 100, 0, NULL}
#define BETWEEN(low, high, margin) {low, high, margin, NULL}
#define BETWEEN_OR(low, high, more) {low, high, 0, more}
#define FACT(name, kind, library, what, where, value, other_shapes, elsewhere, evidence)                               \
    {#name, library, what, evidence, VEST_FACT_##kind, where, value, other_shapes, elsewhere},
#include "facts/facts.def"
};

static const struct vest_version versions[] = {
#define VERSION(library, cuda, major, minor, patch) {VEST_##library, #library, cuda, {major, minor, patch}},
#include "facts/versions.def"
};

static bool matches(int measured, int here) { return measured == 0 || measured == here; }

/* Whether the row was measured on the GPU being emulated, with this version of the library. A GH200 has as many
 * multiprocessors as an H200, but how many clusters it keeps resident is not known. */
static bool was_measured_here(const struct vest_fact_row *row, int version)
{
    const struct vest_gpu *gpu = vest_gpu();
    if (row->sms && strstr(gpu->name, "GH200"))
        return false;
    return matches(row->cc, gpu->cc) && matches(row->sms, gpu->sms) && matches(row->version, version);
}

static uint64_t less(uint64_t bytes, uint64_t taken) { return bytes > taken ? bytes - taken : 0; }

static void widen(struct vest_bounds *bounds, const struct vest_fact_spread *spread)
{
    const uint64_t low = less(bounds->bytes * spread->low_percent / 100, spread->margin);
    const uint64_t high = bounds->bytes * spread->high_percent / 100 + spread->margin;
    bounds->low = low < bounds->low ? low : bounds->low;
    bounds->high = high > bounds->high ? high : bounds->high;
}

uint64_t vest_fact_size(enum vest_fact fact, const struct vest_fact_query *query, uint64_t bytes)
{
    const struct vest_fact_row *row = &rows[fact];
    const bool here = row->kind != VEST_FACT_SIZE || was_measured_here(row, query->version);
    if (here && !query->unrecorded)
        return bytes;
    struct vest_bounds bounds = {bytes, bytes, bytes};
    if (query->unrecorded)
        widen(&bounds, &row->other_shapes);
    if (!here) {
        widen(&bounds, &row->elsewhere);
        bounds.high = query->most > bounds.high ? query->most : bounds.high;
    }
    return vest_guess(row->library, query->name, bounds);
}

const struct vest_fact_row *vest_fact_row(int index)
{
    return index >= 0 && index < VEST_FACT_COUNT ? &rows[index] : NULL;
}

const struct vest_version *vest_version_row(int index)
{
    return index >= 0 && index < (int)(sizeof versions / sizeof *versions) ? &versions[index] : NULL;
}

const struct vest_version *vest_version(enum vest_versioned library, int cuda)
{
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (versions[i].library == library && matches(versions[i].cuda, cuda))
            return &versions[i];
    return NULL;
}
