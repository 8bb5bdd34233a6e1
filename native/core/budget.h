/* How much device memory the process may have, and has; see budget.c. Callers hold vest_memory_lock. */
#ifndef VEST_BUDGET_H
#define VEST_BUDGET_H

#include "memory.h"

/* For the job's allocations. A refusal is recorded in the trace. */
bool vest_budget_reserve(int device, uint64_t bytes);
void vest_budget_release(int device, uint64_t bytes, uintptr_t address); /* recorded as the free of `address` */
void vest_budget_cancel(int device, uint64_t bytes);                     /* of what was never recorded */
uint64_t vest_budget_used(int device);

/* For the CUDA context, once per device: a process alone always has room for it. */
bool vest_budget_reserve_context(int device);

/* For libraries and kernels. vest_budget_add_overhead asks for no room; `bytes` below 0: released. */
bool vest_budget_reserve_overhead(const char *library, int device, uint64_t bytes);
void vest_budget_add_overhead(const char *library, int device, int64_t bytes);

void vest_budget_forked(void); /* in the child: what it has inherited is its parent's */

#endif
