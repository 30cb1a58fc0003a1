"""The table of bench/mpi: medians, spreads, ratios, and what is asked for. Reads the JSON lines and nothing else."""
from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Callable, Iterable, Iterator

from mpi import summary
from mpi.cases import BESIDE_BARRIER, COLLECTIVES, CROWD, DATATYPES, KIB, MEMORIES, MIB, PAIRINGS, THREADS
from mpi.records import LIMITS, Record, Results, value
from table import ratio, size_name

HEAD = ["figure", "towline", "spread", "best peer", "x peer", "limit", "x limit", "asked", "reached"]


@dataclasses.dataclass
class Row:
    title: str
    own: Record | None
    peer: Record | None = None
    limit: Record | None = None
    asked: str = ""
    reached: bool | None = None     # None: nothing is asked for, or nothing can be said
    short: float = 1                # by which factor, where it is not reached

    def cells(self) -> list[str]:
        spread = f"{100 * self.own['spread']:.0f} %" if self.own else ""
        short = f"SHORT {self.short:.2f} x" if self.short > 1 else "SHORT"
        reached = {True: "yes", False: short, None: ""}[self.reached]
        return [self.title, value(self.own), spread, named(self.peer), times(ratio(self.own, self.peer)), named(self.limit),
                times(ratio(self.own, self.limit)), self.asked, reached]


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


def ask(row: Row, *, limit: float = 0, peer: float = 0, intel: tuple[Record | None, float] = (None, 0)) -> None:
    """Asks for at most so many times the limit, the best peer, the best of Intel's; 0: not asked for."""
    bounds = [(row.limit, limit, f"<= {limit:g} x limit"), (row.peer, peer, "< every peer" if peer == 1 else f"<= {peer:.2g} x peer"),
              (intel[0], intel[1], f"<= {intel[1]:.2g} x Intel")]
    row.asked = ", ".join(told for _, bound, told in bounds if bound)
    factors = [factor / bound for other, bound, _ in bounds if bound and (factor := ratio(row.own, other))]
    if factors:
        row.reached, row.short = max(factors) <= 1, max(factors)


def order(r: Record) -> tuple[bool, bool, int]:
    return r["cache"] != "warm", r["mode"] != "untouched", int(r["size"])


def messages(results: Results) -> Iterator[Row]:
    judged = (64, KIB, 4 * KIB, 8 * KIB)
    for own in sorted(results.find(case="latency", subject="towline"), key=order):
        size, mode, cold = own["size"], own["mode"], own["cache"] == "cold"
        same = {"case": "latency", "size": size, "mode": mode, "cache": own["cache"]}
        limit = results.one(**same, subject="raw") or results.one(**same, subject="by_hand")
        row = Row(f"one way, {size_name(size)}, {mode}, {own['cache']}", own, results.best_peer(**same), limit)
        if size == 8 and mode == "untouched" and not cold:
            ask(row, limit=1.4, peer=1)
            row.asked = "<= 1.4 x raw, < every peer"
        elif (mode != "untouched" and not cold or mode == "untouched" and cold) and size >= 4 * KIB:
            ask(row, limit=1.2, peer=1)
        elif mode == "untouched" and not cold and size in (64 * KIB, MIB, 4 * MIB, 16 * MIB):
            ask(row, limit=1.25, peer=1)
        elif size in judged and not cold:
            ask(row, peer=1)
        yield row


def streams(results: Results) -> Iterator[Row]:
    for own in sorted(results.find(case="stream", subject="towline"), key=order):
        size, untouched = own["size"], own["mode"] == "untouched"
        same = {"case": "stream", "size": size, "mode": own["mode"]}
        row = Row(f"each of a window, {size_name(size)}, {own['mode']}", own, results.best_peer(**same),
                  results.one(**same, subject="by_hand"))
        if size == 8 and untouched:
            ask(row, peer=1 / 1.5)
            row.asked = ">= 20 M/s, 1.5 x peer"
            row.reached = all_of(own["median"] <= 0.05, row.reached)
            row.short = max(row.short, own["median"] / 0.05)
        elif untouched and size >= KIB:
            ask(row, limit=1.3 if size >= 64 * KIB else 0, peer=1)
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


def many_threads(results: Results) -> Iterator[Row]:
    """Latency as one thread sees it, and the time a message of all threads together; both against the same of one thread."""
    for kind, (pairing, told) in itertools.product(("latency", "stream"), PAIRINGS.items()):
        what = "one way" if kind == "latency" else "each of all windows"
        for own in sorted(results.find(case=f"threads_{pairing}_{kind}", subject="towline"), key=lambda r: (r["size"], int(r["variant"]))):
            n, same = int(own["variant"]), {"case": own["case"], "size": own["size"]}
            row = Row(f"{what}, {size_name(own['size'])}, {n} thread{'s' * (n > 1)}, {told}", own,
                      results.best_peer(**same, variant=own["variant"]), results.one(**same, variant=str(THREADS[0]), subject="towline"))
            ask(row, peer=1, limit=1.3 if kind == "stream" else 0)
            row.asked = "< every peer" + (", <= 1.3 x 1 thread" if kind == "stream" else "")
            yield row


def collectives(results: Results) -> Iterator[Row]:
    for name in COLLECTIVES:
        for own in sorted(results.find(case=name, subject="towline"), key=order):
            size, mode = own["size"], own["mode"]
            same = {"case": name, "size": size, "mode": mode}
            title = name if name == "barrier" else f"{name}, {size_name(size)}, {mode}"
            row = Row(title, own, results.best_peer(**same), results.one(**same, subject="by_hand"))
            if name == "barrier":
                row.limit = results.one(**same, subject="raw")
                ask(row, limit=1.6)
                row.asked = "<= 1.6 x raw"
            elif mode == "untouched" and name in ("reduce", "allreduce"):
                intel = [r for r in results.peers(**same) if r["subject"].startswith("impi")]
                four = (intel[0] if intel else None, 1 / (3 if name == "reduce" else 2.5)) if size == 4 * MIB else (None, 0)
                ask(row, limit=1.4, peer=1 / 1.5 if size >= 64 * KIB else 0, intel=four)
            elif mode == "untouched":
                ask(row, limit=1.4 if size >= 4 * KIB else 0, peer=1)
            yield row


def more_ranks(results: Results) -> Iterator[Row]:
    for name in COLLECTIVES:
        for own in sorted(results.find(case=f"{name}{CROWD}", subject="towline"), key=order):
            title = name if name == "barrier" else f"{name}, {size_name(own['size'])}"
            row = Row(f"{title}, {CROWD} ranks", own, results.best_peer(case=own["case"], size=own["size"]))
            ask(row, peer=1)
            yield row


def other_memory(results: Results) -> Iterator[Row]:
    """What is not in big blocks of the heap, beside what Towline does from there."""
    names = {"latency": "one way", "stream": "each of a window", "bcast_barrier": "bcast + barrier"}
    for memory, name in itertools.product(MEMORIES[1:], (*names, *COLLECTIVES)):
        for own in sorted(results.find(case=name, subject="towline", memory=memory), key=order):
            same = {"case": name, "size": own["size"], "mode": own["mode"], "cache": own["cache"]}
            row = Row(f"{names.get(name, name)}, {size_name(own['size'])}, {own['mode']}, {memory}", own,
                      results.best_peer(**same, memory=memory), results.one(**same, subject="towline"))
            if name == "latency":
                ask(row, peer=1.05)
                row.asked = "<= 1.05 x peer"
            elif name == "stream":
                ask(row, peer=1)
            else:
                ask(row, limit=1.3, peer=1)
                row.asked = "<= 1.3 x heap, < every peer"
            yield row


def iterations(results: Results) -> Iterator[Row]:
    for name in (f"mixed{CROWD}", *(f"{name}_barrier{ranks}" for ranks in ("", CROWD) for name in BESIDE_BARRIER)):
        for own in sorted(results.find(case=name, subject="towline"), key=lambda r: (r["variant"] == "alone", *order(r))):
            same = {"case": name, "size": own["size"], "mode": own["mode"], "variant": own["variant"]}
            title = name.removesuffix(str(CROWD)).replace("_barrier", " + barrier") + f", {size_name(own['size'])}"
            title += f", {own['mode']}" if own["mode"] != "untouched" else ""
            title += f", {own['variant']}" if own["variant"] else ""
            row = Row(title + (f", {CROWD} ranks" if name.endswith(str(CROWD)) else ""), own, results.best_peer(**same))
            ask(row, peer=1.2 if own["variant"] == "alone" else 1)
            yield row


def first_use(results: Results) -> Iterator[Row]:
    for memory in MEMORIES:
        for own in sorted(results.find(case="first", subject="towline", memory=memory, variant=""), key=order):
            same = {"case": "first", "size": own["size"], "mode": own["mode"], "memory": memory}
            row = Row(f"first 1000 messages, {size_name(own['size'])}, {own['mode']}, {memory}", own,
                      results.best_peer(**same, variant=""), results.one(**same, subject="towline", variant="later"))
            ask(row, limit=1.5)
            row.asked = "<= 1.5 x later"
            yield row


def hops(results: Results) -> Iterator[Row]:
    own = results.one(case="hop", subject="towline")
    if own:
        row = Row("one way, 8 B, on one processor", own, results.best_peer(case="hop"), results.one(case="hop", subject="by_hand"))
        row.asked, row.reached, row.short = "<= 2.5 us", own["median"] <= 2.5, own["median"] / 2.5
        yield row


def allocators(results: Results) -> Iterator[Row]:
    own = results.one(case="churn", subject="towline")
    if own:
        row = Row("a program that allocates much", own, None, results.one(case="churn", subject="glibc"))
        ask(row, limit=1.02)
        row.asked = "<= 1.02 x glibc"
        yield row


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


def overlaps(results: Results) -> Iterator[Row]:
    for own in results.find(case="overlap", subject="towline"):
        peers = results.peers(case="overlap", mode=own["mode"])
        row = Row(f"hidden of {size_name(own['size'])}, the {own['mode']} computes", own, peers[-1] if peers else None)
        if own["variant"]:
            row.title += f", {own['variant']}"
            row.asked, row.reached = ">= 90 % with a spare core", own["median"] >= 90
        yield row


SECTIONS = (("Messages", messages), ("Streams", streams), ("Posted receives (peer: without them)", queues),
            ("Threads (peer: MPI_THREAD_SINGLE)", threads),
            ("Several threads of each rank (limit: 1 thread)", many_threads), ("Collectives of 2 ranks", collectives),
            (f"Collectives of {CROWD} ranks on 2 processors", more_ranks), ("Iterations", iterations),
            ("Other memory (limit: Towline's from the heap)", other_memory), ("First use (limit: later ones)", first_use),
            ("Both ranks on one processor", hops),
            ("Allocator (limit: glibc)", allocators), ("Datatypes", datatypes),
            ("Start-up", starts), ("Many ranks", crowds), ("Gentleness (peer of a stencil: 2 ranks)", gentleness),
            ("Overlap (more is better)", overlaps))


def columns(lines: list[list[str]]) -> list[int]:
    return [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]


def aligned(cells: list[str], widths: list[int]) -> str:
    return "  ".join(c.ljust(w) for c, w in zip(cells, widths)).rstrip()


def show_every(results: Results) -> None:
    """Medians of all subjects, one line a figure."""
    figures = [r for r in results.records if "median" in r]
    known = [r["subject"] for r in results.about()]  # in the order of subjects.py; limits behind them
    names = known + list(dict.fromkeys(r["subject"] for r in figures if r["subject"] not in known))
    own = [r for r in figures if r["subject"] == "towline"]
    keys = list(dict.fromkeys((r["case"], r["size"], r["mode"], r["cache"], r["memory"], r["variant"]) for r in own))
    lines = [["figure", *names]]
    for case, size, mode, cache, memory, variant in keys:
        line = [" ".join(str(k) for k in (case, size, mode, cache, memory, variant) if k not in ("warm", "untouched", "heap", ""))]
        for subject in names:
            which = {} if subject in LIMITS else {"variant": variant}
            same = {"case": case, "size": size, "mode": mode, "cache": cache, "memory": memory}
            found = results.one(**same, subject=subject, **which)
            line.append(value(found) if found else "")
        lines.append(line)
    widths = columns(lines)
    for line in lines:
        print(aligned(line, widths))


def show_sections(results: Results, of: Iterable[tuple[str, Callable[[Results], Iterable[Row]]]]) -> list[Row]:
    """Prints who took part and the table; its rows."""
    for r in results.about():
        print(f"{r['subject']}: {r['why']} ({r['library']})\n    {r['settings']}")
    sections = [(title, list(rows(results))) for title, rows in of]
    everything = [r for _, rows in sections for r in rows]
    widths = columns([HEAD] + [r.cells() for r in everything])

    print("\n" + aligned(HEAD, widths))
    for title, rows in sections:
        if rows:
            print("-- " + title)
            for row in rows:
                print(aligned(row.cells(), widths))
    return everything


def show(results: Results, every: bool = False, strict: bool = False) -> int:
    everything = show_sections(results, SECTIONS)
    raw = [float(r["raw_ns"]) for r in results.records if r.get("raw_ns")]
    if raw:
        middle = statistics.median(raw)
        print(f"\nraw ping-pong while measuring: median {middle:.0f} ns one way (figures: {min(raw):.0f} to {max(raw):.0f})")
    judged = [r for r in everything if r.reached is not None]
    missed = [r for r in judged if not r.reached]
    for title, lines in (("Over all sizes: Towline beside the best peer at each", summary.lines(results)),
                         ("An older build (--before) beside this one", summary.before(results))):
        if lines:
            print("\n-- " + title)
            for cells in lines:
                print(aligned(cells, columns(lines)))
            print()
    print(f"{len(judged) - len(missed)} of {len(judged)} reached")
    if every:
        print()
        show_every(results)
    return 1 if strict and missed else 0
