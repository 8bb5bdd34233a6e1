/* cuDNN's graph API: the real library answers for a GPU that is not there, and its finished plans are kept on disk.
 *
 * A device-properties descriptor made from a JSON text replaces the handle (documented from cuDNN 9.8 on). So
 * the real heuristics choose the real engines for the target GPU, and their workspaces are the real ones, but for the
 * corrections in hopper.c.
 *
 * Finalising a plan may compile kernels, 0.1 to 0.4 s each, of which only two numbers are wanted: the status and the
 * workspace. They are kept in a file (plan_cache.c) under a hash of everything the plan was made from: each descriptor
 * is hashed as its attributes are set, a descriptor set in another counts by its hash, and the results of a heuristics
 * query by the query's hash and their place in the list.
 */
#include "cudnn.h"
#include "plan_cache.h"
#include "settings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Public names: CUDNN_BACKEND_*_DESCRIPTOR, CUDNN_TYPE_*, CUDNN_ATTR_*. */
enum { ENGINE = 2, ENGINE_HEURISTICS = 4, EXECUTION_PLAN = 5, DEVICE_PROPERTIES = 38 };
enum { TYPE_HANDLE = 0, TYPE_INT64 = 3, TYPE_DESCRIPTOR = 15, TYPE_CHAR = 24 };
enum { HEURISTICS_RESULTS = 202, HEURISTICS_PROPERTIES = 204 };
enum { PLAN_WORKSPACE = 402, PLAN_JSON = 405, PLAN_PROPERTIES = 407 };
enum { ENGINE_PROPERTIES = 1307, PROPERTIES_JSON = 2702 };

typedef void *descriptor_t;

/* What is known of a live descriptor. */
struct known {
    struct known *next;
    descriptor_t descriptor;
    int kind;
    struct vest_digest digest;
    bool remembered; /* a plan answered from the cache: the real one was never finalised */
    bool finished;   /* a plan whose workspace is known */
    int64_t workspace;
};

#define BUCKETS 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *buckets[BUCKETS];

static struct known **bucket_of(descriptor_t descriptor) { return &buckets[((uintptr_t)descriptor >> 4) % BUCKETS]; }

static struct known *find(descriptor_t descriptor)
{
    struct known *known = *bucket_of(descriptor);
    while (known && known->descriptor != descriptor)
        known = known->next;
    return known;
}

static void remember(descriptor_t descriptor, int kind)
{
    struct known *known = calloc(1, sizeof *known);
    if (!known)
        return;
    pthread_mutex_lock(&lock);
    struct known **bucket = bucket_of(descriptor);
    *known = (struct known){.next = *bucket, .descriptor = descriptor, .kind = kind};
    vest_digest_add(&known->digest, &kind, sizeof kind);
    *bucket = known;
    pthread_mutex_unlock(&lock);
}

static void forget(descriptor_t descriptor)
{
    pthread_mutex_lock(&lock);
    struct known **link = bucket_of(descriptor);
    while (*link && (*link)->descriptor != descriptor)
        link = &(*link)->next;
    struct known *known = *link;
    if (known)
        *link = known->next;
    pthread_mutex_unlock(&lock);
    free(known);
}

/* A copy of what is known, made under the lock. */
static struct known look(descriptor_t descriptor)
{
    pthread_mutex_lock(&lock);
    struct known *known = find(descriptor);
    struct known copy = known ? *known : (struct known){.kind = -1};
    pthread_mutex_unlock(&lock);
    return copy;
}

/* The real library's functions. */

static int create_descriptor(int kind, descriptor_t *out)
{
    REAL(cudnnBackendCreateDescriptor, int, int, descriptor_t *)
    return function(kind, out);
}

static int set_attribute(descriptor_t descriptor, int attribute, int type, int64_t count, const void *values)
{
    REAL(cudnnBackendSetAttribute, int, descriptor_t, int, int, int64_t, const void *)
    return function(descriptor, attribute, type, count, values);
}

static int get_attribute(descriptor_t descriptor, int attribute, int type, int64_t wanted, int64_t *count, void *values)
{
    REAL(cudnnBackendGetAttribute, int, descriptor_t, int, int, int64_t, int64_t *, void *)
    return function(descriptor, attribute, type, wanted, count, values);
}

static int finalize(descriptor_t descriptor)
{
    REAL(cudnnBackendFinalize, int, descriptor_t)
    return function(descriptor);
}

/* The target GPU as cuDNN sees it. NULL: this cuDNN cannot be asked without a device. */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static descriptor_t properties;

static void make_properties(void)
{
    const char *text = vest_setting("cudnn_properties");
    descriptor_t made = NULL;
    if (text && create_descriptor(DEVICE_PROPERTIES, &made) == CUDNN_SUCCESS &&
        set_attribute(made, PROPERTIES_JSON, TYPE_CHAR, (int64_t)strlen(text) + 1, text) == CUDNN_SUCCESS &&
        finalize(made) == CUDNN_SUCCESS)
        properties = made;
    else
        vest_log_unmodelled("cudnn", "device properties without a device (cuDNN 9.8 or later)", "refused");
}

static int attach_properties(descriptor_t descriptor, int attribute)
{
    pthread_once(&once, make_properties);
    return properties ? set_attribute(descriptor, attribute, TYPE_DESCRIPTOR, 1, &properties) : CUDNN_NOT_SUPPORTED;
}

VEST_EXPORT int cudnnBackendCreateDescriptor(int kind, descriptor_t *out)
{
    int status = create_descriptor(kind, out);
    if (status != CUDNN_SUCCESS)
        return status;
    remember(*out, kind);
    switch (kind) {
    case ENGINE: return attach_properties(*out, ENGINE_PROPERTIES);
    case ENGINE_HEURISTICS: return attach_properties(*out, HEURISTICS_PROPERTIES);
    case EXECUTION_PLAN: return attach_properties(*out, PLAN_PROPERTIES);
    default: return CUDNN_SUCCESS;
    }
}

VEST_EXPORT int cudnnBackendDestroyDescriptor(descriptor_t descriptor)
{
    REAL(cudnnBackendDestroyDescriptor, int, descriptor_t)
    forget(descriptor);
    return function(descriptor);
}

/* Bytes of one value of each CUDNN_TYPE_*; what is not listed is an enum. */
static size_t value_bytes(int type)
{
    switch (type) {
    case 2: case 24: return 1;                   /* boolean, char */
    case 0: case 3: case 5: case 6: case 15: return 8; /* handle, int64, double, pointer, descriptor */
    case 26: return 16;                          /* fraction */
    default: return 4;
    }
}

static void digest_attribute(descriptor_t descriptor, int attribute, int type, int64_t count, const void *values)
{
    const int head[] = {attribute, type, (int)count};
    pthread_mutex_lock(&lock);
    struct known *known = find(descriptor);
    if (known) {
        vest_digest_add(&known->digest, head, sizeof head);
        if (type != TYPE_DESCRIPTOR)
            vest_digest_add(&known->digest, values, (size_t)count * value_bytes(type));
        for (int64_t i = 0; type == TYPE_DESCRIPTOR && i < count; i++) {
            struct known *part = find(((const descriptor_t *)values)[i]);
            if (part)
                vest_digest_add(&known->digest, &part->digest, sizeof part->digest);
            else
                known->digest.unknown = true; /* made behind our back: never answered from the cache */
        }
    }
    pthread_mutex_unlock(&lock);
}

/* Handles are ours and mean nothing to the real library: the properties attached above replace them. */
VEST_EXPORT int cudnnBackendSetAttribute(descriptor_t descriptor, int attribute, int type, int64_t count,
                                         const void *values)
{
    if (type == TYPE_HANDLE)
        return CUDNN_SUCCESS;
    digest_attribute(descriptor, attribute, type, count, values);
    return set_attribute(descriptor, attribute, type, count, values);
}

static const struct vest_workspace none = {.part = {.fact = FACT_CUDNN_PLAN}};

/* The plan's workspace on the GPU, from the real library's device-less answer. */
static struct vest_workspace plan_workspace(descriptor_t plan)
{
    struct vest_workspace workspace = none;
    int64_t count = 0, length = 0;
    if (get_attribute(plan, PLAN_WORKSPACE, TYPE_INT64, 1, &count, &workspace.base) != CUDNN_SUCCESS)
        return none;
    if (get_attribute(plan, PLAN_JSON, TYPE_CHAR, 0, &length, NULL) != CUDNN_SUCCESS || length <= 0)
        return workspace;
    char *text = calloc(1, (size_t)length + 1);
    if (text && get_attribute(plan, PLAN_JSON, TYPE_CHAR, length, &count, text) == CUDNN_SUCCESS)
        vest_hopper_workspace(text, workspace.base, &workspace);
    free(text);
    return workspace;
}

static void settle(descriptor_t plan, int64_t workspace, bool remembered)
{
    pthread_mutex_lock(&lock);
    struct known *known = find(plan);
    if (known) {
        known->workspace = workspace;
        known->remembered = remembered;
        known->finished = true;
    }
    pthread_mutex_unlock(&lock);
}

VEST_EXPORT int cudnnBackendFinalize(descriptor_t descriptor)
{
    struct known known = look(descriptor);
    if (known.kind != EXECUTION_PLAN)
        return finalize(descriptor);
    struct vest_plan plan;
    if (!known.digest.unknown && vest_plan_find(&known.digest, &plan)) {
        settle(descriptor, vest_workspace_bytes(&plan.workspace), true);
        return plan.status;
    }
    plan.status = finalize(descriptor);
    plan.workspace = plan.status == CUDNN_SUCCESS ? plan_workspace(descriptor) : none;
    settle(descriptor, vest_workspace_bytes(&plan.workspace), false);
    if (!known.digest.unknown)
        vest_plan_add(&known.digest, &plan);
    return plan.status;
}

/* The list of engine configurations a query gave: the same query gives the same list. */
static void digest_results(descriptor_t heuristics, int64_t count, const descriptor_t *results)
{
    pthread_mutex_lock(&lock);
    struct known *query = find(heuristics);
    for (int64_t i = 0; query && i < count; i++) {
        struct known *result = find(results[i]);
        if (!result)
            continue;
        vest_digest_add(&result->digest, &query->digest, sizeof query->digest);
        vest_digest_add(&result->digest, &i, sizeof i);
    }
    pthread_mutex_unlock(&lock);
}

VEST_EXPORT int cudnnBackendGetAttribute(descriptor_t descriptor, int attribute, int type, int64_t wanted,
                                         int64_t *count, void *values)
{
    struct known known = look(descriptor);
    if (known.kind == EXECUTION_PLAN && attribute == PLAN_WORKSPACE && known.finished && wanted >= 1 && values) {
        if (count)
            *count = 1;
        *(int64_t *)values = known.workspace;
        return CUDNN_SUCCESS;
    }
    if (known.remembered) { /* something that the cache does not have */
        int status = finalize(descriptor);
        if (status != CUDNN_SUCCESS)
            return status;
        settle(descriptor, known.workspace, false);
    }
    int64_t given = 0;
    int status = get_attribute(descriptor, attribute, type, wanted, &given, values);
    if (count)
        *count = given;
    if (status == CUDNN_SUCCESS && known.kind == ENGINE_HEURISTICS && attribute == HEURISTICS_RESULTS && values)
        digest_results(descriptor, given < wanted ? given : wanted, values);
    return status;
}
