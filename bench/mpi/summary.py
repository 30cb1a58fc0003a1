"""What the table says of all sizes together: how Towline stands to the best peer, where it is worst, and which sizes are slower than
bigger ones."""
from __future__ import annotations

import itertools
import math
from typing import Any

from mpi.records import Record, Results, value
from mpi.subjects import BEFORE
from table import ratio, size_name

HEAD = ["figures", "sizes", "x peer", "worst", "x peer", "slower than the next size"]
SEEN = 1.005  # a size that is slower by less is as fast


def kind(r: Record) -> tuple[Any, ...]:
    return r["case"], r["mode"], r["memory"], r["cache"], r["variant"]


def slower(own: list[Record]) -> list[str]:
    """Sizes that take longer than the next larger one, and how many times."""
    times = [(a["size"], a["median"] / b["median"]) for a, b in itertools.pairwise(own)]
    return [f"{exactly(size)} ({factor:.2f})" for size, factor in times if factor >= SEEN]


def exactly(size: int) -> str:
    """A size that size_name would round has its bytes."""
    factor = next(f for f in (1 << 20, 1 << 10, 1) if size >= f or f == 1)
    return size_name(size) if size % factor == 0 else f"{size} B"


def lines(results: Results) -> list[list[str]]:
    """A line for each case, mode and memory of which several sizes were measured by turns, under a head; none: nothing."""
    own = [r for r in results.records if r["subject"] == "towline" and r.get("batch")]
    found = []
    for what in dict.fromkeys(kind(r) for r in own):
        figures = sorted((r for r in own if kind(r) == what), key=lambda r: int(r["size"]))
        if len(figures) < 2:
            continue
        case, mode, memory, cache, variant = what
        peers = [results.best_peer(case=case, mode=mode, memory=memory, cache=cache, variant=variant, size=r["size"]) for r in figures]
        factors = [(f, r["size"]) for r, peer in zip(figures, peers) if (f := ratio(r, peer))]
        mean = f"{math.exp(math.fsum(math.log(f) for f, _ in factors) / len(factors)):.2f}" if factors else ""
        worst, at = max(factors, default=(0.0, 0))
        name = " ".join(word for word in (case, mode, memory, cache if cache != "warm" else "", variant) if word)
        found.append([name, str(len(figures)), mean, exactly(at) if factors else "", f"{worst:.2f}" if factors else "",
                      ", ".join(slower(figures))])
    return [HEAD, *found] if found else []


def before(results: Results) -> list[list[str]]:
    """Every figure of an older build beside today's, those that changed for the worse outside both spreads first; none: nothing.
    Its last line is the geometric mean of all."""
    found: list[tuple[float, bool, list[str]]] = []
    for old in (r for r in results.records if r["subject"] == BEFORE and "median" in r):
        now = results.one(**{k: old[k] for k in ("case", "size", "mode", "cache", "memory", "variant")}, subject="towline")
        factor = ratio(now, old)
        if now is None or not factor:
            continue
        factor = 1 / factor if old["case"] == "overlap" else factor  # more is better
        worse = factor - 1 > max(now["spread"], old["spread"])
        name = " ".join(str(w) for w in (old["case"], exactly(old["size"]), old["mode"], old["memory"], old["cache"], old["variant"])
                        if w not in ("warm", "untouched", "heap", ""))
        spread = f"{100 * max(now['spread'], old['spread']):.0f} %"
        found.append((factor, worse, [name, value(old), value(now), f"{factor:.2f}", spread, "WORSE" if worse else ""]))
    if not found:
        return []
    found.sort(key=lambda f: (not f[1], -f[0]))
    mean = math.exp(math.fsum(math.log(f) for f, _, _ in found) / len(found))
    total = f"{sum(worse for _, worse, _ in found)} of {len(found)} worse outside their spread"
    return [["figure", "before", "now", "x before", "spread", ""], *(cells for _, _, cells in found),
            ["geometric mean", "", "", f"{mean:.2f}", "", total]]
