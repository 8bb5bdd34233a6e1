/* For the tests of the stand-ins. */
#ifndef TEST_STUBS_H
#define TEST_STUBS_H

#undef NDEBUG
#include "vest.h"

#include <assert.h>

/* A call through an unprototyped pointer: arguments must already have the width the callee expects. */
typedef int (*any_call)();
any_call find(void *library, const char *name);

void test_nccl(void *library);
void test_nvml(void *library);

#endif
