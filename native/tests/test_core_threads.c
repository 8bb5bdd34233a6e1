/* Several threads at once, and fork() among them. */
#include "test_core.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define ROUNDS 100
#define FORKS 100
#define DEADLOCK_S 60

static pthread_barrier_t start;
static bool stop;

static void use_memory(int device, int mark)
{
    char *a = vest_alloc(device, (uint64_t)(1 + mark % 20) * MIB), *b = vest_alloc(device, 2 * MIB);
    char back[1000];
    struct vest_extent extent;
    assert(a && b);
    vest_fill(a, &(char){(char)(mark | 1)}, 1, sizeof back);
    vest_copy(b + 12345, a, sizeof back);
    vest_copy(back, b + 12345, sizeof back);
    assert(back[0] == (char)(mark | 1) && memcmp(back, back + 1, sizeof back - 1) == 0);
    assert(vest_find(b, &extent) && extent.base == (uintptr_t)b && extent.device == device);
    assert(vest_free(a) && vest_free(b));
}

static void use_virtual_memory(int device)
{
    char *range = vest_reserve(32 * MIB, 0);
    struct vest_physical *memory = vest_physical_create(device, 2 * MIB);
    assert(range && memory && vest_map(range, 2 * MIB, memory) && vest_physical_release(memory));
    assert(vest_unmap(range, 2 * MIB) && vest_unreserve(range, 32 * MIB));
}

static void use_the_rest(int device)
{
    void *block = vest_pool_alloc(device, 3 * MIB), *pinned = vest_host_alloc(4096);
    struct vest_stream *stream = vest_stream_create(device, 0, 0), *joined = vest_stream_create(device, 0, 0);
    struct vest_event *event = vest_event_create();
    assert(block && vest_pool_free(block) && vest_is_pinned(pinned) && vest_host_free(pinned));
    assert(vest_capture_begin(stream));
    vest_event_record(event, stream);
    vest_stream_wait(joined, event);
    assert(vest_capture_id(joined) == vest_capture_id(stream) && vest_capture_end(stream));
    vest_event_destroy(event);
    vest_stream_destroy(stream);
    vest_stream_destroy(joined);
    vest_log_unmodelled("test", "a name", "guessed");
}

static void use_everything(int device, int mark)
{
    assert(vest_set_device(device) && vest_device() == device);
    vest_on_kernel_launch();
    use_memory(device, mark);
    use_virtual_memory(device);
    use_the_rest(device);
}

static void *work(void *number)
{
    int device = (int)(intptr_t)number % 2;
    pthread_barrier_wait(&start);
    for (int i = 0; i < ROUNDS; i++)
        use_everything(device, (int)(intptr_t)number * ROUNDS + i);
    return NULL;
}

static void *work_until_stopped(void *number)
{
    pthread_barrier_wait(&start);
    for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++)
        use_everything((int)(intptr_t)number % 2, i);
    return NULL;
}

static void start_threads(pthread_t threads[], int count, void *(*body)(void *))
{
    pthread_barrier_init(&start, NULL, (unsigned)count + 1);
    for (intptr_t i = 0; i < count; i++)
        assert(pthread_create(&threads[i], NULL, body, (void *)i) == 0);
    pthread_barrier_wait(&start);
}

static void join_threads(pthread_t threads[], int count)
{
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    vest_pool_trim(0);
    vest_pool_trim(1);
}

static void threads_that_free_everything_leave_nothing_in_use(void)
{
    pthread_t threads[THREADS];
    start_threads(threads, THREADS, work);
    join_threads(threads, THREADS);
    assert(vest_used_bytes(0) == 0 && vest_used_bytes(1) == 0);
    assert(vest_pool_number(0, VEST_POOL_USED) == 0 && vest_pool_number(0, VEST_POOL_RESERVED) == 0);
    /* Three a round: two blocks, one physical memory; the pools' chunks come on top. */
    assert(logged("\"op\":\"alloc\"") >= 3 * THREADS * ROUNDS);
    assert(logged("\"op\":\"alloc\"") == logged("\"op\":\"free\""));
    assert(logged("\"name\":\"a name\"") == 1 && MISUSES() == 0);
}

static void a_child_forked_amid_allocations_can_allocate(void)
{
    pthread_t threads[3];
    use_everything(0, 0); /* glibc's pthread_once() may be interrupted by a fork(), the thread sanitizer's may not */
    start_threads(threads, 3, work_until_stopped);
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t child = fork();
        assert(child >= 0);
        if (child == 0) {
            alarm(DEADLOCK_S);
            use_everything(i % 2, i);
            _exit(0);
        }
        assert(waitpid(child, &status, 0) == child && status == 0);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    join_threads(threads, 3);
}

const struct test thread_tests[] = {
    TEST(threads_that_free_everything_leave_nothing_in_use, "count=2"),
    TEST(a_child_forked_amid_allocations_can_allocate, "count=2"),
    {0},
};
