/* cuDNN's dropout descriptors: the rate is kept here, since the real setter would fill the random states on a GPU. */
#include "rnn.h"

#include <pthread.h>
#include <stdlib.h>

typedef void *descriptor_t;

struct dropout {
    struct dropout *next;
    descriptor_t descriptor;
    float rate;
    void *states;
    unsigned long long seed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dropout *dropouts;

static struct dropout **find(descriptor_t descriptor)
{
    struct dropout **place = &dropouts;
    while (*place && (*place)->descriptor != descriptor)
        place = &(*place)->next;
    return place;
}

static struct dropout dropout_of(descriptor_t descriptor)
{
    struct dropout none = {0};
    pthread_mutex_lock(&lock);
    struct dropout *found = *find(descriptor);
    struct dropout answer = found ? *found : none;
    pthread_mutex_unlock(&lock);
    return answer;
}

bool vest_has_dropout(void *descriptor) { return descriptor && dropout_of(descriptor).rate > 0; }

VEST_EXPORT int cudnnSetDropoutDescriptor(descriptor_t descriptor, void *handle, float rate, void *states,
                                          size_t state_bytes, unsigned long long seed)
{
    (void)handle, (void)state_bytes;
    pthread_mutex_lock(&lock);
    struct dropout **place = find(descriptor);
    if (!*place)
        *place = calloc(1, sizeof **place);
    struct dropout *record = *place;
    if (record)
        *record = (struct dropout){record->next, descriptor, rate, states, seed};
    pthread_mutex_unlock(&lock);
    return record ? CUDNN_SUCCESS : CUDNN_ALLOC_FAILED;
}

VEST_EXPORT int cudnnRestoreDropoutDescriptor(descriptor_t descriptor, void *handle, float rate, void *states,
                                              size_t state_bytes, unsigned long long seed)
{
    return cudnnSetDropoutDescriptor(descriptor, handle, rate, states, state_bytes, seed);
}

VEST_EXPORT int cudnnGetDropoutDescriptor(descriptor_t descriptor, void *handle, float *rate, void **states,
                                          unsigned long long *seed)
{
    (void)handle;
    struct dropout record = dropout_of(descriptor);
    *rate = record.rate;
    *states = record.states;
    *seed = record.seed;
    return CUDNN_SUCCESS;
}

VEST_EXPORT int cudnnDestroyDropoutDescriptor(descriptor_t descriptor)
{
    pthread_mutex_lock(&lock);
    struct dropout **place = find(descriptor);
    struct dropout *record = *place;
    if (record)
        *place = record->next;
    pthread_mutex_unlock(&lock);
    free(record);
    REAL(cudnnDestroyDropoutDescriptor, int, descriptor_t)
    return function(descriptor);
}

VEST_EXPORT int cudnnDropoutGetStatesSize(void *handle, size_t *bytes)
{
    (void)handle;
    *bytes = vest_cudnn_size(FACT_CUDNN_DROPOUT_STATES, __func__, false,
                             (uint64_t)vest_gpu()->sms * FACT_VALUE(CUDNN_DROPOUT_STATES));
    return CUDNN_SUCCESS;
}
