/* Several processes on one device, and how each of them ends. */
#include "test_core.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 8
#define SLOT_BYTES (16 + 16 * VEST_MAX_DEVICES)
#define HEADER_BYTES 64

/* As the launcher makes it. */
static char shared_path[64];

static void make_shared_file(void)
{
    snprintf(shared_path, sizeof shared_path, "/tmp/test_shared.XXXXXX");
    int file = mkstemp(shared_path);
    assert(file >= 0 && ftruncate(file, HEADER_BYTES + SLOTS * SLOT_BYTES) == 0 && close(file) == 0);
    set_setting("books", shared_path);
}

static void remove_shared_file(void) { assert(unlink(shared_path) == 0); }

static uint64_t free_bytes(void)
{
    uint64_t left, total;
    vest_memory_info(0, &left, &total);
    assert(total == 1000 * MIB);
    return left;
}

/* Runs `body` in a child that then waits for `finish`; returns once the body has run. */
struct child {
    pid_t process;
    int finish;
};

static struct child start(void (*body)(void))
{
    int ready[2], finish[2];
    char byte;
    assert(pipe(ready) == 0 && pipe(finish) == 0);
    pid_t process = fork();
    assert(process >= 0);
    if (process == 0) {
        close(finish[1]);
        body();
        assert(write(ready[1], "r", 1) == 1);
        assert(read(finish[0], &byte, 1) >= 0);
        exit(0);
    }
    close(ready[1]);
    close(finish[0]);
    assert(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    return (struct child){.process = process, .finish = finish[1]};
}

static int end(struct child child)
{
    int status;
    signal(SIGPIPE, SIG_IGN); /* it may have ended already */
    (void)!write(child.finish, "f", 1);
    close(child.finish);
    assert(waitpid(child.process, &status, 0) == child.process);
    return status;
}

static void take_400(void) { assert(vest_alloc(0, 400 * MIB)); }

/* 1000 MiB in all, 100 for each context. */
static void processes_compete_for_one_device(void)
{
    make_shared_file();
    void *a = vest_alloc(0, 300 * MIB);
    assert(a && free_bytes() == (1000 - 100 - 300) * MIB);
    struct child child = start(take_400);
    assert(free_bytes() == (1000 - 100 - 300 - 100 - 400) * MIB);
    assert(!vest_alloc(0, 101 * MIB) && logged("\"kind\":\"refused\"") == 1);
    assert(logged("\"used_bytes\":314572800,\"limit_bytes\":419430400") == 1); /* 300 of 400 MiB */
    void *b = vest_alloc(0, 100 * MIB);
    assert(b && free_bytes() == 0 && end(child) == 0);
    assert(free_bytes() == (1000 - 100 - 400) * MIB && logged("\"kind\":\"gone\"") == 1);
    assert(vest_free(a) && vest_free(b));
    remove_shared_file();
}

static void use_kernels(void)
{
    take_400();
    vest_on_kernel_launch();
}

static void what_libraries_of_others_hold_counts(void)
{
    make_shared_file();
    struct vest_library library = {.name = "test", .handle_bytes = 90 * MIB};
    struct child child = start(use_kernels);
    uint64_t others = (100 + 400 + 92 + 2) * MIB; /* a first launch brings 92 + 2 MiB on an H200 */
    void *a = vest_alloc(0, 300 * MIB);
    assert(a && free_bytes() == 1000 * MIB - others - 400 * MIB); /* 6 MiB are left */
    assert(!vest_overhead_acquire(&library, 0) && logged("\"owner\":\"test\"") == 1);
    assert(end(child) == 0 && vest_overhead_acquire(&library, 0));
    assert(vest_free(a));
    remove_shared_file();
}

static void take_850(void) { assert(vest_alloc(0, 850 * MIB)); }

static void a_process_without_room_for_its_context_gets_no_memory(void)
{
    make_shared_file();
    struct child child = start(take_850); /* leaves 50 MiB */
    assert(!vest_alloc(0, 2 * MIB) && !vest_physical_create(0, 2 * MIB));
    assert(logged("\"owner\":\"context\",\"device\":0,\"bytes\":104857600,\"used_bytes\":0,"
                  "\"limit_bytes\":52428800") == 2);
    assert(end(child) == 0);
    void *a = vest_alloc(0, 2 * MIB);
    assert(a && vest_free(a));
    remove_shared_file();
}

static void the_memory_of_a_killed_process_is_free_at_once(void)
{
    make_shared_file();
    struct child child = start(take_400);
    siginfo_t info;
    assert(kill(child.process, SIGKILL) == 0 && logged("\"kind\":\"killed\"") == 1);
    assert(waitid(P_PID, (id_t)child.process, &info, WEXITED | WNOWAIT) == 0); /* ended, not yet reaped */
    void *a = vest_alloc(0, 800 * MIB);
    assert(a && vest_free(a) && logged("\"kind\":\"gone\"") == 1 && logged("\"kind\":\"process_exit\"") == 0);
    assert(WTERMSIG(end(child)) == SIGKILL);
    remove_shared_file();
}

static void a_lock_left_by_a_killed_process_is_taken_over(void)
{
    make_shared_file();
    void *a = vest_alloc(0, 2 * MIB);
    pid_t process = fork();
    assert(process >= 0);
    if (process == 0)
        _exit(0);
    assert(waitpid(process, NULL, 0) == process);
    FILE *file = fopen(shared_path, "r+");
    uint64_t lock = (uint64_t)process << 32 | 3;
    assert(file && fwrite(&lock, sizeof lock, 1, file) == 1 && fclose(file) == 0);
    alarm(20);
    assert(a && vest_free(a));
    remove_shared_file();
}

static void a_forked_child_holds_none_of_its_parents_memory(void)
{
    make_shared_file();
    int status;
    void *a = vest_alloc(0, 300 * MIB);
    struct vest_physical *b = vest_physical_create(0, 100 * MIB);
    pid_t process = fork();
    assert(a && b && process >= 0);
    if (process == 0) {
        assert(vest_used_bytes(0) == 0 && vest_free(a) && vest_physical_release(b) && vest_used_bytes(0) == 0);
        void *own = vest_alloc(0, 2 * MIB);
        assert(own && free_bytes() == (1000 - 100 - 2 - 100 - 300 - 100) * MIB);
        _exit(0);
    }
    assert(waitpid(process, &status, 0) == process && status == 0);
    assert(logged("\"op\":\"free\"") == 0 && vest_used_bytes(0) == 400 * MIB);
    assert(vest_free(a) && vest_physical_release(b));
    remove_shared_file();
}

static void exits_of_processes_that_use_the_device_are_recorded(void)
{
    make_shared_file();
    int status;
    for (int code = 0; code < 4; code++) { /* 0, 1: never used it; 2: exit(); 3: _exit() */
        pid_t process = fork();
        assert(process >= 0);
        if (process == 0) {
            if (code >= 2)
                assert(vest_alloc(0, 2 * MIB));
            if (vfork() == 0)
                _exit(9); /* not this process's end */
            if (code == 3)
                _exit(code);
            exit(code);
        }
        assert(waitpid(process, &status, 0) == process && WEXITSTATUS(status) == code);
    }
    assert(logged("\"kind\":\"process_exit\"") == 2);
    assert(logged("\"code\":2}") == 1 && logged("\"code\":3}") == 1);
    remove_shared_file();
}

#define RACERS 6
#define ROUNDS 300

static void race(uint64_t *held)
{
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t bytes = (uint64_t)(1 + (round + getpid()) % 40) * 2 * MIB;
        void *a = vest_alloc(0, bytes);
        if (!a)
            continue;
        assert(__atomic_add_fetch(held, bytes, __ATOMIC_SEQ_CST) <= (1000 - RACERS * 100) * MIB);
        __atomic_sub_fetch(held, bytes, __ATOMIC_SEQ_CST);
        assert(vest_free(a));
    }
}

/* 6 contexts of 100 MiB leave 400 MiB, and each allocates up to 80: without the shared file they would allocate 480. */
static void racing_processes_never_allocate_more_than_the_device_has(void)
{
    make_shared_file();
    uint64_t *held = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t racers[RACERS];
    int status;
    for (int i = 0; i < RACERS; i++) {
        racers[i] = fork();
        assert(racers[i] >= 0);
        if (racers[i] == 0) {
            void *first = vest_alloc(0, 2 * MIB); /* all contexts are there before anybody races */
            assert(first && vest_free(first));
            __atomic_add_fetch(&held[1], 1, __ATOMIC_SEQ_CST);
            while (__atomic_load_n(&held[1], __ATOMIC_SEQ_CST) < RACERS)
                usleep(100);
            race(held);
            __atomic_add_fetch(&held[1], 1, __ATOMIC_SEQ_CST);
            while (__atomic_load_n(&held[1], __ATOMIC_SEQ_CST) < 2 * RACERS) /* nor leaves while others do */
                usleep(100);
            _exit(0);
        }
    }
    for (int i = 0; i < RACERS; i++)
        assert(waitpid(racers[i], &status, 0) == racers[i] && status == 0);
    remove_shared_file();
}

static void more_processes_than_slots_are_recorded_as_our_own_error(void)
{
    make_shared_file();
    struct child children[SLOTS];
    for (int i = 0; i < SLOTS; i++)
        children[i] = start((void (*)(void))vest_on_kernel_launch);
    void *a = vest_alloc(0, 2 * MIB);
    assert(a && logged("\"kind\":\"own_error\"") == 1 && vest_free(a));
    for (int i = 0; i < SLOTS; i++)
        assert(end(children[i]) == 0);
    remove_shared_file();
}

#define DEVICE "total=1048576000;context=104857600;limit=943718400"

const struct test shared_tests[] = {
    TEST(processes_compete_for_one_device, DEVICE),
    TEST(what_libraries_of_others_hold_counts, DEVICE),
    TEST(a_process_without_room_for_its_context_gets_no_memory, DEVICE),
    TEST(the_memory_of_a_killed_process_is_free_at_once, DEVICE),
    TEST(a_lock_left_by_a_killed_process_is_taken_over, DEVICE),
    TEST(a_forked_child_holds_none_of_its_parents_memory, DEVICE),
    TEST(exits_of_processes_that_use_the_device_are_recorded, DEVICE),
    TEST(racing_processes_never_allocate_more_than_the_device_has, DEVICE),
    TEST(more_processes_than_slots_are_recorded_as_our_own_error,
         "total=10485760000;context=104857600;limit=9437184000"),
    {0},
};
