"""Draws what bench/mpi measured, as DIR/mpi_*.png. Reads the JSON lines and nothing else; needs matplotlib (bench/requirements.txt)."""
from __future__ import annotations

import itertools
import pathlib
from typing import Any

from mpi.cases import BESIDE_BARRIER, COLLECTIVES, CROWD, DATATYPES, MEMORIES
from mpi.records import LIMITS, Record, Results
from table import size_name

COLORS = {"towline": "#0057b7", "mpich5": "#d1495b", "impi2021": "#3a7d44", "ompi5": "#c98b00", "raw": "#000000", "by_hand": "#777777",
          "memcpy": "#aaaaaa", "process": "#777777", "glibc": "#777777"}
DASHES = {"": "-", "tuned": "--", "native": "-.", "heap": ":", "ucx": "--", "before": "--"}


def color(subject: str) -> str:
    return COLORS.get(subject) or COLORS.get(subject.split("-")[0], "#555555")


def dash(subject: str) -> str:
    return ":" if subject in LIMITS else DASHES.get(subject.partition("-")[2], "-")


def best_by_hand(records: list[Record]) -> list[Record]:
    """Of several ways by hand the best at each size: the limit."""
    best: dict[int, Record] = {}
    for r in records:
        if r["subject"] == "by_hand" and (r["size"] not in best or r["median"] < best[r["size"]]["median"]):
            best[r["size"]] = r | {"variant": ""}
    return list(best.values())


def curves(axis: Any, records: list[Record], title: str, bandwidth: bool = False) -> None:
    """Time, or bytes a second, over size; a line for each subject."""
    sizes = sorted({r["size"] for r in records if r["size"]})
    records = [r for r in records if r["subject"] != "by_hand"] + best_by_hand(records)
    names = {(r["subject"], r["variant"]) for r in records}
    for subject, variant in sorted(names, key=lambda name: (name[0] in LIMITS, name[0] != "towline", name)):
        points = sorted((r["size"], r["median"]) for r in records if (r["subject"], r["variant"]) == (subject, variant) and r["size"])
        heights = [s / m / 1000 if bandwidth else m for s, m in points]  # bytes a microsecond are MB/s
        axis.plot([s for s, _ in points], heights, label=f"{subject} {variant}".strip(), color=color(subject), linestyle=dash(subject),
                  marker=".", linewidth=2 if subject == "towline" else 1.1, zorder=3 if subject == "towline" else 2)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(sizes, [size_name(s) for s in sizes], rotation=45, fontsize=7)
    axis.set_ylabel("GB/s" if bandwidth else "microseconds")
    axis.set_title(title, fontsize=10)
    axis.grid(True, which="major", alpha=0.3)
    axis.legend(fontsize=6)


def bars(axis: Any, records: list[Record], title: str) -> None:
    """One bar a subject, the best on top; whiskers from the lowest sample to the 90th percentile."""
    ordered = sorted(records, key=lambda r: -float(r["median"]))
    medians = [float(r["median"]) for r in ordered]
    reach = [[m - float(r["min"]) for m, r in zip(medians, ordered)], [max(0.0, float(r["p90"]) - m) for m, r in zip(medians, ordered)]]
    labels = [r["subject"] + (f" {r['variant']}" if r.get("variant") else "") for r in ordered]
    axis.barh(labels, medians, color=[color(r["subject"]) for r in ordered], height=0.65, xerr=reach, ecolor="#999999")
    for i, m in enumerate(medians):
        axis.annotate(f"  {m:.3g}", (m, i), va="bottom", fontsize=7)
    axis.set_xscale("log")
    axis.set_xlim(min(medians) / 5, max(medians) * 4)
    axis.set_xlabel({"us": "microseconds", "s": "seconds"}.get(ordered[0]["unit"], ordered[0]["unit"]))
    axis.set_title(title, fontsize=10)
    axis.tick_params(axis="y", labelsize=7)


Panel = tuple[str, list[Record], bool, bool]  # title, figures, as curves, as bandwidth


def panels(results: Results) -> dict[str, list[Panel]]:
    """Picture -> what is drawn on it; only what was measured."""
    names = ("latency", "bandwidth", "collectives", "memories", "crowded", "mixed", "datatypes", "start", "memory", "processor")
    found: dict[str, list[Panel]] = {name: [] for name in names}
    for cache in ("warm", "cold"):
        for mode in ("untouched", "dirtied", "rewritten"):
            figures = results.find(case="latency", mode=mode, cache=cache)
            found["latency"].append((f"one way, {mode}, {cache}", figures, True, False))
            found["bandwidth"].append((f"one message after another, {mode}, {cache}", figures, True, True))
    for mode in ("untouched", "rewritten"):
        found["bandwidth"].append((f"windows, {mode}", results.find(case="stream", mode=mode), True, True))
        for name in COLLECTIVES:
            if name != "barrier":
                found["collectives"].append((f"{name}, {mode}", results.find(case=name, mode=mode), True, False))
    found["collectives"].append(("barrier", results.find(case="barrier"), False, False))
    for name in COLLECTIVES[1:]:
        title = f"{name}, {CROWD} ranks on 2 processors"
        found["crowded"].append((title, results.find(case=f"{name}{CROWD}"), True, False))
    found["crowded"].append((f"barrier, {CROWD} ranks on 2 processors", results.find(case=f"barrier{CROWD}"), False, False))
    found["processor"].append(("8 B one way, both ranks on one processor", results.find(case="hop"), False, False))
    found["processor"].append(("a step of a program that allocates much", results.find(case="churn"), False, False))
    for memory, name, mode in itertools.product(MEMORIES, ("latency", "stream", "bcast_barrier", *COLLECTIVES), ("untouched", "rewritten")):
        title = {"latency": "one way", "stream": "windows", "bcast_barrier": "bcast + barrier"}.get(name, name)
        if memory != "heap" or name == "bcast_barrier":  # what is from the heap is in the other pictures
            figures = results.find(case=name, mode=mode, memory=memory)
            found["memories"].append((f"{title}, {mode}, from {memory}", figures, True, name == "stream"))
    found["mixed"].append((f"mixed, {CROWD} ranks on 2 processors", results.find(case=f"mixed{CROWD}", mode="rewritten"), True, False))
    for name, variant in itertools.product(BESIDE_BARRIER, ("whole", "alone")):
        figures = results.find(case=f"{name}_barrier{CROWD}", variant=variant)
        found["mixed"].append((f"{name} + barrier, {CROWD} ranks on 2 processors, {variant}", figures, True, False))
    for memory, size in itertools.product(MEMORIES, sorted({r["size"] for r in results.records if r["case"] == "first"})):
        figures = results.find(case="first", memory=memory, size=size, variant="")
        found["start"].append((f"first 1000 messages of {size_name(size)} from {memory}", figures, False, False))
    for name in DATATYPES:
        found["datatypes"].append((name, results.find(case="type_" + name), True, False))
    for ranks in sorted({r["size"] for r in results.find(case="start")}):
        found["start"].append((f"hello world, {ranks} ranks, start to end", results.find(case="start", size=ranks), False, False))
    found["memory"].append(("proportional memory of a rank, after messages of all pairs", results.find(case="memory"), False, False))
    found["memory"].append(("barrier of 32 ranks on 2 processors", results.find(case="crowd_barrier"), False, False))
    found = {name: [p for p in drawn if p[1]] for name, drawn in found.items()}
    return {name: drawn for name, drawn in found.items() if drawn}


def draw(results: Results, folder: pathlib.Path) -> list[pathlib.Path]:
    return draw_panels(panels(results), folder)


def draw_panels(pictures: dict[str, list[Panel]], folder: pathlib.Path) -> list[pathlib.Path]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    written = []
    for name, drawn in pictures.items():
        wide = 1 if len(drawn) == 1 else 2
        rows = -(-len(drawn) // wide)
        figure, axes = plt.subplots(rows, wide, figsize=(6.5 * wide, 4.2 * rows), squeeze=False, layout="constrained")
        for axis, (title, figures, as_curves, bandwidth) in zip(axes.flat, drawn):
            if as_curves:
                curves(axis, figures, title, bandwidth)
            else:
                bars(axis, figures, title)
        for axis in axes.flat[len(drawn):]:
            axis.axis("off")
        path = folder / f"mpi_{name}.png"
        figure.savefig(path, dpi=110)
        plt.close(figure)
        written.append(path)
    return written
