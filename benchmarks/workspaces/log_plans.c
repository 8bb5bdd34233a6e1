/* Writes down every cuDNN execution plan that a process finalises: put in front of cuDNN with LD_PRELOAD.
 *
 *     gcc -O2 -shared -fPIC -Wall -Wextra -Werror -o log_plans.so log_plans.c -ldl
 *
 * Lines of the file named by LOG_PLANS (appended to):
 *     HEUR a=200 v=MODE                      the heuristics were asked, in this mode
 *     STATUS ws=BYTES JSON                   a plan was finalised: status, workspace, cuDNN's own description of it
 *     CONV TEXT                              what the program said it does next (log_plans_note)
 * A plan that was refused has ws=-1 and {} where cuDNN gives no answer about it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Public names: CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_TYPE_*, CUDNN_ATTR_*. */
enum { EXECUTION_PLAN = 5 };
enum { TYPE_INT64 = 3, TYPE_CHAR = 24 };
enum { HEURISTICS_MODE = 200, PLAN_WORKSPACE = 402, PLAN_JSON = 405 };
enum { MOST_PLANS = 4096, JSON_BYTES = 1 << 20 };

typedef void *descriptor_t;
typedef int create_type(int, descriptor_t *);
typedef int destroy_type(descriptor_t);
typedef int set_type(descriptor_t, int, int, int64_t, const void *);
typedef int get_type(descriptor_t, int, int, int64_t, int64_t *, void *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static descriptor_t plans[MOST_PLANS]; /* alive and not yet finalised; empty places are NULL */
static FILE *file;

/* The next library that has the function: another interposer, or cuDNN itself, which PyTorch loads out of RTLD_NEXT's sight. */
static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) {
        void *library = dlopen("libcudnn.so.9", RTLD_LAZY | RTLD_NOLOAD);
        function = library ? dlsym(library, name) : NULL;
    }
    if (!function) {
        fprintf(stderr, "log_plans: no %s behind the interposer; is cuDNN 9 loaded?\n", name);
        abort();
    }
    return function;
}

#define NEXT(name, type)                                                                                               \
    static type *function;                                                                                             \
    if (!function)                                                                                                     \
        function = (type *)next(#name);

/* With the lock held. NULL: no log was requested. */
static FILE *log_file(void)
{
    const char *path = getenv("LOG_PLANS");
    if (!file && path) {
        file = fopen(path, "a");
        if (!file) {
            perror(path);
            abort();
        }
    }
    return file;
}

/* With the lock held. */
static void replace(descriptor_t old, descriptor_t new)
{
    for (int i = 0; i < MOST_PLANS; i++)
        if (plans[i] == old) {
            plans[i] = new;
            return;
        }
    if (new) {
        fprintf(stderr, "log_plans: more than %d unfinished plans\n", MOST_PLANS);
        abort();
    }
}

static int is_plan(descriptor_t descriptor)
{
    int found = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_PLANS && !found; i++)
        found = plans[i] == descriptor;
    pthread_mutex_unlock(&lock);
    return found;
}

static void forget(descriptor_t descriptor)
{
    pthread_mutex_lock(&lock);
    replace(descriptor, NULL);
    pthread_mutex_unlock(&lock);
}

int cudnnBackendCreateDescriptor(int kind, descriptor_t *out)
{
    NEXT(cudnnBackendCreateDescriptor, create_type)
    int status = function(kind, out);
    if (status == 0 && kind == EXECUTION_PLAN) {
        pthread_mutex_lock(&lock);
        replace(NULL, *out);
        pthread_mutex_unlock(&lock);
    }
    return status;
}

int cudnnBackendDestroyDescriptor(descriptor_t descriptor)
{
    NEXT(cudnnBackendDestroyDescriptor, destroy_type)
    if (descriptor)
        forget(descriptor);
    return function(descriptor);
}

int cudnnBackendSetAttribute(descriptor_t descriptor, int attribute, int type, int64_t count, const void *values)
{
    NEXT(cudnnBackendSetAttribute, set_type)
    if (attribute == HEURISTICS_MODE && count == 1) {
        pthread_mutex_lock(&lock);
        if (log_file())
            fprintf(file, "HEUR a=%d v=%d\n", attribute, *(const int *)values);
        pthread_mutex_unlock(&lock);
    }
    return function(descriptor, attribute, type, count, values);
}

static void write_plan(descriptor_t descriptor, int status)
{
    static char json[JSON_BYTES];
    NEXT(cudnnBackendGetAttribute, get_type)
    pthread_mutex_lock(&lock);
    if (log_file()) {
        int64_t workspace = -1, count = 0;
        if (function(descriptor, PLAN_WORKSPACE, TYPE_INT64, 1, &count, &workspace) != 0)
            workspace = -1;
        memset(json, 0, sizeof json);
        if (function(descriptor, PLAN_JSON, TYPE_CHAR, JSON_BYTES - 1, &count, json) != 0 || !json[0])
            strcpy(json, "{}");
        fprintf(file, "%d ws=%lld %s\n", status, (long long)workspace, json);
        fflush(file);
    }
    pthread_mutex_unlock(&lock);
}

int cudnnBackendFinalize(descriptor_t descriptor)
{
    NEXT(cudnnBackendFinalize, destroy_type)
    int status = function(descriptor);
    if (is_plan(descriptor)) {
        write_plan(descriptor, status);
        forget(descriptor);
    }
    return status;
}

/* Called by the recorder, by name. */
void log_plans_note(const char *text)
{
    pthread_mutex_lock(&lock);
    if (log_file()) {
        fprintf(file, "CONV %s\n", text);
        fflush(file);
    }
    pthread_mutex_unlock(&lock);
}
