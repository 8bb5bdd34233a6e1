"""What cuDNN's Hopper cluster engines ask for through a handle, worked out from the answer they give without a device.

    python benchmarks/workspaces/cluster_rule.py FOLDER     FOLDER holds {handle,deviceprop}_{fp32,bf16,fp16}.txt.gz

The engines (fp32: forward 67, data 71, filter 68; fp16 and bf16: 62, 67, 65; all have the knobs WORKSPACE, TILE_SIZE
and TILE_CGA_*) run a persistent kernel. Its last, partly filled wave of output tiles may be split along K
("stream-K"); the workspace holds the partial tiles, their barriers and a tile counter. A wave is what fits on the
device at once: a handle asks the device, device properties assume one GPC of 18 SMs. All else is the same code, so

    handle = deviceless - scheduler(deviceless wave) + scheduler(handle wave)

Scheduler part, in bytes; tiles are rounded up to whole clusters along M and N, tail = tiles mod wave:
    0                                       no counter, no split
    127 + 4 * counters + splits * tail * tile bytes (fp32 accumulators)
    counters = [tiles > 2 waves] + (8 + tail * (ceil(s/2) + ceil(s/4) + ... + 1) if split in s)
A split needs WORKSPACE=0 and 0 < 2 * tail <= wave. The number of splits is the cheapest of 1 .. wave // tail in a
model of the time (`splits`): k-iterations at 1,024 multiply-adds a cycle (bf16: 8,192), a tree of ceil(log2 s)
reduction levels of 2,000 cycles plus 2.75 tile transfers each, memory speed taken from the two clock rates in the
device properties.

Evidence: cuDNN 9.19.0. Given the device properties as input, the real library answers without a GPU for any shape,
knob, clock rate and SM count (<= 18): tile shapes, costs, tie-breaks and groups were measured so, and the scheduler
part then agreed on 6,000 random convolutions, 400 each with odd channels, 3d and on 500 with groups, and 500 for each
of six other pairs of clock rates. The handle's waves were read off the recorded plans of four fifths of the shapes
(`seen`; the fp32 forward plans of the rest had been looked at before). `main` prints how the rule does on them and on
the rest.

Known limits: the recordings leave one possible wave for each cluster size they have; others keep the deviceless answer.
The waves are those of one H200: another GPU, or an H200 with other SMs fused off, has its own
(cudaOccupancyMaxActiveClusters times the cluster size). Groups are not in the recordings; tile 128x256 with 32-deep
steps and groups of 129-255 channels missed in 3 of 400 deviceless answers. `lt_bytes` is a fit, not a derivation.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

Plan = dict[str, Any]

TILES = {  # knob TILE_SIZE -> rows, columns of an output tile; the same for all engines and types
    0: (128, 128), 1: (128, 64), 2: (128, 32), 3: (256, 128), 4: (256, 64), 5: (64, 64), 6: (128, 256), 7: (64, 128),
    8: (64, 32), 9: (64, 256), 16: (256, 32), 18: (64, 192), 19: (128, 192), 20: (256, 96),
}  # fmt: skip
H200_WAVE = {1: 132, 2: 132, 3: 117, 4: 120, 5: 110, 6: 102, 7: 105, 8: 120, 16: 112}  # cluster size -> blocks
GPC_SMS = 18
ROLES = {"X", "W", "Y", "DX", "DW", "DY"}
KINDS = {"FORWARD": "forward", "DATA": "data", "FILTER": "filter"}
LT_ENGINES = {"forward": 58, "data": 63, "filter": 62}
ENGINES = {
    ("forward", 4): 67,
    ("data", 4): 71,
    ("filter", 4): 68,
    ("forward", 2): 62,
    ("data", 2): 67,
    ("filter", 2): 65,
}


def parse(line: str) -> tuple[Plan, int] | None:
    """The plan and its workspace from one recorded line; None for lines that are not plans."""
    status, _, rest = line.partition(" ws=")
    if not status.isdigit() or not rest:
        return None
    size, _, text = rest.partition(" ")
    document = json.loads(text)
    graph, engine, gpu = document["operationGraph"], document["engine"], document["GPUProfile"]
    node = graph["nodes"][0]
    tensors = {tensor["name"]: tensor for tensor in graph["tensors"]}
    roles = {role[-1].upper(): tensors[node[role]] for role in node if role.upper() in ROLES}
    knobs = {name.removeprefix("CUDNN_KNOB_TYPE_"): value for name, value in engine["knobChoices"].items()}
    plan = {
        "kind": KINDS[node["operation"].split("_")[-2]],
        "type": roles["X"]["dataType"].removeprefix("CUDNN_DATA_"),
        "engine": engine["engineId"],
        "knobs": knobs,
        "dims": {role: tensor["dim"] for role, tensor in roles.items()},
        "geometry": (node["stride"], node["pad"], node["dilation"]),
        "clocks": (gpu["smClockRateKHz"], gpu["memClockRateKHz"]),
    }
    return plan, int(size)


def handle_workspace(plan: Plan, deviceless_bytes: int) -> int:
    """Bytes the handle would have asked for; the deviceless answer where the engine is not of the family."""
    cluster = plan["knobs"].get("TILE_CGA_M", 1) * plan["knobs"].get("TILE_CGA_N", 1)
    if not of_family(plan) or cluster not in H200_WAVE:
        return deviceless_bytes
    deviceless_wave = GPC_SMS - GPC_SMS % cluster
    return deviceless_bytes - scheduler(plan, deviceless_wave) + scheduler(plan, H200_WAVE[cluster])


def lt_bytes(plan: Plan) -> int:
    """What the 1x1 engines backed by cuBLASLt ask for besides their partial sums: 0, 272 or 400.

    Right on 439 of 446 plans, recorded from random shapes and ResNet-50. The others: six in bf16 whose rows or channels
    are not 16-byte multiples (400, not 0) and one fp32 data gradient (0, not 400).
    """
    x, w = plan["dims"]["X"], plan["dims"]["W"]
    size, pixels = element_bytes(plan), product(x[2:])
    inner = {"forward": w[1], "data": w[0], "filter": pixels}[plan["kind"]]
    outputs = x[0] * {"forward": pixels * w[0], "data": pixels * w[1], "filter": w[0] * w[1]}[plan["kind"]]
    loaded = {"forward": (pixels, w[0]), "data": (pixels, w[1]), "filter": (pixels, w[0], w[1])}[plan["kind"]]
    if plan["knobs"]["WORKSPACE"] == 0 or inner < 32 or any(extent * size % 16 for extent in loaded):
        return 0
    if size == 4:
        return 400 if outputs >= 1 << 20 else 0
    return 272 if outputs >= 1 << 21 else 0


def of_family(plan: Plan) -> bool:
    known = {"WORKSPACE", "TILE_CGA_M", "TILE_CGA_N"} <= plan["knobs"].keys() and plan["knobs"]["TILE_SIZE"] in TILES
    return known and ENGINES[plan["kind"], element_bytes(plan)] == plan["engine"]


def element_bytes(plan: Plan) -> int:
    return 4 if plan["type"] == "FLOAT" else 2


def scheduler(plan: Plan, wave: int) -> int:
    """Bytes of partial tiles, barriers and tile counter when `wave` blocks fit on the device.

    Groups wider than 256 channels run one after the other, each with its own part; narrower ones run as one batch of
    square problems, their channels padded to a power of two and packed until they fill a tile's columns.
    """
    x, w = plan["dims"]["X"], plan["dims"]["W"]
    groups = x[1] // w[1]
    if groups == 1:
        return batch_scheduler(plan, 1, wave)
    channels: int = max(w[1], w[0] // groups)
    if channels > 256:
        return int(groups) * up(batch_scheduler(with_filter(plan, w[0] // groups, w[1]), 1, wave), 16) * 16
    columns, width = TILES[plan["knobs"]["TILE_SIZE"]][1], 1 << (channels - 1).bit_length()
    packed = max(columns, width)
    return batch_scheduler(with_filter(plan, packed, packed), up(groups, packed // width), wave)


def with_filter(plan: Plan, outputs: int, inputs: int) -> Plan:
    return plan | {"dims": plan["dims"] | {"W": [outputs, inputs, *plan["dims"]["W"][2:]]}}


def batch_scheduler(plan: Plan, problems: int, wave: int) -> int:
    rows, columns = TILES[plan["knobs"]["TILE_SIZE"]]
    tiles = problems * output_tiles(plan)
    counters, partial_tiles, tail = int(tiles > 2 * wave), 0, tiles % wave
    if plan["knobs"]["WORKSPACE"] == 0 and 0 < 2 * tail <= wave:
        parts = splits(plan, wave // tail, tiles // wave)
        if parts > 1:
            counters += 8 + tail * barriers(parts)
            partial_tiles = tail * parts
    return counters and 127 + 4 * counters + partial_tiles * rows * columns * 4


def output_tiles(plan: Plan) -> int:
    """Tiles of the implicit GEMM, in whole clusters along both sides; a filter gradient's tiles span one tap each."""
    rows, columns = TILES[plan["knobs"]["TILE_SIZE"]]
    x, w, y = (plan["dims"][role] for role in "XWY")
    taps = product(w[2:])
    if plan["kind"] == "forward":
        down, across = up(y[0] * product(y[2:]), rows), up(w[0], columns)
    elif plan["kind"] == "data":
        down, across = up(x[0] * product(x[2:]), rows), up(w[1], columns)
    else:
        down, across = up(w[0], rows), up(w[1], columns) * taps
    cluster_m, cluster_n = plan["knobs"]["TILE_CGA_M"], plan["knobs"]["TILE_CGA_N"]
    tiles: int = up(down, cluster_m) * cluster_m * up(across, cluster_n) * cluster_n
    return tiles


def splits(plan: Plan, most: int, full_waves: int) -> int:
    """How many blocks share one tile of the tail: the fewest among the fastest, by cuDNN's own model of the time.

    Costs are cycles times 40 * `speed`, so that all are integers. The reduction hides behind one of the full waves.
    With none, a long K is cut into pieces of just over 1,024 elements, if that makes nine or more.
    """
    rows, columns = TILES[plan["knobs"]["TILE_SIZE"]]
    depth = 64 if element_bytes(plan) == 2 and plan["knobs"]["TILEK"] == 1 else 32
    iterations = k_iterations(plan, depth)
    pieces = iterations // (1024 // depth + 1)
    if not full_waves and min(pieces, most) >= 9:
        return even(iterations, min(pieces, most))
    sm_khz, memory_khz = plan["clocks"]
    speed = 24 * memory_khz // sm_khz
    tile_bytes = rows * columns * 4
    step = rows * columns * depth * 40 * speed // (8192 if plan["type"] == "BFLOAT16" else 1024)
    slower_when_split = (rows, columns, depth) == (128, 64, 32) and (plan["kind"], plan["type"]) != ("data", "FLOAT")
    split_step = step * 11 // 10 if slower_when_split else step
    level, exchange = 40 * speed * 2000 + 110 * tile_bytes, 80 * tile_bytes
    best, cheapest = 1, (full_waves + 1) * iterations * step
    for parts in range(2, min(most, iterations * depth // 128) + 1):
        cost = up(iterations, parts) * split_step
        reduction = (parts - 1).bit_length() * level
        if full_waves:
            wave_cost = iterations * split_step
            cost += (full_waves - 1) * wave_cost + max(wave_cost, reduction + exchange)
        else:
            cost += reduction
        if cost < cheapest:
            best, cheapest = parts, cost
    return even(iterations, best)


def k_iterations(plan: Plan, depth: int) -> int:
    """Steps of `depth` along K: each filter tap starts anew; a filter gradient's K is the pixels of the output."""
    w, y = plan["dims"]["W"], plan["dims"]["Y"]
    if plan["kind"] == "filter":
        return up(y[0] * product(y[2:]), depth)
    return product(w[2:]) * up(w[1] if plan["kind"] == "forward" else w[0], depth)


def even(iterations: int, parts: int) -> int:
    """The parts left when each takes as many steps as the largest."""
    return up(iterations, up(iterations, parts))


def barriers(parts: int) -> int:
    """One for each pair at each level of the tree: ceil(s/2) + ceil(s/4) + ... + 1."""
    total = 0
    while parts > 1:
        parts = up(parts, 2)
        total += parts
    return total


def up(value: int, unit: int) -> int:
    return -(-value // unit)


def product(values: list[int]) -> int:
    result = 1
    for value in values:
        result *= value
    return result


def seen(plan: Plan) -> bool:
    """Four fifths of the shapes: those the waves were fitted on."""
    shape = f"{plan['dims']['X']}{plan['dims']['W']}{plan['geometry']}"
    return hashlib.sha1(shape.encode()).digest()[0] % 5 != 0


def pairs(folder: Path) -> list[tuple[Plan, int, int]]:
    """Plan, deviceless bytes and handle bytes; the two recordings correspond line by line."""
    found = []
    for precision in ("fp32", "bf16", "fp16"):
        recorded = []
        for source in ("deviceprop", "handle"):
            with gzip.open(folder / f"{source}_{precision}.txt.gz", "rt") as lines:
                recorded.append([parsed for line in lines if (parsed := parse(line))])
        found += [(plan, before, after) for (plan, before), (_, after) in zip(*recorded, strict=True)]
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    groups: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for plan, before, after in pairs(parser.parse_args(argv).folder):
        part = "seen" if seen(plan) else "unseen"
        engine = f"{plan['type']} {plan['kind']} {plan['engine']}" if of_family(plan) else "all other engines"
        miss = abs(handle_workspace(plan, before) - after)
        for name in (engine, "family") if of_family(plan) else (engine,):
            groups[name, part].append((miss, abs(before - after)))
        if plan["engine"] == LT_ENGINES[plan["kind"]] and plan["knobs"].keys() == {"WORKSPACE"}:
            extra = after % 1024 if after % 1024 in (272, 400) else 0
            groups["cuBLASLt's 0, 272 or 400", part].append((abs(lt_bytes(plan) - extra), extra))
    print(f"{'engine':28}{'shapes':8}{'plans':>6}{'as asked':>10}{'exact':>8}{'<64 KiB':>9}{'worst miss':>14}")
    for (name, part), misses in sorted(groups.items()):
        count = len(misses)
        same, exact = sum(not was for _, was in misses), sum(not miss for miss, _ in misses)
        close, worst = sum(miss <= 65536 for miss, _ in misses), max(miss for miss, _ in misses)
        print(f"{name:28}{part:8}{count:6}{same / count:10.1%}{exact / count:8.1%}{close / count:9.1%}{worst:14,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
