#!/usr/bin/env python3
"""Prints one table of what was measured, against the limits, the other libraries and what is asked for. Reads the JSON lines that the
benchmarks wrote (DIR/*.jsonl) and bench/quoted.jsonl (figures taken over from elsewhere, marked as quoted), and nothing else."""
import argparse
import json
import pathlib
import statistics
import sys
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
LIMITS = {"raw", "ring", "memcpy", "vm_readv", "push", "pull", "in_place", "append", "original"}
SINGLE_COPIES = ("vm_readv", "push", "pull")
SLOW_PEERS = ("grpc", "capnp", "zeromq")
KIB, MIB = 1 << 10, 1 << 20


def load(folder):
    records = []
    for path in sorted(folder.glob("*.jsonl")) + [HERE / "quoted.jsonl"]:
        if path.exists() and not path.name.startswith(("mpi_", "net_")):  # those are bench/mpi's and bench/net's
            for number, line in enumerate(path.read_text().splitlines(), 1):
                try:
                    records.append({"variant": "", "mode": "untouched", "quoted": False, "file": path.stem} | json.loads(line))
                except json.JSONDecodeError as e:
                    sys.exit(f"{path}:{number}: not a JSON line: {e}")
    return records


class Records:
    def __init__(self, records):
        self.records = records

    def find(self, **keys):
        """Those whose keys have these values (or one of them, where a tuple is given), best first; quoted ones only if asked for."""
        keys = {"quoted": False} | keys
        match = lambda r, k, v: r.get(k) in v if isinstance(v, tuple) else r.get(k) == v
        return sorted((r for r in self.records if all(match(r, k, v) for k, v in keys.items())), key=lambda r: r["median"])

    def best(self, **keys):
        found = self.find(**keys)
        return found[0] if found else None


def ratio(a: "dict[str, Any] | None", b: "dict[str, Any] | None") -> "float | None":
    """How many times b is a: the median over the rounds in which both were measured, so that what drifts cancels."""
    if not a or not b:
        return None
    pairs = list(zip(a.get("rounds", []), b.get("rounds", [])))
    return statistics.median(x / y for x, y in pairs) if len(pairs) > 2 else a["median"] / b["median"]


def duration(record: "dict[str, Any] | None", key: str = "median") -> str:
    if not record:
        return "-"
    value = record[key] * {"s": 1e6, "us": 1, "ns": 1e-3}[record["unit"]]
    for limit, unit, factor in ((1, "ns", 1e3), (1e3, "us", 1), (1e6, "ms", 1e-3)):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e-6:.3g} s"


def size_name(n: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", MIB), ("KiB", KIB)):
        if n >= factor:
            return f"{n // factor} {unit}"
    return f"{n} B"


def name(record):
    return record["subject"] + ("/" + record["variant"] if record["variant"] else "") if record else "-"


class Row:
    """A line of the table. `reached` is None where nothing is asked for or nothing can be said."""

    def __init__(self, title, record, limit=None, peer=None, asked="", factor=None, reached=None):
        self.title, self.record, self.limit, self.peer = title, record, limit, peer
        self.factor = factor if factor is not None else ratio(record, limit)
        self.asked, self.reached = asked, reached

    def cells(self):
        s = {True: "yes", False: "NO", None: ""}[self.reached]
        r = self.record
        return [self.title, duration(r), duration(r, "min"), duration(r, "p90"), f"{duration(self.limit)} {name(self.limit)}" if self.limit else "",
                f"{duration(self.peer)} {name(self.peer)}" if self.peer else "", f"{self.factor:.2f}" if self.factor else "", self.asked, s]


def at_most(value, bound):
    return None if value is None else value <= bound


def messages(data):
    for size in (8, 16, 32):
        own, raw = data.best(bench="message", case="message", size=size, subject="towline"), data.best(bench="message", case="message", size=(size, 8), subject="raw")
        if own:
            yield Row(f"engine message, {size} B, one way", own, raw, asked="<= 1.3 x raw", reached=at_most(ratio(own, raw), 1.3))
    own = data.best(bench="message", case="rate", subject="towline")
    if own:
        yield Row("engine messages of 8 B, each", own, data.best(bench="message", case="rate", subject="ring"))


def calls(data):
    limits = {"null_call": "raw", "outstanding64": "ring"}
    for case, title in (("null_call", "null call, round trip"), ("outstanding64", "64 calls outstanding, each")):
        limit = data.best(bench="call", case=case, subject=limits[case])
        peers = [r for r in data.find(bench="call", case=case) if r["subject"] not in LIMITS | {"towline"}]
        for own in data.find(bench="call", case=case, subject="towline"):
            small = own["variant"] == "small"
            asked = {"null_call": "<= 1.6 x raw", "outstanding64": "<= 0.1 us"}[case] if small else ""
            reached = None
            if small and limit:
                reached = ratio(own, limit) <= 1.6 if case == "null_call" else own["median"] <= 0.1
            yield Row(f"{title} ({own['variant']})", own, limit, peers[0] if peers else None, asked, reached=reached)
        own = data.best(bench="call", case=case, subject="towline", variant="small")
        for peer in SLOW_PEERS if case == "null_call" else ():
            other = data.best(bench="call", case=case, subject=peer)
            if own and other:
                times = ratio(other, own)
                yield Row(f"  {peer} over it", own, None, other, ">= 100 x", times, times >= 100)


def handovers(data):
    for own in sorted(data.find(bench="handover", case="handover", subject="towline"), key=lambda r: (r["mode"] != "untouched", r["size"])):
        same = {"bench": "handover", "case": "handover", "size": own["size"], "mode": own["mode"]}
        peer = data.best(**same, subject="iceoryx2")
        title = f"rma_vector there and back, {size_name(own['size'])}, {own['mode']} ({own['variant']})"
        if own["mode"] == "untouched":
            call = data.best(bench="handover", case="null_call", subject="towline", variant=own["variant"])
            yield Row(title, own, call, peer, "<= 1.3 x null call", reached=at_most(ratio(own, call), 1.3))
        else:
            yield Row(title, own, data.best(**same, subject="in_place"), peer)


def teams(data):
    """Of two ranks, back to back; `make bench-mpi` has the same operations of the MPI face, beside its peers."""
    raw = data.best(bench="message", case="message", subject="raw")
    for own in data.find(bench="team", subject="towline"):
        yield Row(f"team, {own['case']}" + (f", {size_name(own['size'])}" if own["size"] else ""), own, raw if own["size"] <= 8 else None)


def arguments(data):
    for own in sorted(data.find(bench="argument", case="argument", subject="towline"), key=lambda r: (r["variant"], r["mode"] != "untouched", r["size"])):
        same = {"bench": "argument", "case": "argument", "size": own["size"], "mode": own["mode"]}
        limit, loan = data.best(**same, subject=SINGLE_COPIES), data.best(**same, subject="iceoryx2")
        r = ratio(own, limit)
        reached = None if r is None else r <= 1.1 and (loan is None or own["median"] <= loan["median"])
        yield Row(f"{own['variant']}, {size_name(own['size'])}, {own['mode']}", own, limit, loan, "<= 1.1 x one copy, < iceoryx2", r, reached)
    for mode in ("untouched", "rewritten"):
        own = data.best(bench="argument", case="argument", subject="towline", variant=("vector", "vector_span"), size=MIB, mode=mode)
        for peer in SLOW_PEERS:
            other = data.best(bench="argument", case="argument", subject=peer, size=MIB, mode=mode)
            if own and other:
                times = ratio(other, own)
                yield Row(f"  {peer} over {own['variant']}, 1 MiB, {mode}", own, None, other, ">= 10 x", times, times >= 10)


def serialization(data):
    """Messages A and B, against appending by hand (view: against reading the original); peers are the other serializers."""
    bounds = {"A.serialize": 1.0, "B.serialize": 1.05, "A.decode_reused": 0.72, "B.decode_reused": 0.72, "A.view": 1.1, "B.view": 1.1}
    for own in sorted(data.find(bench="serialize", subject="towline"), key=lambda r: r["case"]):
        limit = data.best(bench="serialize", case=own["case"], subject=("append", "original"))
        peers = [r for r in data.find(bench="serialize", case=own["case"]) if r["subject"] not in LIMITS | {"towline"}]
        bound, r = bounds.get(own["case"]), ratio(own, limit)
        asked = f"<= {bound} x by hand, first" if bound else "first"
        reached = None
        if peers or bound and r:
            reached = (not peers or own["median"] <= peers[0]["median"]) and (not bound or r is None or r <= bound)
        yield Row(f"message {own['case'].replace('.', ', ').replace('_', ' ')} ({own['size']} B)", own, limit, peers[0] if peers else None, asked, r, reached)
        reading = data.best(bench="serialize", case=own["case"][:2] + "view", subject="original")
        if own["case"].endswith("decode_reused") and limit and reading:
            alone = (own["median"] - reading["median"]) / (limit["median"] - reading["median"])
            yield Row("  without the reading of the fields, which is the same for both", None, factor=alone)


def compiling(data):
    for case, title, bound in (("hello", "compiling 01_hello", 3), ("library", "building the library, 2 cores", 90)):
        own = data.best(bench="compile", case=case, subject="towline")
        if own:
            yield Row(title, own, asked=f"<= {bound} s", reached=own["median"] <= bound)


SECTIONS = (("Messages", messages), ("Calls", calls), ("Hand-over", handovers), ("Teams", teams), ("One argument", arguments), ("Serialization", serialization),
            ("Compiling", compiling))
HEAD = ["figure", "median", "min", "p90", "limit", "best peer", "ratio", "asked", "reached"]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("folder", nargs="?", type=pathlib.Path, default=HERE.parent / "build/bench", help="where the JSON lines are (default build/bench)")
    p.add_argument("--markdown", action="store_true", help="as a Markdown table")
    p.add_argument("--strict", action="store_true", help="end with 1 if something asked for is not reached")
    options = p.parse_args()
    data = Records(load(options.folder))
    if not data.find():
        sys.exit(f"no figures in {options.folder}: run `make bench`")
    sections = [(title, list(rows(data))) for title, rows in SECTIONS]
    everything = [r for _, rows in sections for r in rows]
    widths = [max([len(h)] + [len(r.cells()[i]) for r in everything]) for i, h in enumerate(HEAD)]
    if options.markdown:
        show = lambda cells: "| " + " | ".join(cells) + " |"
        print(show(HEAD) + "\n" + show(["---"] * len(HEAD)))
    else:
        show = lambda cells: "  ".join(c.ljust(w) for c, w in zip(cells, widths)).rstrip()
        print(show(HEAD))
    for title, rows in sections:
        if rows:
            print(show([f"**{title}**"] + [""] * (len(HEAD) - 1)) if options.markdown else f"-- {title}")
            for r in rows:
                print(show(r.cells()))
    raw = [r["raw_ns"] for r in data.records if r.get("raw_ns") and not r["quoted"]]
    if raw:
        print(f"\nraw ping-pong while measuring: median {statistics.median(raw):.0f} ns one way (figures: {min(raw):.0f} to {max(raw):.0f})")
    quoted = data.find(quoted=True)
    if quoted:
        print("quoted, not measured here (another machine; x raw: in raw ping-pongs of its own run):")
        for r in sorted(quoted, key=lambda r: (r["case"], r["size"], r["mode"])):
            print(f"  {r['case']} {size_name(r['size'])} {r['mode']}: {name(r)} {duration(r)}, {r['median'] * 1000 / r['raw_ns']:.3g} x raw")
    judged = [r for r in everything if r.reached is not None]
    missed = [r for r in judged if not r.reached]
    print(f"{len(judged) - len(missed)} of {len(judged)} reached")
    return 1 if options.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
