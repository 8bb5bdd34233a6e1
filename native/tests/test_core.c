/* Runs the core's tests, each in a process of its own, with its device in VERITASEST_DEVICE and a fresh event log. */
#include "test_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int logged(const char *text)
{
    FILE *log = fopen(getenv("VERITASEST_TRACE"), "r");
    char line[1024];
    int count = 0;
    assert(log);
    while (fgets(line, sizeof line, log)) {
        assert(line[0] == '{' && strcmp(strchr(line, '\0') - 2, "}\n") == 0); /* whole lines, whoever else writes */
        count += strstr(line, text) != NULL;
    }
    fclose(log);
    return count;
}

static void run_here(const struct test *test, const char *log_path)
{
    setenv("VERITASEST_TRACE", log_path, 1);
    setenv("VERITASEST_DEVICE", test->device, 1);
    test->run();
    for (int device = 0; device < vest_gpu()->count; device++)
        assert(vest_used_bytes(device) == 0);
}

static bool passes(const struct test *test)
{
    char log_path[] = "/tmp/test_core.XXXXXX";
    int status, log = mkstemp(log_path);
    assert(log >= 0 && close(log) == 0);
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        run_here(test, log_path);
        exit(0);
    }
    assert(waitpid(child, &status, 0) == child && unlink(log_path) == 0);
    if (status)
        fprintf(stderr, "FAILED %s (%s %d)\n", test->name, WIFSIGNALED(status) ? "signal" : "exit code",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return status == 0;
}

int main(void)
{
    const struct test *const groups[] = {memory_tests, content_tests, thread_tests, shared_tests, order_tests,
                                          other_tests};
    int run = 0, failed = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (const struct test *test = groups[i]; test->name; test++, run++)
            failed += !passes(test);
    printf("%d of %d passed\n", run - failed, run);
    return failed != 0;
}
