/* Runs the core's tests, each in a process of its own, with its own settings and a fresh event log. */
#include "test_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char log_path[64], document_path[80], settings[4096];

void set_document(const char *text, size_t bytes)
{
    FILE *document = fopen(document_path, "w");
    assert(document && fwrite(text, 1, bytes, document) == bytes && fclose(document) == 0);
    assert(setenv("VERITASEST_RUN", document_path, 1) == 0);
}

void set_setting(const char *key, const char *value)
{
    bool number = *value && strspn(value, "0123456789") == strlen(value);
    char *end = strchr(settings, '\0'), text[sizeof settings + 32];
    const char *quote = number ? "" : "\"";
    snprintf(end, sizeof settings - (size_t)(end - settings), "%s\"%s\": %s%s%s", *settings ? ", " : "", key, quote,
             value, quote);
    snprintf(text, sizeof text, "{\"native\": {%s}, \"job\": []}\n", settings);
    set_document(text, strlen(text));
}

/* "count=2;total=1024" */
static void set_device(const char *device)
{
    char *copy = strdup(device), *rest = copy;
    for (char *field; (field = strsep(&rest, ";"));) {
        char key[64], *value = strchr(field, '=');
        if (!value)
            continue;
        snprintf(key, sizeof key, "gpu_%.*s", (int)(value - field), field);
        set_setting(key, value + 1);
    }
    free(copy);
}

int logged(const char *text)
{
    FILE *log = fopen(log_path, "r");
    char line[1024];
    int count = 0;
    assert(log);
    while (fgets(line, sizeof line, log)) {
        assert(line[0] == '{' && strcmp(strchr(line, '\0') - 2, "}\n") == 0); /* whole lines */
        count += strstr(line, text) != NULL;
    }
    fclose(log);
    return count;
}

int byte_at(const void *address)
{
    unsigned char byte = 0xee;
    vest_copy(&byte, address, 1);
    return byte;
}

bool all_are(const char *device, size_t bytes, int value)
{
    char *host = malloc(bytes);
    memset(host, ~value, bytes);
    vest_copy(host, device, bytes);
    bool same = host[0] == (char)value && memcmp(host, host + 1, bytes - 1) == 0;
    free(host);
    return same;
}

static void run_here(const struct test *test)
{
    set_setting("trace", log_path);
    set_device(test->device);
    test->run();
    for (int device = 0; device < vest_gpu()->count; device++)
        assert(vest_used_bytes(device) == 0);
}

static bool passes(const struct test *test)
{
    strcpy(log_path, "/tmp/test_core.XXXXXX");
    int status, log = mkstemp(log_path);
    snprintf(document_path, sizeof document_path, "%s.json", log_path);
    assert(log >= 0 && close(log) == 0);
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        run_here(test);
        exit(0);
    }
    assert(waitpid(child, &status, 0) == child && unlink(log_path) == 0 && unlink(document_path) == 0);
    if (status)
        fprintf(stderr, "FAILED %s (%s %d)\n", test->name, WIFSIGNALED(status) ? "signal" : "exit code",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return status == 0;
}

int main(void)
{
    const struct test *const groups[] = {memory_tests, vmm_tests,   content_tests, agent_tests,   thread_tests,
                                          shared_tests, order_tests, other_tests,   settings_tests};
    int run = 0, failed = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (const struct test *test = groups[i]; test->name; test++, run++)
            failed += !passes(test);
    printf("%d of %d passed\n", run - failed, run);
    return failed != 0;
}
