/* What memory.c and content.c know of each other. */
#ifndef VEST_MEMORY_H
#define VEST_MEMORY_H

#include <stdint.h>

/* Drops what was written there: it reads as zeros again and costs the host nothing. */
void vest_content_forget(void *address, uint64_t bytes);

/* Held across fork(), so that the child finds the bitmap whole. */
void vest_content_lock(void);
void vest_content_unlock(void);

#endif
