/* What two families of cuDNN's Hopper engines ask for on the GPU, worked out from the answer they give without a device.
 *
 * The cluster engines (fp32: forward 67, data gradient 71, filter gradient 68; fp16 and bf16: 62, 67, 65) run a persistent kernel.
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

static int64_t least(int64_t one, int64_t other) { return one < other ? one : other; }
static int64_t most(int64_t one, int64_t other) { return one > other ? one : other; }
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
 * cycles times 40 * `speed`, so that all are integers. The reduction hides behind one of the full waves. With none, a long
 * K is cut into pieces of just over 1,024 elements, if that makes nine or more. */
static int64_t splits(const struct plan *plan, int64_t rows, int64_t columns, int64_t limit, int64_t full_waves)
{
    const int64_t depth = plan->half && plan->tile_k == 1 ? 64 : 32, iterations = k_iterations(plan, depth);
    const int64_t pieces = least(iterations / (1024 / depth + 1), limit);
    if (!full_waves && pieces >= 9)
        return even(iterations, pieces);
    const int64_t speed = 24 * plan->memory_khz / plan->sm_khz, tile_bytes = rows * columns * 4;
    const int64_t step = rows * columns * depth * 40 * speed / (plan->bf16 ? 8192 : 1024);
    const bool slower = rows == 128 && columns == 64 && depth == 32 && (plan->kind != DATA || plan->half);
    const int64_t split_step = slower ? step * 11 / 10 : step, wave_cost = iterations * split_step;
    const int64_t level = 40 * speed * 2000 + 110 * tile_bytes, exchange = 80 * tile_bytes;
    int64_t best = 1, cheapest = (full_waves + 1) * iterations * step;
    for (int64_t parts = 2; parts <= least(limit, iterations * depth / 128); parts++) {
        int64_t cost = up(iterations, parts) * split_step, reduction = levels_of(parts) * level;
        if (full_waves)
            cost += (full_waves - 1) * wave_cost + most(wave_cost, reduction + exchange);
        else
            cost += reduction;
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

/* Bytes of partial tiles, barriers and tile counter of `problems` equal convolutions run as one. */
static int64_t batch_scheduler(const struct plan *plan, int64_t problems, int64_t wave)
{
    int64_t rows = 0, columns = 0, partial_tiles = 0;
    tile_shape(plan->tile_size, &rows, &columns);
    const int64_t tiles = problems * output_tiles(plan, rows, columns), tail = tiles % wave;
    int64_t counters = tiles > 2 * wave;
    if (plan->workspace_knob == 0 && tail > 0 && 2 * tail <= wave) {
        int64_t parts = splits(plan, rows, columns, wave / tail, tiles / wave);
        if (parts > 1) {
            counters += 8 + tail * barriers(parts);
            partial_tiles = tail * parts;
        }
    }
    return counters ? 127 + 4 * counters + partial_tiles * rows * columns * 4 : 0;
}

/* The same for any number of groups. Wider than 256 channels they run one after the other, each with its own part;
 * narrower ones run as one batch of square problems, their channels padded to a power of two and packed until they fill
 * a tile's columns. */
static int64_t scheduler(const struct plan *plan, int64_t wave)
{
    const int64_t groups = plan->x[1] / plan->w[1];
    if (groups <= 1)
        return batch_scheduler(plan, 1, wave);
    struct plan one = *plan;
    const int64_t channels = most(plan->w[1], plan->w[0] / groups);
    if (channels > 256) {
        one.w[0] = plan->w[0] / groups;
        return groups * up(batch_scheduler(&one, 1, wave), 16) * 16;
    }
    int64_t rows = 0, columns = 0, width = 1;
    tile_shape(plan->tile_size, &rows, &columns);
    while (width < channels)
        width *= 2;
    one.w[0] = one.w[1] = most(columns, width);
    return batch_scheduler(&one, up(groups, one.w[0] / width), wave);
}

/* What the 1x1 engines backed by cuBLASLt ask for besides their partial sums: 0, 272 or 400 bytes. A fit: right on 439 of
 * 446 plans of one recording and on 160 of 201 of another, which has more odd sizes; where rows are not whole 16 bytes the
 * real heuristics may choose an algorithm with a workspace of its own. */
static int64_t lt_bytes(const struct plan *plan, bool *guessed)
{
    const int64_t size = plan->half ? 2 : 4, pixels = product(plan->x, 2, plan->dims);
    const int64_t inner = plan->kind == FORWARD ? plan->w[1] : plan->kind == DATA ? plan->w[0] : pixels;
    const int64_t width = plan->kind == FORWARD ? plan->w[0] : plan->w[1];
    const int64_t height = plan->kind == FILTER ? plan->w[0] : pixels;
    const bool aligned = pixels * size % 16 == 0 && width * size % 16 == 0 &&
                         (plan->kind != FILTER || plan->w[0] * size % 16 == 0);
    if (plan->workspace_knob == 0)
        return 0;
    if (!aligned || inner < 32) {
        *guessed = true; /* the largest recorded was 7.7 MB */
        return (int64_t)vest_guess("cudnn", "workspace of cuBLASLt in an odd-sized 1x1 convolution",
                                   (struct vest_bounds){0, 0, 8ull << 20});
    }
    const int64_t outputs = plan->x[0] * height * width;
    if (plan->half)
        return outputs >= 1 << 21 ? 272 : 0;
    return outputs >= 1 << 20 ? 400 : 0;
}

static bool is_lt_backed(const struct plan *plan)
{
    static const int engines[] = {58, 63, 62};
    return plan->engine == engines[plan->kind] && plan->workspace_knob >= 0 && plan->cga_m == 0;
}

int64_t vest_hopper_workspace(const char *text, int64_t deviceless, bool *guessed)
{
    struct plan plan = {0};
    *guessed = false;
    if (!read_plan(text, &plan))
        return deviceless;
    if (is_lt_backed(&plan))
        return deviceless + lt_bytes(&plan, guessed);
    if (!of_family(&plan))
        return deviceless;
    int64_t cluster = plan.cga_m * plan.cga_n, wave = wave_of(cluster);
    if (!wave || cluster > GPC_SMS) {
        *guessed = true; /* at most a wave of the largest tiles more */
        return deviceless + (int64_t)vest_guess("cudnn", "workspace of a cluster engine with a cluster size not seen before",
                                                (struct vest_bounds){0, 0, 132ull * 256 * 128 * 4});
    }
    return deviceless - scheduler(&plan, GPC_SMS - GPC_SMS % cluster) + scheduler(&plan, wave);
}
