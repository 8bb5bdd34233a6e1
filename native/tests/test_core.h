/* The tests of the emulated device's core: each claim is a function, run in its own process with its own device. */
#ifndef TEST_CORE_H
#define TEST_CORE_H

#undef NDEBUG
#include "vest.h"

#include <assert.h>

#define KIB (1ull << 10)
#define MIB (1ull << 20)
#define GIB (1ull << 30)

struct test {
    const char *name;
    const char *device; /* "count=2;total=1024": the settings gpu_count, gpu_total...; "": the built-in H200 */
    void (*run)(void);
};
#define TEST(claim, device) {#claim, device, claim}

/* Ends with a row of NULLs. */
extern const struct test memory_tests[], vmm_tests[], content_tests[], agent_tests[], thread_tests[], shared_tests[],
    order_tests[], other_tests[], settings_tests[];

#define COPY_LIMIT (64 * MIB) /* content.c's */

/* Device memory, read as a program would. */
int byte_at(const void *address);
bool all_are(const char *device, size_t bytes, int value);

/* Adds to the settings of this test's process, which has not read them yet; or replaces the whole document. */
void set_setting(const char *key, const char *value);
void set_document(const char *text, size_t bytes);

/* How often `text` occurs in the event log of this test's process. */
int logged(const char *text);
#define MISUSES() logged("\"kind\":\"misuse\"")

#endif
