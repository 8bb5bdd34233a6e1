/* Preloaded on a real GPU: logs where the driver puts each cudaMalloc, and what else was mapped at that moment.
 *
 * One JSON line a call, to the file named by LOG_ADDRESSES: the call, its size and address, and, for allocations, the
 * mapped address ranges just before it, ranges less than 2 MiB apart joined.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define LOWEST 0x700000000000ull
#define JOIN (2ull << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *out;

static void *real(const char *name)
{
    void *library = dlopen("libcudart.so.13", RTLD_LAZY | RTLD_NOLOAD);
    void *function = library ? dlsym(library, name) : NULL;
    if (!function)
        abort();
    return function;
}

static FILE *log_file(void)
{
    if (!out)
        out = fopen(getenv("LOG_ADDRESSES"), "a");
    return out;
}

static void write_mapped(FILE *file)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    unsigned long long start, end, first = 0, last = 0;
    const char *separator = "";
    fprintf(file, "\"mapped\":[");
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%llx-%llx", &start, &end) != 2 || start < LOWEST)
            continue;
        if (first && start - last >= JOIN) {
            fprintf(file, "%s[%llu,%llu]", separator, first, last);
            separator = ",";
            first = 0;
        }
        if (!first)
            first = start;
        last = end;
    }
    fprintf(file, "%s[%llu,%llu]],", separator, first, last);
    fclose(maps);
}

int cudaMalloc(void **address, size_t bytes)
{
    static int (*function)(void **, size_t);
    if (!function)
        function = (int (*)(void **, size_t))real("cudaMalloc");
    pthread_mutex_lock(&lock);
    FILE *file = log_file();
    fprintf(file, "{\"call\":\"malloc\",\"bytes\":%zu,", bytes);
    write_mapped(file);
    int status = function(address, bytes);
    fprintf(file, "\"address\":%llu,\"status\":%d}\n", (unsigned long long)*address, status);
    fflush(file);
    pthread_mutex_unlock(&lock);
    return status;
}

int cudaFree(void *address)
{
    static int (*function)(void *);
    if (!function)
        function = (int (*)(void *))real("cudaFree");
    pthread_mutex_lock(&lock);
    FILE *file = log_file();
    fprintf(file, "{\"call\":\"free\",\"address\":%llu}\n", (unsigned long long)address);
    fflush(file);
    pthread_mutex_unlock(&lock);
    return function(address);
}
