"""Three plots as SVG: the distribution of errors, estimate against truth, and the errors of each family.

The same data always give the same bytes. `publish.py` draws them where matplotlib is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.score.benchmark_data import error_percent
from benchmarks.score.rival_figures import OURS

GIB = 2**30
SETTINGS = {
    "svg.hashsalt": "veritasest",  # element ids are random otherwise
    "svg.fonttype": "none",  # text as text: a tenth of the size of glyph outlines
    "font.family": "sans-serif",
    "axes.grid": True,
    "grid.alpha": 0.3,
    "figure.facecolor": "white",
}
FINEST_PERCENT = 0.01  # error axes are linear below this and logarithmic above, so that they include zero
MOST_STEPS = 200  # of a curve: more would not be visible, and make a large file
MOST_MARKERS = 1200  # of a plot; beyond it they are drawn as one picture

Point = tuple[str, int | None, int, str]  # family, estimate (None: not estimated), truth, job


def thin(values: Sequence[float], most: int = MOST_STEPS) -> list[int]:
    """Indices spread evenly, the first and the last among them."""
    last = len(values) - 1
    return sorted({round(step * last / (most - 1)) for step in range(most)}) if last >= most else list(range(last + 1))


def curve(axes: Axes, sizes: Iterable[float], asked: int, label: str, **style: object) -> None:
    """Share of the jobs asked for (not only of those answered) whose error is at most x."""
    ordered = sorted(sizes)
    kept = thin(ordered)
    share = [100 * (index + 1) / asked for index in kept]
    axes.step([0, *(ordered[index] for index in kept)], [0, *share], where="post", label=label, **style)


def error_cdf(points: Sequence[Point], rivals: dict[str, dict[str, int | None]]) -> Figure:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    sizes = [abs(error_percent(estimate, truth)) for _, estimate, truth, _ in points if estimate is not None]
    curve(axes, sizes, len(points), f"{OURS} ({len(points)} jobs)", color="black", linewidth=2.2)
    truths = {job: truth for _, _, truth, job in points}
    for name, answers in rivals.items():
        known = {job: size for job, size in answers.items() if job in truths}
        sizes = [abs(error_percent(size, truths[job])) for job, size in known.items() if size is not None]
        if sizes:
            curve(axes, sizes, len(known), f"{name} ({len(known)} jobs)", linewidth=1.2)
    axes.set_xscale("symlog", linthresh=FINEST_PERCENT)
    axes.set(xlim=(0, None), ylim=(0, 102), xlabel="error of the reserved peak, at most (%)", ylabel="jobs (%)")
    axes.legend(loc="best", fontsize="small")
    return figure


def against_truth(points: Sequence[Point]) -> Figure:
    figure = Figure(figsize=(6, 5.5), layout="constrained")
    axes = figure.subplots()
    colours = mpl.colormaps["tab20"]
    families = sorted({family for family, *_ in points})
    for number, family in enumerate(families):
        pairs = [(truth / GIB, size / GIB) for name, size, truth, _ in points if name == family and size]
        if pairs:
            x, y = zip(*pairs, strict=True)
            style = {"s": 14, "alpha": 0.7, "color": colours(number % 20), "rasterized": len(points) > MOST_MARKERS}
            axes.scatter(x, y, label=family, linewidths=0, **style)
    ends = [truth / GIB for _, _, truth, _ in points]
    axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color="black", linewidth=0.8, zorder=0)
    axes.set(xscale="log", yscale="log", xlabel="recorded on the GPU (GiB)", ylabel="estimated (GiB)")
    axes.legend(loc="upper left", fontsize="x-small", ncols=2)
    return figure


def family_boxes(points: Sequence[Point]) -> Figure:
    families = sorted({family for family, size, _, _ in points if size is not None}, reverse=True)
    figure = Figure(figsize=(7, 1.2 + 0.35 * len(families)), layout="constrained")
    axes = figure.subplots()
    signed = {family: [] for family in families}
    for family, estimate, truth, _ in points:
        if estimate is not None:
            signed[family].append(error_percent(estimate, truth))
    # Boxes reach from quartile to quartile, whiskers from the 5th to the 95th percentile; dots lie beyond.
    shape = {"orientation": "horizontal", "whis": (5, 95), "widths": 0.6, "flierprops": {"markersize": 3}}
    axes.boxplot(list(signed.values()), **shape)
    axes.axvline(0, color="black", linewidth=0.8, zorder=0)
    labels = [f"{family} ({len(errors)})" for family, errors in signed.items()]
    axes.set_yticks(range(1, len(families) + 1), labels)
    axes.set_xscale("symlog", linthresh=FINEST_PERCENT)
    reach = 1 + 2 * max(abs(error) for errors in signed.values() for error in errors)
    axes.set(xlim=(-reach, reach), xlabel="signed error of the reserved peak (%); below 0: too low")
    return figure


def draw(folder: Path, points: Sequence[Point], rivals: dict[str, dict[str, int | None]]) -> list[Path]:
    """The files written; none while there is no estimate to draw."""
    if not any(estimate for _, estimate, _, _ in points):
        return []
    written = []
    with mpl.rc_context(SETTINGS):
        figures = {
            "error_cdf": error_cdf(points, rivals),
            "estimate_against_truth": against_truth(points),
            "error_by_family": family_boxes(points),
        }
        for name, figure in figures.items():
            path = folder / f"{name}.svg"
            figure.savefig(path, metadata={"Date": None, "Creator": None})
            written.append(path)
    return written
