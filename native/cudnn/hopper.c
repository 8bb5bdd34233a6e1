/* The workspaces of two families of cuDNN's Hopper engines on the GPU, derived from their answers without a device.
 *
 * The cluster engines (fp32: forward 67, data gradient 71, filter gradient 68; fp16 and bf16: 62, 67, 65) run a
 * persistent kernel. Its last, partly filled wave of output tiles may be split along K ("stream-K"); the workspace
 * holds the partial tiles, their barriers and a tile counter. A wave is what fits on the device at once: a handle asks
 * the device, device properties assume one GPC of 18 SMs. All else is the same code, so
 *
 *     on the GPU = deviceless - scheduler(deviceless wave) + scheduler(wave of the GPU)
 *
 * Evidence: CUDNN_CLUSTER_PLAN in facts.def, and cuDNN 9.19 itself: given device properties, the real library answers
 * without a GPU for any shape, knob, clock rate and SM count up to 18. Tile shapes, costs, tie-breaks and groups were
 * measured so; the scheduler's part then agreed on 6,000 random convolutions, 400 each with odd channels and in three
 * dimensions, 500 with groups, and 500 for each of six other pairs of clock rates. The waves were measured by recorded
 * plans of the H200: another GPU, or one with other SMs fused off, has its own (cudaOccupancyMaxActiveClusters times
 * the cluster size).
 *
 * Known limitations: groups are not in the recordings; tiles of 128 x 256 with steps of 32 and groups of 129 to 255
 * channels missed in 3 of 400 deviceless answers. What cuBLASLt asks for (lt_bytes) is a fit, not a derivation.
 */
#include "hopper.h"

#include "cudnn.h"
#include "hopper_plan.h"
#include "round.h"

#define GPC_SMS 18

/* Rows and columns of an output tile by the knob TILE_SIZE. */
static bool tile_shape(int64_t knob, int64_t *rows, int64_t *columns)
{
    static const struct {
        int knob, rows, columns;
    } shapes[] = {
        {0, 128, 128}, {1, 128, 64}, {2, 128, 32}, {3, 256, 128}, {4, 256, 64},  {5, 64, 64},    {6, 128, 256},
        {7, 64, 128},  {8, 64, 32},  {9, 64, 256}, {16, 256, 32}, {18, 64, 192}, {19, 128, 192}, {20, 256, 96},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].knob == knob) {
            *rows = shapes[i].rows;
            *columns = shapes[i].columns;
            return true;
        }
    return false;
}

/* Blocks resident on the device by cluster size, from an H200's plans (132 SMs). 0: never recorded. */
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
        down = divide_up(plan->y[0] * product(plan->y, 2, plan->dims), rows);
        across = divide_up(plan->w[0], columns);
    } else if (plan->kind == DATA) {
        down = divide_up(plan->x[0] * product(plan->x, 2, plan->dims), rows);
        across = divide_up(plan->w[1], columns);
    } else {
        down = divide_up(plan->w[0], rows);
        across = divide_up(plan->w[1], columns) * product(plan->w, 2, plan->dims);
    }
    return divide_up(down, plan->cga_m) * plan->cga_m * divide_up(across, plan->cga_n) * plan->cga_n;
}

/* Steps of `depth` along K: every filter tap starts anew, except in a filter gradient, whose K is the output pixels. */
static int64_t k_iterations(const struct plan *plan, int64_t depth)
{
    if (plan->kind == FILTER)
        return divide_up(plan->y[0] * product(plan->y, 2, plan->dims), depth);
    return product(plan->w, 2, plan->dims) * divide_up(plan->kind == FORWARD ? plan->w[1] : plan->w[0], depth);
}

/* How many parts there are when each has as many steps as the largest. */
static int64_t even(int64_t iterations, int64_t parts) { return divide_up(iterations, divide_up(iterations, parts)); }

static int64_t levels_of(int64_t parts)
{
    int64_t levels = 0;
    while (parts > 1) {
        parts = divide_up(parts, 2);
        levels++;
    }
    return levels;
}

/* How many blocks share one tile of the tail: the fewest among the fastest, by cuDNN's own model of the time. Costs are
 * cycles times 40 * `speed`, so that all are integers. The reduction hides behind one of the full waves. With none, a
 * long K is cut into pieces of just over 1,024 elements, if that makes nine or more. */
static int64_t splits(const struct plan *plan, int64_t rows, int64_t columns, int64_t limit, int64_t full_waves)
{
    const int64_t depth = plan->half && plan->tile_k == 1 ? 64 : 32, iterations = k_iterations(plan, depth);
    const int64_t pieces = smaller(iterations / (1024 / depth + 1), limit);
    if (!full_waves && pieces >= 9)
        return even(iterations, pieces);
    const int64_t speed = 24 * plan->memory_khz / plan->sm_khz, tile_bytes = rows * columns * 4;
    const int64_t step = rows * columns * depth * 40 * speed / (plan->bf16 ? 8192 : 1024);
    const bool slower = rows == 128 && columns == 64 && depth == 32 && (plan->kind != DATA || plan->half);
    const int64_t split_step = slower ? step * 11 / 10 : step, wave_cost = iterations * split_step;
    const int64_t level = 40 * speed * 2000 + 110 * tile_bytes, exchange = 80 * tile_bytes;
    int64_t best = 1, cheapest = (full_waves + 1) * iterations * step;
    for (int64_t parts = 2; parts <= smaller(limit, iterations * depth / 128); parts++) {
        int64_t cost = divide_up(iterations, parts) * split_step, reduction = levels_of(parts) * level;
        if (full_waves)
            cost += (full_waves - 1) * wave_cost + larger(wave_cost, reduction + exchange);
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
        parts = divide_up(parts, 2);
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
    const int64_t channels = larger(plan->w[1], plan->w[0] / groups);
    if (channels > 256) {
        one.w[0] = plan->w[0] / groups;
        return groups * divide_up(batch_scheduler(&one, 1, wave), 16) * 16;
    }
    int64_t rows = 0, columns = 0, width = 1;
    tile_shape(plan->tile_size, &rows, &columns);
    while (width < channels)
        width *= 2;
    one.w[0] = one.w[1] = larger(columns, width);
    return batch_scheduler(&one, divide_up(groups, one.w[0] / width), wave);
}

/* The most that scheduler() can give for a wave of at most `sms` blocks, one on each SM: a partial tile for every
 * block, and no more barriers than twice the blocks. */
static int64_t most_scheduled(const struct plan *plan, int64_t sms)
{
    int64_t rows = 0, columns = 0;
    tile_shape(plan->tile_size, &rows, &columns);
    const int64_t split = plan->workspace_knob == 0, groups = plan->x[1] / plan->w[1];
    const int64_t counters = 1 + split * (8 + 2 * sms);
    return larger(groups, 1) * divide_up(127 + 4 * counters + split * sms * rows * columns * 4, 256) * 256;
}

static bool is_aligned(const struct plan *plan, int64_t pixels, int64_t width)
{
    const int64_t size = plan->half ? 2 : 4;
    return pixels * size % 16 == 0 && width * size % 16 == 0 &&
           (plan->kind != FILTER || plan->w[0] * size % 16 == 0);
}

/* What the 1x1 engines backed by cuBLASLt need in addition to their partial sums: 0, 272 or 400 bytes. A fit: right on
 * 439 of 446 plans of one recording and on 160 of 201 of another, which has more odd sizes; where rows are not whole 16
 * bytes the real heuristics may choose an algorithm that has a workspace. */
static struct vest_part lt_part(const struct plan *plan)
{
    const int64_t pixels = product(plan->x, 2, plan->dims);
    const int64_t inner = plan->kind == FORWARD ? plan->w[1] : plan->kind == DATA ? plan->w[0] : pixels;
    const int64_t width = plan->kind == FORWARD ? plan->w[0] : plan->w[1];
    const int64_t height = plan->kind == FILTER ? plan->w[0] : pixels;
    if (plan->workspace_knob == 0)
        return (struct vest_part){.fact = FACT_CUDNN_PLAN};
    if (!is_aligned(plan, pixels, width) || inner < 32)
        return (struct vest_part){.fact = FACT_CUDNN_LT_PLAN, .unrecorded = true};
    const int64_t outputs = plan->x[0] * height * width;
    const int64_t bytes = plan->half ? (outputs >= 1 << 21 ? 272 : 0) : outputs >= 1 << 20 ? 400 : 0;
    return (struct vest_part){.fact = FACT_CUDNN_LT_PLAN, .bytes = bytes};
}

static bool is_lt_backed(const struct plan *plan)
{
    static const int engines[] = {58, 63, 62};
    return plan->engine == engines[plan->kind] && plan->workspace_knob >= 0 && plan->cga_m == 0;
}

static struct vest_part cluster_part(const struct plan *plan, int64_t *base)
{
    const int64_t cluster = plan->cga_m * plan->cga_n, wave = wave_of(cluster);
    if (!wave || cluster > GPC_SMS)
        return (struct vest_part){.fact = FACT_CUDNN_CLUSTER_PLAN, .unrecorded = true};
    *base -= scheduler(plan, GPC_SMS - GPC_SMS % cluster);
    return (struct vest_part){
        .fact = FACT_CUDNN_CLUSTER_PLAN,
        .bytes = scheduler(plan, wave),
        .most = most_scheduled(plan, vest_gpu()->sms),
    };
}

void vest_hopper_workspace(const char *text, int64_t deviceless, struct vest_workspace *out)
{
    struct plan plan = {0};
    *out = (struct vest_workspace){.base = deviceless, .part = {.fact = FACT_CUDNN_PLAN}};
    if (!vest_read_plan(text, &plan))
        return;
    if (is_lt_backed(&plan))
        out->part = lt_part(&plan);
    else if (of_family(&plan))
        out->part = cluster_part(&plan, &out->base);
}

static const char *name_of(const struct vest_part *part)
{
    if (part->fact == FACT_CUDNN_LT_PLAN)
        return part->unrecorded ? "workspace of cuBLASLt in an odd-sized 1x1 convolution"
                                : "workspace of cuBLASLt in a 1x1 convolution";
    return part->unrecorded ? "workspace of a cluster engine with a cluster size not seen before"
                            : "workspace of a cluster engine";
}

int64_t vest_workspace_bytes(const struct vest_workspace *workspace)
{
    const struct vest_part *part = &workspace->part;
    const struct vest_fact_query query = {
        .name = name_of(part),
        .version = vest_cudnn_version(),
        .unrecorded = part->unrecorded,
        .most = (uint64_t)part->most,
    };
    return workspace->base + (int64_t)vest_fact_size((enum vest_fact)part->fact, &query, (uint64_t)part->bytes);
}
