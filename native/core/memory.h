/* What memory.c and content.c know of each other. */
#ifndef VEST_MEMORY_H
#define VEST_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct vest_arena {
    uintptr_t base, end;
};

/* The address space of all devices, mapped on first use. */
const struct vest_arena *vest_arena(void);

/* Drops what was written there: it reads as zeros again and costs the host nothing. */
void vest_content_forget(void *address, uint64_t bytes);

/* Held across fork(), so that the child finds the bitmap whole. */
void vest_content_lock(void);
void vest_content_unlock(void);

#endif
