/* The run's settings: the document that VERITASEST_RUN names, and the target GPU in it. */
#include "settings.h"
#include "test_core.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is(const char *key, const char *value)
{
    const char *found = vest_setting(key);
    return found && strcmp(found, value) == 0;
}

#define SET(text) set_document(text, strlen(text))

static void strings_and_numbers_are_read_as_they_were_written(void)
{
    SET("{\"native\": {\"trace\": \"/a b/c.vest\", \"gpu_total\": 150109880320, \"books\":\"\",\n\t"
        "\"n\" : 7 ,\"home\":\"/h\"},"
        " \"native2\": {\"trace\": \"other\"}, \"stop\": [1.5, null, {}]}");
    assert(is("trace", "/a b/c.vest") && is("gpu_total", "150109880320") && is("books", "") && is("n", "7"));
    assert(is("home", "/h") && !vest_setting("stop") && !vest_setting("native2") && !vest_setting("tra"));
}

static void escapes_are_decoded(void)
{
    SET("{\"native\": {\"a\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t.\","
        "\"b\": \"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\", \"\\u006b\": \"v\","
        "\"c\": \"\xc3\xa9\xff\x7f\", \"d\": \"\\udcff.\\udc80\"}}");
    assert(is("a", "\"\\/\b\f\n\r\t.") && is("b", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") && is("k", "v"));
    assert(is("c", "\xc3\xa9\xff\x7f")); /* bytes of a path that are not UTF-8, as they are */
    assert(is("d", "\xff.\x80"));        /* or escaped as Python does it */
}

static void an_empty_section_sets_nothing(void)
{
    const char *key, *value;
    SET(" { \"native\" : { } }");
    assert(!vest_setting("trace") && !vest_setting_at(0, &key, &value));
    assert(strcmp(vest_gpu()->name, "NVIDIA H200") == 0);
}

static void settings_come_in_their_order(void)
{
    const char *key, *value;
    SET("{\"native\": {\"one\": 1, \"two\": \"2\"}}");
    assert(vest_setting_at(0, &key, &value) && strcmp(key, "one") == 0 && strcmp(value, "1") == 0);
    assert(vest_setting_at(1, &key, &value) && strcmp(key, "two") == 0 && strcmp(value, "2") == 0);
    assert(!vest_setting_at(2, &key, &value));
}

static void a_document_that_goes_on_after_the_section_may_be_of_any_length(void)
{
    size_t bytes = 1 << 20;
    char *text = malloc(bytes);
    assert(text);
    memset(text, 'x', bytes);
    const char *start = "{\"native\": {\"trace\": \"t\"}, \"rest\": \"";
    memcpy(text, start, strlen(start));
    set_document(text, bytes);
    assert(is("trace", "t"));
    free(text);
}

/* How a process with these settings ends when it asks for its GPU, and whether its message has `says` in it. */
static bool aborts(const char *says)
{
    int status, ends[2];
    char text[512] = "";
    assert(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        dup2(ends[1], STDERR_FILENO);
        vest_gpu();
        _exit(0);
    }
    close(ends[1]);
    assert(read(ends[0], text, sizeof text - 1) >= 0);
    close(ends[0]);
    assert(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strncmp(text, "veritasest: ", 12) == 0 &&
           strstr(text, says);
}

static void a_malformed_document_ends_the_process_with_its_name(void)
{
    static const char *const wrong[] = {
        "",
        "native",
        "[]",
        "{}",
        "{\"other\": 1, \"native\": {}}",
        "{\"native\": 1}",
        "{\"native\": {\"a\"}}",
        "{\"native\": {\"a\": }}",
        "{\"native\": {\"a\": 1,}}",
        "{\"native\": {\"a\": 1 \"b\": 2}}",
        "{\"native\": {a: 1}}",
        "{\"native\": {\"a\": -1}}",
        "{\"native\": {\"a\": 1.5}}",
        "{\"native\": {\"a\": true}}",
        "{\"native\": {\"a\": null}}",
        "{\"native\": {\"a\": {}}}",
        "{\"native\": {\"a\": \"\\x\"}}",
        "{\"native\": {\"a\": \"\\u00g0\"}}",
        "{\"native\": {\"a\": \"\\u0000\"}}",
        "{\"native\": {\"a\": \"\\ud800\"}}",
        "{\"native\": {\"a\": \"\n\"}}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        SET(wrong[i]);
        if (!aborts(getenv("VERITASEST_RUN"))) {
            fprintf(stderr, "accepted: '%s'\n", wrong[i]);
            assert(false);
        }
    }
    SET("{\"native\": {}}"); /* for the test's end, which asks for the GPU */
}

static void a_truncated_document_ends_the_process_wherever_it_was_cut(void)
{
    const char *whole = "{\"native\": {\"trace\": \"a\\\"\\u20ac\", \"gpu_sms\": 12}";
    for (size_t bytes = 0; bytes < strlen(whole); bytes++) {
        set_document(whole, bytes);
        assert(aborts(getenv("VERITASEST_RUN")));
    }
    set_document(whole, strlen(whole));
    assert(!aborts(""));
}

static void too_much_ends_the_process(void)
{
    size_t bytes = 1 << 20;
    char *text = malloc(bytes), *out = text;
    assert(text);
    out += sprintf(out, "{\"native\": {\"a0\": 0");
    for (int i = 1; i < 65; i++) /* 64 settings at most */
        out += sprintf(out, ", \"a%d\": %d", i, i);
    out += sprintf(out, "}}");
    set_document(text, (size_t)(out - text));
    assert(aborts("too many settings"));
    memset(text, 'x', bytes);
    memcpy(text, "{\"native\": {\"a\": \"", 18);
    set_document(text, bytes);
    assert(aborts("a string without an end"));
    SET("{\"native\": {}}");
    free(text);
}

static void a_document_that_is_missing_is_noticed_when_the_gpu_is_asked_for(void)
{
    setenv("VERITASEST_RUN", "/nowhere/run.json", 1);
    assert(aborts("cannot read the run's settings, /nowhere/run.json"));
    assert(!vest_setting("trace"));
    exit(0); /* the test's end asks for the GPU */
}

static void the_gpu_is_read(void)
{
    const struct vest_gpu *gpu = vest_gpu();
    assert(strcmp(gpu->name, "Some GPU") == 0 && gpu->count == 3 && gpu->cc == 89 && gpu->binary == 86);
    assert(gpu->total_bytes == 8 * GIB && gpu->context_bytes == 300 * MIB && gpu->limit_bytes == UINT64_MAX);
    assert(gpu->sms == 132); /* not given: the H200's */
    assert(vest_set_device(2) && vest_device() == 2);
    assert(!vest_set_device(3) && !vest_set_device(-1) && vest_device() == 2);
}

static void a_gpu_with_mistakes_ends_the_process(void)
{
    static const char *const wrong[] = {
        "\"gpu_colour\": 1", "\"gpu_\": 1", "\"gpu_sms\": \"\"", "\"gpu_sms\": \"many\"", "\"gpu_sms\": \"12x\"",
        "\"gpu_sms\": \"-1\"", "\"gpu_sms\": \"+1\"", "\"gpu_sms\": \" 1\"", "\"gpu_sms\": 4294967297",
        "\"gpu_total\": 99999999999999999999", "\"gpu_total\": \"none\"", "\"gpu_count\": 0", "\"gpu_count\": 65",
        "\"gpu_total\": 1024, \"gpu_context\": 1025",
    };
    static const char *const right[] = {"\"gpu_limit\": \"none\"", "\"gpu_name\": \"\"",
                                        "\"gpu_sms\": \"12\"", "\"sms\": 1"};
    char text[256];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "{\"native\": {%s}}", wrong[i]);
        SET(text);
        if (!aborts("the run's settings: ")) {
            fprintf(stderr, "accepted: '%s'\n", wrong[i]);
            assert(false);
        }
    }
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        snprintf(text, sizeof text, "{\"native\": {%s}}", right[i]);
        SET(text);
        assert(!aborts(""));
    }
}

const struct test settings_tests[] = {
    TEST(strings_and_numbers_are_read_as_they_were_written, ""),
    TEST(escapes_are_decoded, ""),
    TEST(an_empty_section_sets_nothing, ""),
    TEST(settings_come_in_their_order, ""),
    TEST(a_document_that_goes_on_after_the_section_may_be_of_any_length, ""),
    TEST(a_malformed_document_ends_the_process_with_its_name, ""),
    TEST(a_truncated_document_ends_the_process_wherever_it_was_cut, ""),
    TEST(too_much_ends_the_process, ""),
    TEST(a_document_that_is_missing_is_noticed_when_the_gpu_is_asked_for, ""),
    TEST(the_gpu_is_read, "name=Some GPU;count=3;cc=89;binary=86;total=8589934592;context=314572800;limit=none"),
    TEST(a_gpu_with_mistakes_ends_the_process, ""),
    {0},
};
