/* The CUDA context and its addresses; see overhead.c. */
#ifndef VEST_OVERHEAD_H
#define VEST_OVERHEAD_H

#include <stdbool.h>

bool vest_context_create(int device); /* false: no room for it. Callers hold vest_memory_lock. */
void vest_overhead_forked(void);      /* in the child, which has no context of its own yet */

#endif
