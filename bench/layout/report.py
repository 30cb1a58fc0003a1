"""The table of bench/layout: how Towline stands to its peers, to what a program packs by hand, and to contiguous messages; last, where it
is behind. Reads the JSON lines and nothing else."""
from __future__ import annotations

import dataclasses
import math
import pathlib
import statistics
from collections.abc import Iterator

from conduct import summary
from layout.patterns import CALLS, EXCHANGES, SIZES
from mpi.pictures import Panel, draw_panels
from mpi.records import Record, Results
from mpi.report import aligned, columns, named, times
from table import duration, ratio

HEAD = ["pattern", "bytes", "towline", "spread", "best peer", "x peer", "x Intel", "x hand", "x flat", "raw"]
DIRTY = "the sender writes each line before"
TITLES = {  # way and mode
    ("type", "dirtied"): f"There and back, one way; {DIRTY}",
    ("type", "untouched"): "There and back, one way; untouched",
    ("used1", "untouched"): "Types made, used once there and back, and freed; one way",
    ("used16", "untouched"): "Types made, used 16 times there and back, and freed; one way",
    ("pack", "untouched"): "MPI_Pack and MPI_Unpack alone",
    ("made", "untouched"): "Types made, committed and freed",
}


@dataclasses.dataclass
class Row:
    own: Record
    peer: Record | None
    intel: Record | None
    hand: Record | None
    flat: Record | None

    def ratios(self) -> dict[str, float | None]:
        return {"peer": ratio(self.own, self.peer), "Intel": ratio(self.own, self.intel), "hand": ratio(self.own, self.hand),
                "flat": ratio(self.own, self.flat)}

    def cells(self) -> list[str]:
        peer = named(self.peer).split("/")[0]
        return [self.own["case"], str(self.own["size"]), duration(self.own), f"{100 * self.own['spread']:.0f} %", peer,
                *(times(r) for r in self.ratios().values()), f"{self.own.get('raw_ns', 0):.0f} ns"]


def pattern(r: Record) -> str:
    return str(r["case"]).partition(":")[0]


def rows(results: Results, way: str, mode: str) -> Iterator[Row]:
    """Towline's figures of a way and mode, in the order of the patterns."""
    names = list(SIZES)
    own = [r for r in results.find(subject="towline", variant=way, mode=mode) if pattern(r) in names]
    for r in sorted(own, key=lambda r: (names.index(pattern(r)), r["size"], r["case"])):
        same = {"case": r["case"], "variant": way, "mode": mode}
        intel = [p for p in results.peers(**same) if p["subject"].startswith("impi")]
        hand = results.one(**same | {"variant": "hand"}, subject="towline") if way not in ("pack", "made") else None
        flat = None
        if pattern(r) not in ("contiguous", "types", *EXCHANGES, *CALLS) and way != "made":
            flat = results.one(**same | {"case": f"contiguous:{r['size']}"}, subject="towline")
        yield Row(r, results.best_peer(**same), intel[0] if intel else None, hand, flat)


def of_class(results: Results, least: float, most: float) -> Results:
    """Only the rounds in which the raw ping-pong took between so many nanoseconds around every turn: hosts move processors nearer and
    farther while it is measured. Rounds stay beside each other: one is kept for all subjects of a figure, or for none."""
    def figure(r: Record) -> tuple[str, str]:
        return r["case"], r["mode"]

    records: list[Record] = results.records
    raw: dict[tuple[str, str], list[list[float]]] = {}
    for r in records:
        raw.setdefault(figure(r), []).append(r.get("rounds_raw_ns", []))
    kept: list[Record] = []
    for r in records:
        if "rounds" not in r:
            kept.append(r)
            continue
        read = [[rounds[i] for rounds in raw[figure(r)] if i < len(rounds)] for i in range(len(r["rounds"]))]
        some = [i for i, each in enumerate(read) if each and least <= min(each) and max(each) <= most]
        if some:
            whole = [r["all"][i] for i in some]
            kept.append(r | summary([s for each in whole for s in each]) | {
                "all": whole, "rounds": [r["rounds"][i] for i in some], "rounds_raw_ns": [r["rounds_raw_ns"][i] for i in some],
                "raw_ns": round(statistics.median(r["rounds_raw_ns"][i] for i in some), 2)})
    return Results(kept)


def mean(factors: list[float | None]) -> str:
    """The geometric mean."""
    known = [f for f in factors if f]
    return f"{math.exp(math.fsum(math.log(f) for f in known) / len(known)):.2f}" if known else ""


def mean_cells(title: str, some: list[Row]) -> list[str]:
    ratios = [r.ratios() for r in some]
    return [f"= {title}, {len(some)}", "", "", "", "", *(mean([r[of] for r in ratios]) for of in ("peer", "Intel", "hand", "flat")), ""]


def sections(results: Results) -> Iterator[tuple[str, list[Row]]]:
    several = {"Faces of a stencil, all at once": EXCHANGES, "Collective operations": CALLS}
    grouped = {name for names in several.values() for name in names}
    for (way, mode), title in TITLES.items():
        found = list(rows(results, way, mode))
        yield title, [r for r in found if pattern(r.own) not in grouped]
        for other, names in several.items():
            yield f"{other}; {DIRTY if mode == 'dirtied' else mode}", [r for r in found if pattern(r.own) in names]


def behind(results: Results) -> list[list[str]]:
    """Where a peer is faster, or packing by hand, the worst first."""
    found = []
    for title, some in sections(results):
        for row in some:
            ratios = row.ratios()
            worst = max(ratios["peer"] or 0, ratios["hand"] or 0)
            if worst > 1:
                cells = [str(row.own["case"]), str(row.own["size"]), named_way(row.own), duration(row.own), named(row.peer).split("/")[0]]
                found.append((worst, [*cells, times(ratios["peer"]), times(ratios["hand"])]))
    head = ["behind", "bytes", "way", "towline", "best peer", "x peer", "x hand"]
    return [head, *(cells for _, cells in sorted(found, key=lambda f: -f[0]))]


def designs(results: Results) -> list[list[str]]:
    """Towline's designs beside each other, by the time of the default; nothing where only that was measured."""
    names = sorted({str(r["subject"]) for r in results.records if str(r["subject"]).startswith("towline-")})
    lines = [["designs", "bytes", "way", "towline", *(f"x {name.removeprefix('towline-')}" for name in names)]]
    for way, mode in TITLES if names else ():
        for row in rows(results, way, mode):
            same = {"case": row.own["case"], "variant": way, "mode": mode}
            others = [times(ratio(row.own, results.one(**same, subject=name))) for name in names]
            if any(others):
                lines.append([str(row.own["case"]), str(row.own["size"]), named_way(row.own), duration(row.own), *others])
    return lines if len(lines) > 1 else []


def named_way(r: Record) -> str:
    return str(r["variant"]) + (" dirtied" if r["mode"] == "dirtied" else "")


def show(results: Results) -> None:
    for r in results.about():
        print(f"{r['subject']}: {r['why']} ({r['library']})\n    {r['settings']}")
    parts = [(title, some) for title, some in sections(results) if some]
    lines: list[tuple[str, list[list[str]]]] = []
    for title, some in parts:
        every = [row.cells() for row in some]
        names = list(dict.fromkeys(pattern(row.own) for row in some))
        means = [mean_cells(name, [row for row in some if pattern(row.own) == name]) for name in names if len(names) > 1]
        lines.append((title, [*every, *means, mean_cells("all", some)]))
    widths = columns([HEAD] + [cells for _, printed in lines for cells in printed])
    print("\n" + aligned(HEAD, widths))
    for title, printed in lines:
        print("-- " + title)
        for cells in printed:
            print(aligned(cells, widths))
    late = behind(results)
    print()
    for cells in late:
        print(aligned(cells, columns(late)))
    for cells in (other := designs(results)):
        print(("\n" if cells is other[0] else "") + aligned(cells, columns(other)))
    print(f"\nbehind in {len(late) - 1} of {sum(len(some) for _, some in parts)}")
    raw = [float(r["raw_ns"]) for r in results.records if r.get("raw_ns")]
    if raw:
        print(f"raw ping-pong while measuring: median {statistics.median(raw):.0f} ns one way (figures: {min(raw):.0f} to {max(raw):.0f})")


def panel(r: Record) -> str:
    """Vectors of each block are a curve of their own."""
    name, *numbers = str(r["case"]).split(":")
    return f"{name}:{numbers[0]}" if name == "vector" else name


def draw(results: Results, folder: pathlib.Path) -> list[pathlib.Path]:
    """Bytes a second over size, dirtied; Towline also packed by hand. Patterns of which several sizes were measured."""
    figures = [r | {"variant": "", "subject": r["subject"] if r["variant"] == "type" else "by_hand"} for r in results.find(mode="dirtied")
               if r["variant"] == "type" or (r["variant"] == "hand" and r["subject"] == "towline")]
    names = sorted({panel(r) for r in figures}, key=lambda name: (list(SIZES).index(name.partition(":")[0]), len(name), name))
    drawn: list[Panel] = [(name, [r for r in figures if panel(r) == name], True, True) for name in names]
    drawn = [p for p in drawn if len({r["size"] for r in p[1]}) > 1]
    return draw_panels({"layout": drawn}, folder) if drawn else []
