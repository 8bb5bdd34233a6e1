/* Reads the JSON text of a plan, as cuDNN writes it: no white space, keys in quotes. */
#include "hopper_plan.h"

#include <stdlib.h>
#include <string.h>

static const char *after(const char *text, const char *key)
{
    const char *found = text ? strstr(text, key) : NULL;
    return found ? found + strlen(key) : NULL;
}

static int64_t number(const char *text, const char *key, int64_t otherwise)
{
    const char *value = after(text, key);
    return value ? strtoll(value, NULL, 10) : otherwise;
}

/* The tensor that is `role` in the convolution: its name is in the node, its shape in the list of tensors. */
static const char *tensor(const char *text, const char *node, const char *role)
{
    const char *name = after(node, role);
    if (!name)
        return NULL;
    char key[64] = "{\"name\":\"";
    size_t length = strlen(key);
    while (*name && *name != '"' && length < sizeof key - 2)
        key[length++] = *name++;
    key[length++] = '"';
    key[length] = '\0';
    return after(text, key);
}

static int read_dims(const char *facts, int64_t out[MAX_DIMS])
{
    const char *at = after(facts, "\"dim\":[");
    int count = 0;
    while (at && count < MAX_DIMS) {
        char *end;
        out[count++] = strtoll(at, &end, 10);
        if (*end != ',')
            break;
        at = end + 1;
    }
    return count;
}

static bool read_kind(const char *node, enum kind *out)
{
    const char *operation = after(node, "\"operation\":\"CUDNN_BACKEND_OPERATION_CONVOLUTION_");
    static const char *names[] = {"FORWARD_", "BACKWARD_DATA_", "BACKWARD_FILTER_"};
    for (int kind = 0; operation && kind < 3; kind++)
        if (strncmp(operation, names[kind], strlen(names[kind])) == 0) {
            *out = (enum kind)kind;
            return true;
        }
    return false;
}

bool vest_read_plan(const char *text, struct plan *out)
{
    static const char *roles[][3] = {
        {"\"X\":\"", "\"W\":\"", "\"Y\":\""},
        {"\"dX\":\"", "\"W\":\"", "\"dY\":\""},
        {"\"X\":\"", "\"dW\":\"", "\"dY\":\""},
    };
    const char *node = after(text, "\"nodes\":["), *engine = after(text, "\"engine\":{");
    if (!node || !engine || !read_kind(node, &out->kind))
        return false;
    const char *x = tensor(text, node, roles[out->kind][0]);
    out->dims = read_dims(x, out->x);
    const char *type = after(x, "\"dataType\":\"CUDNN_DATA_");
    if (out->dims < 3 || !type || read_dims(tensor(text, node, roles[out->kind][1]), out->w) != out->dims ||
        read_dims(tensor(text, node, roles[out->kind][2]), out->y) != out->dims)
        return false;
    out->bf16 = strncmp(type, "BFLOAT16", 8) == 0;
    out->half = out->bf16 || strncmp(type, "HALF", 4) == 0;
    out->engine = number(engine, "\"engineId\":", -1);
    out->tile_size = number(engine, "\"CUDNN_KNOB_TYPE_TILE_SIZE\":", -1);
    out->tile_k = number(engine, "\"CUDNN_KNOB_TYPE_TILEK\":", 0);
    out->cga_m = number(engine, "\"CUDNN_KNOB_TYPE_TILE_CGA_M\":", 0);
    out->cga_n = number(engine, "\"CUDNN_KNOB_TYPE_TILE_CGA_N\":", 0);
    out->workspace_knob = number(engine, "\"CUDNN_KNOB_TYPE_WORKSPACE\":", -1);
    out->sm_khz = number(text, "\"smClockRateKHz\":", 0);
    out->memory_khz = number(text, "\"memClockRateKHz\":", 0);
    return number(engine, "\"smVersion\":", 0) == 900 && out->sm_khz > 0;
}
