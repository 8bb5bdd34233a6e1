/* What cuDNN's Hopper cluster engines ask for on the GPU, worked out from the answer they give without a device.
 *
 * The engines (fp32: forward 67, data gradient 71, filter gradient 68; fp16 and bf16: 62, 67, 65) run a persistent kernel.
 * Its last, partly filled wave of output tiles may be split along K ("stream-K"); the workspace holds the partial tiles,
 * their barriers and a tile counter. A wave is what fits on the device at once: a handle asks the device, device
 * properties assume one GPC of 18 SMs. All else is the same code, so
 *
 *     on the GPU = deviceless - scheduler(deviceless wave) + scheduler(wave of the GPU)
 *
 * The rule, its evidence and its score stand in benchmarks/workspaces/cluster_rule.py; this is the same in C.
 */
#include "cudnn.h"

#include <stdlib.h>
#include <string.h>

#define GPC_SMS 18
#define MAX_DIMS 8

enum kind { FORWARD, DATA, FILTER };

struct plan {
    enum kind kind;
    bool half, bf16;
    int64_t engine, tile_size, tile_k, cga_m, cga_n, workspace_knob, sm_khz, memory_khz;
    int64_t x[MAX_DIMS], w[MAX_DIMS], y[MAX_DIMS];
    int dims;
};

/* Reading the plan's JSON text, as cuDNN writes it: no white space, keys in quotes. */

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

/* The tensor that plays `role` in the convolution: its name stands in the node, its facts in the list of tensors. */
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

static bool read_plan(const char *text, struct plan *out)
{
    static const char *roles[][3] = {
        {"\"X\":\"", "\"W\":\"", "\"Y\":\""}, {"\"dX\":\"", "\"W\":\"", "\"dY\":\""}, {"\"X\":\"", "\"dW\":\"", "\"dY\":\""}};
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

/* Rows and columns of an output tile by the knob TILE_SIZE. */
static bool tile_shape(int64_t knob, int64_t *rows, int64_t *columns)
{
    static const struct {
        int knob, rows, columns;
    } shapes[] = {{0, 128, 128}, {1, 128, 64}, {2, 128, 32}, {3, 256, 128}, {4, 256, 64},  {5, 64, 64},   {6, 128, 256},
                  {7, 64, 128},  {8, 64, 32},  {9, 64, 256}, {16, 256, 32}, {18, 64, 192}, {19, 128, 192}, {20, 256, 96}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].knob == knob) {
            *rows = shapes[i].rows;
            *columns = shapes[i].columns;
            return true;
        }
    return false;
}

/* Blocks resident on the device by cluster size, read off an H200's plans (132 SMs). 0: never recorded. */
static int64_t wave_of(int64_t cluster)
{
    static const int waves[] = {0, 132, 132, 117, 120, 110, 102, 105, 120, 0, 0, 0, 0, 0, 0, 0, 112};
    return cluster > 0 && cluster <= 16 ? waves[cluster] : 0;
}

static bool of_family(const struct plan *plan)
{
    static const int engines[2][3] = {{67, 71, 68}, {62, 67, 65}};
    int64_t rows, columns;
    return plan->engine == engines[plan->half][plan->kind] && plan->workspace_knob >= 0 && plan->cga_m > 0 &&
           plan->cga_n > 0 && tile_shape(plan->tile_size, &rows, &columns);
}

static int64_t up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

static int64_t product(const int64_t *values, int from, int to)
{
    int64_t result = 1;
    for (int i = from; i < to; i++)
        result *= values[i];
    return result;
}

/* Tiles of the implicit GEMM, whole clusters along both sides; a filter gradient's tiles do not span filter taps. */
static int64_t output_tiles(const struct plan *plan, int64_t rows, int64_t columns)
{
    int64_t down, across;
    if (plan->kind == FORWARD) {
        down = up(plan->y[0] * product(plan->y, 2, plan->dims), rows);
        across = up(plan->w[0], columns);
    } else if (plan->kind == DATA) {
        down = up(plan->x[0] * product(plan->x, 2, plan->dims), rows);
        across = up(plan->w[1], columns);
    } else {
        down = up(plan->w[0], rows);
        across = up(plan->w[1], columns) * product(plan->w, 2, plan->dims);
    }
    return up(down, plan->cga_m) * plan->cga_m * up(across, plan->cga_n) * plan->cga_n;
}

/* Steps of `depth` along K: every filter tap starts anew, except in a filter gradient, whose K is the output's pixels. */
static int64_t k_iterations(const struct plan *plan, int64_t depth)
{
    if (plan->kind == FILTER)
        return up(plan->y[0] * product(plan->y, 2, plan->dims), depth);
    return product(plan->w, 2, plan->dims) * up(plan->kind == FORWARD ? plan->w[1] : plan->w[0], depth);
}

/* The parts left when each takes as many steps as the largest. */
static int64_t even(int64_t iterations, int64_t parts) { return up(iterations, up(iterations, parts)); }

static int64_t levels_of(int64_t parts)
{
    int64_t levels = 0;
    while (parts > 1) {
        parts = up(parts, 2);
        levels++;
    }
    return levels;
}

/* How many blocks share one tile of the tail: the fewest among the fastest, by cuDNN's own model of the time. Costs are
 * cycles times 40 * `speed`, so that all are integers. */
static int64_t splits(const struct plan *plan, int64_t rows, int64_t columns, int64_t most, bool single_wave)
{
    const int64_t depth = plan->half && plan->tile_k == 1 ? 64 : 32, iterations = k_iterations(plan, depth);
    int64_t pieces = iterations / (1024 / depth + 1);
    if (pieces > most)
        pieces = most;
    if (single_wave && pieces >= 9)
        return even(iterations, pieces);
    const int64_t speed = 24 * plan->memory_khz / plan->sm_khz, tile_bytes = rows * columns * 4;
    const int64_t step = rows * columns * depth * 40 * speed / (plan->bf16 ? 8192 : 1024);
    const int64_t split_step = rows == 128 && columns == 64 && depth == 32 ? step * 11 / 10 : step;
    const int64_t level = 40 * speed * 2000 + 110 * tile_bytes, exchange = 80 * tile_bytes;
    int64_t best = 1, cheapest = iterations * step * (single_wave ? 1 : 2);
    for (int64_t parts = 2; parts <= most && parts <= iterations * depth / 128; parts++) {
        int64_t reduction = levels_of(parts) * level;
        if (!single_wave) {
            int64_t hidden = iterations * split_step;
            reduction = hidden > reduction + exchange ? hidden : reduction + exchange;
        }
        int64_t cost = up(iterations, parts) * split_step + reduction;
        if (cost < cheapest) {
            best = parts;
            cheapest = cost;
        }
    }
    return even(iterations, best);
}

/* One for each pair at each level of the reduction tree: ceil(s/2) + ceil(s/4) + ... + 1. */
static int64_t barriers(int64_t parts)
{
    int64_t total = 0;
    while (parts > 1) {
        parts = up(parts, 2);
        total += parts;
    }
    return total;
}

/* Bytes of partial tiles, barriers and tile counter when `wave` blocks fit on the device. */
static int64_t scheduler(const struct plan *plan, int64_t wave)
{
    int64_t rows = 0, columns = 0, partial_tiles = 0;
    tile_shape(plan->tile_size, &rows, &columns);
    const int64_t tiles = output_tiles(plan, rows, columns), tail = tiles % wave;
    int64_t counters = tiles > 2 * wave;
    if (plan->workspace_knob == 0 && tail > 0 && 2 * tail <= wave) {
        int64_t parts = splits(plan, rows, columns, wave / tail, tiles < wave);
        if (parts > 1) {
            counters += 8 + tail * barriers(parts);
            partial_tiles = tail * parts;
        }
    }
    return counters ? 127 + 4 * counters + partial_tiles * rows * columns * 4 : 0;
}

int64_t vest_hopper_workspace(const char *text, int64_t deviceless)
{
    struct plan plan = {0};
    if (!read_plan(text, &plan) || !of_family(&plan))
        return deviceless;
    int64_t cluster = plan.cga_m * plan.cga_n, wave = wave_of(cluster);
    if (!wave || cluster > GPC_SMS) {
        vest_log_unmodelled("cudnn", "workspace of a cluster engine with a cluster size not seen before", "guessed");
        return deviceless;
    }
    return deviceless - scheduler(&plan, GPC_SMS - GPC_SMS % cluster) + scheduler(&plan, wave);
}
