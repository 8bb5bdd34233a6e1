/* Handles and descriptors of the maths libraries: created, destroyed, their settings kept.
 *
 * Included after the library's own status numbers: SUCCESS, ALLOC_FAILED, INVALID_VALUE, and for SETTING also
 * NOT_INITIALIZED.
 */
#ifndef VEST_OBJECT_H
#define VEST_OBJECT_H

#include "stub.h"

#include <stdlib.h>

static inline int create(void **out, size_t bytes)
{
    if (!out)
        return INVALID_VALUE;
    *out = calloc(1, bytes);
    return *out ? SUCCESS : ALLOC_FAILED;
}

static inline int destroy(void *object)
{
    free(object);
    return SUCCESS;
}

/* A setting of the handle: the getter returns what was set. */
#define SETTING(setter, getter, type, field)                                                                           \
    VEST_EXPORT int setter(struct handle *handle, type value)                                                          \
    {                                                                                                                  \
        if (!handle)                                                                                                   \
            return NOT_INITIALIZED;                                                                                    \
        handle->field = value;                                                                                         \
        return SUCCESS;                                                                                                \
    }                                                                                                                  \
    VEST_EXPORT int getter(struct handle *handle, type *value)                                                         \
    {                                                                                                                  \
        if (!handle)                                                                                                   \
            return NOT_INITIALIZED;                                                                                    \
        if (!value)                                                                                                    \
            return INVALID_VALUE;                                                                                      \
        *value = handle->field;                                                                                        \
        return SUCCESS;                                                                                                \
    }

#endif
