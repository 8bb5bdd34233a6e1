/* Writes the trace: whole lines, appended with one write() each, so that several processes can share the file and a
 * killed job leaves it readable. */
#include "memory.h"
#include "settings.h"
#include "vest.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int trace_fd = -1;

pthread_mutex_t vest_names_lock = PTHREAD_MUTEX_INITIALIZER;
static struct name {
    struct name *next;
    char text[];
} *names_seen;

static void open_trace(void)
{
    const char *path = vest_setting("trace");
    if (path && *path)
        trace_fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
}

__attribute__((format(printf, 2, 3))) static void append(const char *kind, const char *format, ...)
{
    pthread_once(&once, open_trace);
    if (trace_fd < 0)
        return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    char line[768];
    int length = snprintf(line, sizeof line, "{\"kind\":\"%s\",\"pid\":%d,\"t\":%lld.%06ld,", kind, (int)getpid(),
                          (long long)now.tv_sec, now.tv_nsec / 1000);
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof line - 2)
        return; /* only for a name longer than any real one */
    line[length++] = '}';
    line[length++] = '\n';
    if (write(trace_fd, line, (size_t)length) < 0) {
        /* A full disk must not end the job; the reader accepts an incomplete last line. */
        trace_fd = -1;
    }
}

void vest_log_segment(const char *op, int device, uint64_t bytes, uintptr_t address, uint64_t used_bytes)
{
    append("segment", "\"op\":\"%s\",\"device\":%d,\"bytes\":%llu,\"address\":%llu,\"used_bytes\":%llu", op, device,
           (unsigned long long)bytes, (unsigned long long)address, (unsigned long long)used_bytes);
}

void vest_log_refused(const char *owner, int device, uint64_t bytes, uint64_t used_bytes, uint64_t limit_bytes)
{
    append("refused", "\"owner\":\"%s\",\"device\":%d,\"bytes\":%llu,\"used_bytes\":%llu,\"limit_bytes\":%llu", owner,
           device, (unsigned long long)bytes, (unsigned long long)used_bytes, (unsigned long long)limit_bytes);
}

void vest_log_library(const char *library, int device, int64_t bytes, uint64_t libraries_bytes)
{
    append("library", "\"library\":\"%s\",\"device\":%d,\"bytes\":%lld,\"libraries_bytes\":%llu", library, device,
           (long long)bytes, (unsigned long long)libraries_bytes);
}

void vest_log_workspace(const char *library, const void *address, uint64_t bytes)
{
    append("workspace", "\"library\":\"%s\",\"address\":%llu,\"bytes\":%llu", library,
           (unsigned long long)(uintptr_t)address, (unsigned long long)bytes);
}

void vest_log_deferred_free(void)
{
    static bool logged;
    if (!__atomic_exchange_n(&logged, true, __ATOMIC_RELAXED))
        append("deferred_free", "\"device\":%d", vest_device());
}

void vest_log_misuse(const char *what, uintptr_t address)
{
    append("misuse", "\"what\":\"%s\",\"address\":%llu", what, (unsigned long long)address);
}

void vest_log_exit(int code) { append("process_exit", "\"code\":%d", code); }
void vest_log_gone(int process) { append("gone", "\"process\":%d", process); }

void vest_log_killed(int process, int number)
{
    append("killed", "\"process\":%d,\"signal\":%d", process, number);
}

void vest_log_own_error(const char *where, const char *message)
{
    append("own_error", "\"where\":\"%s\",\"type\":\"native\",\"message\":\"%s\"", where, message);
}

static bool first_time(const char *library, const char *name)
{
    char key[256];
    snprintf(key, sizeof key, "%s:%s", library, name);
    pthread_mutex_lock(&vest_names_lock);
    struct name *seen = names_seen;
    while (seen && strcmp(seen->text, key) != 0)
        seen = seen->next;
    bool first = !seen;
    struct name *entry = first ? malloc(sizeof *entry + strlen(key) + 1) : NULL;
    if (entry) {
        strcpy(entry->text, key);
        entry->next = names_seen;
        names_seen = entry;
    }
    pthread_mutex_unlock(&vest_names_lock);
    return first;
}

static vest_unmodelled_callback *watcher;

void vest_watch_unmodelled(vest_unmodelled_callback *callback)
{
    if (callback) { /* the agent saw PyTorch initialise CUDA here: how this process ends matters from now on */
        pthread_mutex_lock(&vest_memory_lock);
        vest_shared_join();
        pthread_mutex_unlock(&vest_memory_lock);
    }
    __atomic_store_n(&watcher, callback, __ATOMIC_RELEASE);
}

void vest_log_unmodelled(const char *library, const char *name, const char *how)
{
    vest_unmodelled_callback *callback = __atomic_load_n(&watcher, __ATOMIC_ACQUIRE);
    if (!first_time(library, name))
        return;
    if (callback)
        callback(library, name, how);
    else
        append("unmodelled", "\"library\":\"%s\",\"name\":\"%s\",\"how\":\"%s\"", library, name, how);
}

uint64_t vest_guess(const char *library, const char *name, struct vest_bounds bounds)
{
    const char *which = vest_setting("guesses");
    vest_log_unmodelled(library, name, bounds.low < bounds.bytes ? "bounded" : "bounded above");
    if (which && strcmp(which, "low") == 0)
        return bounds.low;
    return which && strcmp(which, "high") == 0 ? bounds.high : bounds.bytes;
}
