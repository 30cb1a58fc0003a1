"""The table of bench/net: medians, spreads, ratios, and what is asked for. Reads the JSON lines and nothing else."""
from __future__ import annotations

from collections.abc import Iterator

from mpi.records import Record, Results
from mpi.report import Row, ask, at_most, show_sections
from net.stages import COLLECTIVES, NARROW, SIZES, STAGES, STREAMS
from net.subjects import RXD
from table import ratio, size_name

BY_HAND = ("raw", "link", "tcp")
PLACES = ("2 x 1", "loopback")


def best(results: Results, **keys: object) -> Record | None:
    """Of the other libraries."""
    found = [r for r in results.find(**keys) if r["subject"] not in ("towline", *BY_HAND)]
    return found[0] if found else None


def times_of(own: Record | None, other: Record | None, bound: float) -> bool | None:
    """Whether `own` takes at most so many times as long."""
    return at_most(ratio(own, other), bound)


def between(results: Results) -> Iterator[Row]:
    """MPI between two hosts, one rank each."""
    place = STAGES[0].place()
    if own := results.one(case="latency", place=place, subject="towline"):
        row = Row("one way, 32 B", own, best(results, case="latency", place=place),
                  results.one(case="message", place=place, size=32, subject="raw"))
        ask(row, peer=1)
        yield row
    for size in STREAMS:
        if own := results.one(case="stream", place=place, size=size, subject="towline"):
            row = Row(f"each of a window, {size_name(size)}", own, best(results, case="stream", place=place, size=size),
                      results.one(case="stream", place=place, size=size, subject="tcp"))
            ask(row, peer=1)
            yield row
            row = Row("  beside libfabric's reliable datagrams", own, results.one(case="stream", place=place, size=size, subject=RXD))
            ask(row, peer=0.1)
            yield row


def narrow(results: Results) -> Iterator[Row]:
    """Networks of limited rate; two of them beside one."""
    one, two = (stage.place() for stage in NARROW)
    for size in STREAMS:
        for place, limit in ((one, None), (two, results.one(case="stream", place=one, size=size, subject="towline"))):
            if own := results.one(case="stream", place=place, size=size, subject="towline"):
                row = Row(f"each of a window, {size_name(size)}, {place}", own, best(results, case="stream", place=place, size=size), limit)
                ask(row, peer=1.02)  # both fill the line
                yield row


def collectives(results: Results) -> Iterator[Row]:
    for stage in (s for s in STAGES if s.each > 1):
        for name in COLLECTIVES:
            for size in SIZES:
                if own := results.one(case=name, place=stage.place(), size=size, subject="towline"):
                    row = Row(f"{name}, {size_name(size)}, {stage.place()}", own, best(results, case=name, place=stage.place(), size=size))
                    ask(row, peer=1 / 1.5 if size >= 64 << 10 else 1)
                    yield row


def meetings(results: Results) -> Iterator[Row]:
    titles = {"start_and_end": "start, meet, end", "connect": "all meet all", "connected": "  the same again", "memory": "memory of a rank"}
    sizes = sorted({r["size"] for r in results.find(case="connect", subject="towline")})
    for size in sizes:
        for case, title in titles.items():
            if own := results.one(case=case, size=size, subject="towline"):
                row = Row(f"{title}, {size} ranks", own, best(results, case=case, size=size))
                ask(row, peer=1)
                yield row
    few, many = (results.one(case="connect", size=size, subject="towline") for size in (sizes[:1] + [0])[:1] + (sizes[1:2] or [0]))
    if few and many:
        messages = many["size"] * (many["size"] - 1) / (few["size"] * (few["size"] - 1))
        row = Row(f"all meet all, {many['size']} ranks (peer: {few['size']})", many, few)
        row.asked, row.reached = f"<= {1.5 * messages:.1f} x (messages: {messages:.1f} x)", times_of(many, few, 1.5 * messages)
        yield row


def sockets(results: Results) -> Iterator[Row]:
    """The transport beside sockets by hand: a limit is raw UDP with offload, a peer TCP."""
    for place in PLACES:
        for variant in ("", "encrypted", "bare"):
            if own := results.one(case="message", place=place, size=32, subject="towline", variant=variant):
                row = Row(f"one way, 32 B, {place}{', ' * bool(variant)}{variant}", own,
                          results.one(case="message", place=place, size=32, subject="tcp"),
                          results.one(case="message", place=place, size=32, subject="raw"))
                if not variant:
                    ask(row, limit=1.25)
                    row.asked = "<= 1.25 x raw UDP"
                yield row
        for size in STREAMS:
            for variant in ("lent", "copied", "encrypted"):
                if own := results.one(case="stream", place=place, size=size, subject="towline", variant=variant):
                    row = Row(f"stream, {size_name(size)}, {place}, {variant}", own,
                              results.one(case="stream", place=place, size=size, subject="tcp"),
                              results.one(case="stream", place=place, size=size, subject="raw", variant="offload"))
                    if variant == "lent":
                        ask(row, limit=1 / 0.8, peer=1 / 1.1)
                        row.asked = ">= 0.8 x raw UDP, 1.1 x TCP"
                    yield row


def prices(results: Results) -> Iterator[Row]:
    """What the protocol costs: beside the bare link, and beside the transport with its protocol off."""
    for place in PLACES:
        for case, size, variant, title in (("message", 32, "", "one way, 32 B"), *(("stream", s, "copied", f"stream, {size_name(s)}")
                                                                                 for s in STREAMS)):
            own = results.one(case=case, place=place, size=size, subject="towline", variant=variant)
            link = results.one(case=case, place=place, size=size, subject="link")
            bare = results.one(case=case, place=place, size=size, subject="towline", variant="bare")
            if own and link:
                row = Row(f"{title}, {place} (peer: protocol off)", own, bare, link)
                row.asked, row.reached = "<= 1.15 x link", times_of(own, link, 1.15)
                row.short = ratio(own, link) or 1
                row.short /= 1.15
                yield row


def losses(results: Results) -> Iterator[Row]:
    """Goodput behind a link that loses packets of both sides, relative to the same link that loses none."""
    for place in PLACES:
        for size in STREAMS:
            none = results.one(case="stream", place=place, size=size, subject="towline", variant="loss0")
            for percent, least in ((1, 0.9), (5, 0.6), (20, 0.2)):
                own = results.one(case="stream", place=place, size=size, subject="towline", variant=f"loss{percent}")
                if own and none:
                    row = Row(f"stream, {size_name(size)}, {percent} % lost, {place}", own, None, none, f">= {least} x none lost",
                              times_of(own, none, 1 / least))
                    row.short = (ratio(own, none) or 1) * least
                    yield row


def crowds(results: Results) -> Iterator[Row]:
    asked = {"incast_drops": ("datagrams without room, after 10 ms", "0", lambda x: x == 0),
             "incast_goodput": ("goodput of the receiver's rate", ">= 90 %", lambda x: x >= 90),
             "incast_unfairness": ("unfairness: (most - mean) / mean", "<= 20 %", lambda x: x <= 20)}
    for case, (title, bound, good) in asked.items():
        if own := results.one(case=case):
            yield Row(title, own, None, None, bound, good(own["median"]))


SECTIONS = (("MPI between two hosts (peers over TCP; limit: sockets)", between),
            ("Networks of 1 Gbit/s (limit: one of them)", narrow),
            ("Collective operations (hosts x ranks, two processors)", collectives),
            ("Ranks that meet, on two hosts", meetings),
            ("The transport beside sockets (peer: TCP; limit: UDP with offload)", sockets),
            ("Price of reliability (limit: the bare link)", prices),
            ("Loss (limit: the same link without)", losses),
            ("16 senders to one slow receiver", crowds))


def show(results: Results, strict: bool = False) -> int:
    judged = [r for r in show_sections(results, SECTIONS) if r.reached is not None]
    missed = [r for r in judged if not r.reached]
    print(f"\n{len(judged) - len(missed)} of {len(judged)} reached")
    return 1 if strict and missed else 0


