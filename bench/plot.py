#!/usr/bin/env python3
"""Draws what was measured: the null call and 64 outstanding calls as bars, hand-over and arguments over size, each beside the limits and the
other libraries. Reads DIR/*.jsonl, writes DIR/figures.png. Needs matplotlib (bench/requirements.txt)."""
import argparse
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from table import HERE, LIMITS, Records, load, name, size_name

LOOKS = {"towline": ("#0057b7", "-", "o"), "iceoryx2": ("#d1495b", "-", "s"), "zeromq": ("#8d6a9f", "-", "^"), "capnp": ("#3a7d44", "-", "v"),
         "grpc": ("#c98b00", "-", "D")}
VARIANT_STYLES = ("-", "--", "-.", ":")


def look(record, seen):
    color, _, marker = LOOKS.get(record["subject"], ("#777777", ":", "."))
    variants = seen.setdefault(record["subject"], [])
    key = name(record)
    if key not in variants:
        variants.append(key)
    style = ":" if record["subject"] in LIMITS else VARIANT_STYLES[variants.index(key) % len(VARIANT_STYLES)]
    return {"color": color, "linestyle": style, "marker": marker, "markersize": 4, "linewidth": 1.2}


def bars(axis, records, title):
    records = sorted(records, key=lambda r: -r["median"])
    colors = [LOOKS.get(r["subject"], ("#aaaaaa",))[0] for r in records]
    axis.barh([name(r) for r in records], [r["median"] for r in records], color=colors, height=0.65)
    for i, r in enumerate(records):
        axis.annotate(f" {r['median']:.3g}", (r["median"], i), va="center", fontsize=8)
    axis.set_xscale("log")
    axis.set_xlim(right=max(r["median"] for r in records) * 3)
    axis.set_xlabel("microseconds")
    axis.set_title(title)


def lines(axis, records, title):
    seen = {}
    for key in sorted({name(r) for r in records}, key=lambda k: (not k.startswith("towline"), k)):
        points = sorted((r["size"], r["median"], r) for r in records if name(r) == key)
        axis.plot([p[0] for p in points], [p[1] for p in points], label=key, **look(points[0][2], seen))
    sizes = sorted({r["size"] for r in records})
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(sizes, [size_name(s) for s in sizes])
    axis.set_ylabel("microseconds")
    axis.set_title(title)
    axis.grid(True, which="major", alpha=0.3)
    axis.legend(fontsize=7)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("folder", nargs="?", type=pathlib.Path, default=HERE.parent / "build/bench", help="where the JSON lines are (default build/bench)")
    folder = p.parse_args().folder
    data = Records(load(folder))
    panels = [(bars, data.find(bench="call", case="null_call"), "null call, round trip"),
              (bars, data.find(bench="call", case="outstanding64"), "64 calls outstanding, each")]
    for case, title in (("handover", "rma_vector there and back"), ("argument", "one argument, a word back")):
        for mode, what in (("untouched", "not read"), ("rewritten", "written and read")):
            panels.append((lines, data.find(bench=case, case=case, mode=mode), f"{title}: {what}"))
    panels = [p for p in panels if p[1]]
    if not panels:
        sys.exit(f"nothing to draw in {folder}: run `make bench`")
    rows = (len(panels) + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(13, 4.6 * rows), squeeze=False, layout="constrained")
    for axis, (draw, records, title) in zip(axes.flat, panels):
        draw(axis, records, title)
    for axis in axes.flat[len(panels):]:
        axis.axis("off")
    figure.savefig(folder / "figures.png", dpi=110)
    print(folder / "figures.png")


if __name__ == "__main__":
    sys.exit(main())
