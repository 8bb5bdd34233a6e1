/* Version queries, which all libraries have: the numbers are those of facts/versions.def. */
#ifndef VEST_VERSIONS_H
#define VEST_VERSIONS_H

#include "facts/facts.h"

/* 13.1.2 as one number: 13102 with a `major_unit` of 1000. */
static inline int vest_version_number(enum vest_versioned library, int major_unit)
{
    const int *parts = vest_version(library, VEST_CUDA_MAJOR)->parts;
    return parts[0] * major_unit + parts[1] * 100 + parts[2];
}

/* Major, minor or patch version, by a number from 0 to 2. */
#define GET_PROPERTY(name, library, invalid)                                                                           \
    VEST_EXPORT int name(int which, int *value)                                                                        \
    {                                                                                                                  \
        if (which < 0 || which > 2 || !value)                                                                          \
            return invalid;                                                                                            \
        *value = vest_version(library, VEST_CUDA_MAJOR)->parts[which];                                                 \
        return SUCCESS;                                                                                                \
    }

#endif
