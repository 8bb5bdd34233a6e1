/* Measured facts (facts.def) and library versions (versions.def), and the one place that decides whether a fact is
 * exact on the GPU being emulated or a guess. */
#ifndef VEST_FACTS_H
#define VEST_FACTS_H

#include "vest.h"

/* Printed in this order by veritasest.engines.emulated.facts. */
enum vest_fact_kind { VEST_FACT_SIZE, VEST_FACT_OVERHEAD, VEST_FACT_PLACEMENT, VEST_FACT_EVERYWHERE };

enum vest_fact {
#define FACT(name, ...) FACT_##name,
#include "facts/facts.def"
    VEST_FACT_COUNT
};

/* The bytes of a row that has a value: FACT_VALUE(CUBLAS_HANDLE), also where C wants a constant. */
#define FACT_VALUE(name) ((uint64_t)FACT_VALUE_##name)
enum {
#define MODEL 0
#define FACT(name, kind, library, what, where, value, ...) FACT_VALUE_##name = (value),
#include "facts/facts.def"
#undef MODEL
};

/* The modelled size times both percentages, less and plus the margin. `otherwise`: in words, what else the caller gives
 * as an upper bound; NULL: nothing. */
struct vest_fact_spread {
    unsigned low_percent, high_percent;
    uint64_t margin;
    const char *otherwise;
};

/* 0 in `cc`, `sms` or `version` stands for all of them. `version` is CUDA's major (13), or for cuDNN 100 times the
 * major plus the minor (919). */
struct vest_fact_row {
    const char *name, *library, *what, *evidence;
    int kind, cc, sms, version;
    uint64_t value;
    struct vest_fact_spread other_shapes, elsewhere;
};

/* What a library wants to know. */
struct vest_fact_query {
    const char *name; /* for the record of a guess: the function that was called, or what the size is of */
    int version;      /* the installed one, in the units of the row */
    bool unrecorded;  /* no call with a shape like this one was recorded */
    uint64_t most;    /* elsewhere the upper bound is at least this */
};

/* `bytes`, the size that a model gives: as it is where the row was measured, elsewhere as a guess (vest_guess). */
VEST_EXPORT uint64_t vest_fact_size(enum vest_fact fact, const struct vest_fact_query *query, uint64_t bytes);

VEST_EXPORT const struct vest_fact_row *vest_fact_row(int index); /* NULL: past the end */

enum vest_versioned {
    VEST_CUDART,
    VEST_CUBLAS,
    VEST_CUBLASLT,
    VEST_CUFFT,
    VEST_CUSOLVER,
    VEST_CUSPARSE,
    VEST_CURAND,
    VEST_NCCL,
    VEST_DRIVER,
};

struct vest_version {
    enum vest_versioned library;
    const char *name;
    int cuda, parts[3]; /* major, minor, patch */
};

/* The version reported for CUDA major `cuda`. */
VEST_EXPORT const struct vest_version *vest_version(enum vest_versioned library, int cuda);
VEST_EXPORT const struct vest_version *vest_version_row(int index); /* NULL: past the end */

#endif
