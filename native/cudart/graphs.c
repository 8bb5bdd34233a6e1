/* Graph capture, and graphs: what was captured is not kept. */
#include "cudart.h"

#include <stdlib.h>

VEST_EXPORT int cudaStreamBeginCapture(stream_t stream, int mode)
{
    (void)mode;
    return vest_capture_begin(stream) ? SUCCESS : fail(CAPTURE_UNSUPPORTED);
}

VEST_EXPORT int cudaStreamEndCapture(stream_t stream, void **graph)
{
    *graph = NULL;
    if (!vest_capture_end(stream))
        return fail(ILLEGAL_STATE);
    *graph = calloc(1, 16);
    return SUCCESS;
}

static void capture_facts(stream_t stream, int *status, unsigned long long *id)
{
    uint64_t capture = vest_capture_id(stream);
    if (status)
        *status = capture != 0;
    if (id)
        *id = capture;
}

VEST_EXPORT int cudaStreamGetCaptureInfo_v2(stream_t stream, int *status, unsigned long long *id, void **graph,
                                            const void ***dependencies, size_t *count)
{
    capture_facts(stream, status, id);
    if (graph)
        *graph = NULL;
    if (dependencies)
        *dependencies = NULL;
    if (count)
        *count = 0;
    return SUCCESS;
}

VEST_EXPORT int cudaStreamGetCaptureInfo_v3(stream_t stream, int *status, unsigned long long *id, void **graph,
                                            const void ***dependencies, const void **edges, size_t *count)
{
    if (edges)
        *edges = NULL;
    return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count);
}

#if VEST_CUDA_MAJOR >= 13
VEST_EXPORT int cudaStreamGetCaptureInfo(stream_t stream, int *status, unsigned long long *id, void **graph,
                                         const void ***dependencies, const void **edges, size_t *count)
{
    return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, edges, count);
}
#else
VEST_EXPORT int cudaStreamGetCaptureInfo(stream_t stream, int *status, unsigned long long *id)
{
    capture_facts(stream, status, id);
    return SUCCESS;
}
#endif

VEST_EXPORT int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    static _Thread_local int current;
    int before = current;
    current = *mode;
    *mode = before;
    return SUCCESS;
}

static int make_object(void **out)
{
    *out = calloc(1, 16);
    return *out ? SUCCESS : fail(OUT_OF_MEMORY);
}

VEST_EXPORT int cudaGraphCreate(void **graph, unsigned flags)
{
    (void)flags;
    return make_object(graph);
}

VEST_EXPORT int cudaGraphInstantiate(void **exec, void *graph)
{
    (void)graph;
    return make_object(exec);
}

VEST_EXPORT int cudaGraphInstantiateWithFlags(void **exec, void *graph) { return cudaGraphInstantiate(exec, graph); }
VEST_EXPORT int cudaGraphInstantiateWithParams(void **exec, void *graph) { return cudaGraphInstantiate(exec, graph); }

VEST_EXPORT int cudaGraphDestroy(void *graph)
{
    free(graph);
    return SUCCESS;
}

VEST_EXPORT int cudaGraphExecDestroy(void *exec)
{
    free(exec);
    return SUCCESS;
}

/* What was captured is not kept; one node says that the graph is not empty. */
VEST_EXPORT int cudaGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    if (nodes && *count)
        nodes[0] = graph;
    *count = 1;
    return SUCCESS;
}

VEST_EXPORT int cudaGraphGetRootNodes(void *graph, void **nodes, size_t *count)
{
    return cudaGraphGetNodes(graph, nodes, count);
}

static int no_neighbours(size_t *count)
{
    if (count)
        *count = 0;
    return SUCCESS;
}

#if VEST_CUDA_MAJOR >= 13
VEST_EXPORT int cudaGraphNodeGetDependencies(void *node, void **nodes, void *edges, size_t *count)
{
    (void)node, (void)nodes, (void)edges;
    return no_neighbours(count);
}
#else
VEST_EXPORT int cudaGraphNodeGetDependencies(void *node, void **nodes, size_t *count)
{
    (void)node, (void)nodes;
    return no_neighbours(count);
}
VEST_EXPORT int cudaGraphNodeGetDependencies_v2(void *node, void **nodes, void *edges, size_t *count)
{
    (void)node, (void)nodes, (void)edges;
    return no_neighbours(count);
}
#endif

VEST_EXPORT int cudaGraphNodeGetType(void *node, int *type)
{
    (void)node;
    *type = 0; /* a kernel */
    return SUCCESS;
}
