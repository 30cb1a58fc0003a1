"""The table of bench/mpi: medians, spreads, ratios, and what is asked for. Reads the JSON lines and nothing else."""
from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator

from mpi.cases import COLLECTIVES, DATATYPES
from mpi.records import LIMITS, Record, Results
from table import duration, ratio, size_name

HEAD = ["figure", "towline", "spread", "best peer", "x peer", "limit", "x limit", "asked", "reached"]


@dataclasses.dataclass
class Row:
    title: str
    own: Record | None
    peer: Record | None = None
    limit: Record | None = None
    asked: str = ""
    reached: bool | None = None     # None: nothing is asked for, or nothing can be said

    def cells(self) -> list[str]:
        spread = f"{100 * self.own['spread']:.0f} %" if self.own else ""
        reached = {True: "yes", False: "NO", None: ""}[self.reached]
        return [self.title, value(self.own), spread, named(self.peer), times(ratio(self.own, self.peer)), named(self.limit),
                times(ratio(self.own, self.limit)), self.asked, reached]


def value(r: Record | None) -> str:
    if r and r["unit"] in ("MiB", "%"):
        return f"{r['median']:.3g} {r['unit']}"
    return duration(r)


def named(r: Record | None) -> str:
    if not r:
        return ""
    variant = r.get("variant")
    return f"{value(r)} {r['subject']}" + (f"/{variant}" if variant else "")


def times(factor: float | None) -> str:
    return f"{factor:.2f}" if factor else ""


def all_of(*conditions: bool | None) -> bool | None:
    """Whether all that can be said holds; None where nothing can be said."""
    known = [c for c in conditions if c is not None]
    return all(known) if known else None


def at_most(factor: float | None, bound: float) -> bool | None:
    return None if factor is None else factor <= bound


def order(r: Record) -> tuple[bool, bool, int]:
    return r["cache"] != "warm", r["mode"] != "untouched", int(r["size"])


def messages(results: Results) -> Iterator[Row]:
    judged = (64, 1024, 4096, 8192)
    for own in sorted(results.find(case="latency", subject="towline"), key=order):
        same = {"case": "latency", "size": own["size"], "mode": own["mode"], "cache": own["cache"]}
        peer = results.best_peer(**same)
        limit = results.one(**same, subject="raw") or results.one(**same, subject="by_hand")
        row = Row(f"one way, {size_name(own['size'])}, {own['mode']}, {own['cache']}", own, peer, limit)
        below = at_most(ratio(own, peer), 1)
        if own["cache"] == "warm" and own["size"] == 8 and own["mode"] == "untouched":
            row.asked, row.reached = "<= 1.4 x raw, < every peer", all_of(at_most(ratio(own, limit), 1.4), below)
        elif own["cache"] == "warm" and own["size"] in judged:
            row.asked, row.reached = "< every peer", below
        yield row


def streams(results: Results) -> Iterator[Row]:
    for own in sorted(results.find(case="stream", subject="towline"), key=order):
        same = {"case": "stream", "size": own["size"], "mode": own["mode"]}
        row = Row(f"each of a window, {size_name(own['size'])}, {own['mode']}", own, results.best_peer(**same),
                  results.one(**same, subject="by_hand"))
        if own["size"] == 8 and own["mode"] == "untouched":
            row.asked = ">= 20 M/s, 1.5 x peer"
            row.reached = all_of(own["median"] <= 0.05, at_most(ratio(own, row.peer), 1 / 1.5))
        yield row


def pairs_of(results: Results, case: str, plain: str, burdened: str, title: str, bound: float) -> Iterator[Row]:
    """A figure with a burden against the same without, for every library, Towline first; asked of Towline."""
    names = dict.fromkeys(r["subject"] for r in results.find(case=case, variant=burdened))
    for subject in sorted(names, key=lambda name: name != "towline"):
        without, own = (results.one(case=case, subject=subject, variant=v) for v in (plain, burdened))
        if own and without:
            row = Row(title if subject == "towline" else f"  {subject}", own, without)
            if subject == "towline":
                row.asked, row.reached = f"<= {bound} x {plain}", at_most(ratio(own, without), bound)
            yield row


def queues(results: Results) -> Iterator[Row]:
    yield from pairs_of(results, "posted", "0", "256", "behind 256 posted receives", 1.3)


def threads(results: Results) -> Iterator[Row]:
    yield from pairs_of(results, "threads", "single", "multiple", "8 B, MPI_THREAD_MULTIPLE", 1.15)


def collectives(results: Results) -> Iterator[Row]:
    for name in COLLECTIVES:
        for own in sorted(results.find(case=name, subject="towline"), key=order):
            same = {"case": name, "size": own["size"], "mode": own["mode"]}
            title = name if name == "barrier" else f"{name}, {size_name(own['size'])}, {own['mode']}"
            yield Row(title, own, results.best_peer(**same), results.one(**same, subject="by_hand"))


def datatypes(results: Results) -> Iterator[Row]:
    for name in DATATYPES:
        for own in sorted(results.find(case="type_" + name, subject="towline"), key=order):
            same = {"case": own["case"], "size": own["size"]}
            yield Row(f"{name}, {size_name(own['size'])}", own, results.best_peer(**same), results.one(**same, subject="memcpy"))


def starts(results: Results) -> Iterator[Row]:
    bounds = {2: 0.5, 32: 0.4}
    for own in sorted(results.find(case="start", subject="towline"), key=order):
        row = Row(f"mpiexec -n {own['size']} hello", own, results.best_peer(case="start", size=own["size"]),
                  results.one(case="start", size=own["size"], subject="process"))
        bound = bounds.get(own["size"])
        if bound:
            row.asked, row.reached = f"<= {bound} x peer", at_most(ratio(own, row.peer), bound)
        yield row


def crowds(results: Results) -> Iterator[Row]:
    memory, barrier = results.one(case="memory", subject="towline"), results.one(case="crowd_barrier", subject="towline")
    if memory:
        peer = results.best_peer(case="memory", size=memory["size"])
        yield Row(f"memory of a rank of {memory['size']}", memory, peer, None, "<= 0.8 x peer", at_most(ratio(memory, peer), 0.8))
    if barrier:
        peer = results.best_peer(case="crowd_barrier", size=barrier["size"])
        yield Row(f"barrier of {barrier['size']} on 2 processors", barrier, peer, None, "<= 100 us", barrier["median"] <= 100)


def gentleness(results: Results) -> Iterator[Row]:
    many = max((r["size"] for r in results.find(case="stencil")), default=2)
    for subject in sorted({r["subject"] for r in results.find(case="stencil")}, key=lambda name: (name != "towline", name)):
        few, own = (results.one(case="stencil", subject=subject, size=ranks) for ranks in (2, many))
        if few and own:
            row = Row(f"step of a stencil, {many} ranks" if subject == "towline" else f"  {subject}", own, few)
            if subject == "towline":
                row.asked, row.reached = "<= 1.25 x 2 ranks", at_most(ratio(own, few), 1.25)
            yield row
    waiting = results.one(case="waiting", subject="towline")
    if waiting:
        yield Row("processor used by waiting a second", waiting, results.best_peer(case="waiting"), None, "< 2 %", waiting["median"] < 2)


SECTIONS = (("Messages", messages), ("Streams", streams), ("Posted receives (peer: without them)", queues),
            ("Threads (peer: MPI_THREAD_SINGLE)", threads), ("Collectives of 2 ranks", collectives), ("Datatypes", datatypes),
            ("Start-up", starts), ("Many ranks", crowds), ("Gentleness (peer of a stencil: 2 ranks)", gentleness))


def columns(lines: list[list[str]]) -> list[int]:
    return [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]


def show_every(results: Results) -> None:
    """Medians of all subjects, one line a figure."""
    figures = [r for r in results.records if "median" in r]
    known = [r["subject"] for r in results.about()]  # in the order of subjects.py; limits behind them
    names = known + list(dict.fromkeys(r["subject"] for r in figures if r["subject"] not in known))
    keys = list(dict.fromkeys((r["case"], r["size"], r["mode"], r["cache"], r["variant"]) for r in figures if r["subject"] == "towline"))
    lines = [["figure", *names]]
    for case, size, mode, cache, variant in keys:
        line = [" ".join(str(k) for k in (case, size, mode, cache, variant) if k not in ("warm", "untouched", ""))]
        for subject in names:
            which = {} if subject in LIMITS else {"variant": variant}
            found = results.one(case=case, size=size, mode=mode, cache=cache, subject=subject, **which)
            line.append(value(found) if found else "")
        lines.append(line)
    widths = columns(lines)
    for line in lines:
        print("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip())


def show(results: Results, every: bool = False, strict: bool = False) -> int:
    for r in results.about():
        print(f"{r['subject']}: {r['why']} ({r['library']})\n    {r['settings']}")
    sections = [(title, list(rows(results))) for title, rows in SECTIONS]
    everything = [r for _, rows in sections for r in rows]
    widths = columns([HEAD] + [r.cells() for r in everything])

    def line(cells: list[str]) -> str:
        return "  ".join(c.ljust(w) for c, w in zip(cells, widths)).rstrip()

    print("\n" + line(HEAD))
    for title, rows in sections:
        if rows:
            print("-- " + title)
            for row in rows:
                print(line(row.cells()))
    raw = [float(r["raw_ns"]) for r in results.records if r.get("raw_ns")]
    if raw:
        middle = statistics.median(raw)
        print(f"\nraw ping-pong while measuring: median {middle:.0f} ns one way (figures: {min(raw):.0f} to {max(raw):.0f})")
    judged = [r for r in everything if r.reached is not None]
    missed = [r for r in judged if not r.reached]
    print(f"{len(judged) - len(missed)} of {len(judged)} reached")
    if every:
        print()
        show_every(results)
    return 1 if strict and missed else 0
