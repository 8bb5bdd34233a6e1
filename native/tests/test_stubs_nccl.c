/* NCCL: communicators of one process. */
#include "test_stubs.h"

#include <dlfcn.h>
#include <string.h>

struct unique_id {
    char bytes[128];
};

static void nccl_communicators_know_their_rank(void *library)
{
    struct unique_id first, second;
    void *comm = NULL, *smaller = NULL;
    int ranks = 0, rank = 0, device = -1, error = 9, excluded[] = {0, 5};
    int (*init)(void **, int, struct unique_id, int);
    *(void **)&init = dlsym(library, "ncclCommInitRank");
    assert(find(library, "ncclGetUniqueId")(&first) == 0 && find(library, "ncclGetUniqueId")(&second) == 0);
    assert(memcmp(&first, &second, sizeof first) != 0);
    assert(init(&comm, 8, first, 3) == 0 && comm);
    assert(init(&smaller, 8, first, 8) == 4); /* ncclInvalidArgument */
    assert(find(library, "ncclCommCount")(comm, &ranks) == 0 && ranks == 8);
    assert(find(library, "pncclCommUserRank")(comm, &rank) == 0 && rank == 3);
    assert(find(library, "ncclCommCuDevice")(comm, &device) == 0 && device == 0);
    assert(find(library, "ncclCommGetAsyncError")(comm, &error) == 0 && error == 0);
    assert(find(library, "ncclCommShrink")(comm, excluded, 2, &smaller, NULL, 0) == 0);
    assert(find(library, "ncclCommCount")(smaller, &ranks) == 0 && ranks == 6);
    assert(find(library, "ncclCommUserRank")(smaller, &rank) == 0 && rank == 2);
    find(library, "ncclCommDestroy")(smaller);
    find(library, "ncclCommDestroy")(comm);
}

static void nccl_gathers_its_own_part_into_every_slot(void *library)
{
    void *comms[2];
    const int part = 42, type_int32 = 2;
    int back[2] = {0}, *from = NULL, *to = NULL;
    assert(find(library, "ncclCommInitAll")(comms, 2, NULL) == 0);
    any_call allocate = find(library, "ncclMemAlloc");
    assert(allocate(&from, (size_t)512) == 0 && allocate(&to, (size_t)512) == 0);
    vest_copy(from, &part, sizeof part);
    assert(find(library, "ncclAllGather")(from, to, (size_t)1, type_int32, comms[1], NULL) == 0);
    vest_copy(back, to, sizeof back);
    assert(back[0] == 42 && back[1] == 42);
    assert(find(library, "ncclMemFree")(from) == 0 && find(library, "ncclMemFree")(to) == 0);
    find(library, "ncclCommDestroy")(comms[0]);
    find(library, "ncclCommDestroy")(comms[1]);
}

static void nccl_sums_as_if_every_rank_held_the_same(void *library)
{
    enum { INT32 = 2, INT64 = 4, FLOAT32 = 7, SUM = 0, MAX = 2, AVERAGE = 4 };
    void *comms[4];
    int *from = NULL, *to = NULL, back[2] = {0};
    const int parts[] = {5, -3};
    const float number = 1.5f;
    float sum = 0;
    assert(find(library, "ncclCommInitAll")(comms, 4, NULL) == 0);
    any_call allocate = find(library, "ncclMemAlloc");
    assert(allocate(&from, (size_t)512) == 0 && allocate(&to, (size_t)512) == 0);
    vest_copy(from, parts, sizeof parts);
    assert(find(library, "ncclAllReduce")(from, to, (size_t)2, INT32, SUM, comms[1], NULL) == 0);
    vest_copy(back, to, sizeof back);
    assert(back[0] == 20 && back[1] == -12);
    assert(find(library, "ncclAllReduce")(from, to, (size_t)2, INT32, MAX, comms[1], NULL) == 0);
    vest_copy(back, to, sizeof back);
    assert(back[0] == 5 && back[1] == -3);
    vest_copy(from, &number, sizeof number);
    assert(find(library, "ncclAllReduce")(from, from, (size_t)1, FLOAT32, SUM, comms[0], NULL) == 0);
    vest_copy(&sum, from, sizeof sum);
    assert(sum == 6.0f);
    assert(find(library, "ncclAllReduce")(from, from, (size_t)1, FLOAT32, AVERAGE, comms[0], NULL) == 0);
    vest_copy(&sum, from, sizeof sum);
    assert(sum == 6.0f);
    assert(find(library, "ncclMemFree")(from) == 0 && find(library, "ncclMemFree")(to) == 0);
    for (int i = 0; i < 4; i++)
        find(library, "ncclCommDestroy")(comms[i]);
}

void test_nccl(void *library)
{
    nccl_communicators_know_their_rank(library);
    nccl_gathers_its_own_part_into_every_slot(library);
    nccl_sums_as_if_every_rank_held_the_same(library);
}
