"""What is measured: figures of two ranks, in groups that share a file of results."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator

KIB, MIB = 1 << 10, 1 << 20
INLINE_MOST = 48      # bytes that travel beside their flag, by hand
COLLECTIVES = ("barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall")
DATATYPES = ("contiguous", "vec8", "vec64", "vec512", "struct", "face")
GROUPS = ("latency", "stream", "posted", "collectives", "datatypes", "threads")


@dataclasses.dataclass(frozen=True)
class Variant:
    """One of several things that are measured by turns in the same rounds, so that their ratio is free of what drifts."""

    name: str       # empty where there is only one
    turn: str       # what bench.c is told
    threads: bool = False  # by the processes that run with MPI_THREAD_MULTIPLE


@dataclasses.dataclass(frozen=True)
class Case:
    group: str
    name: str
    size: int
    mode: str = "untouched"
    cache: str = "warm"
    several: tuple[Variant, ...] = ()

    def variants(self) -> tuple[Variant, ...]:
        return self.several or (Variant("", self.name),)

    def title(self) -> str:
        return f"{self.name} {self.size} {self.mode} {self.cache}"

    def limits(self) -> list[tuple[str, Variant]]:
        """Subject, and what limits.c is told, of the limits by hand that belong to it."""
        found = []
        if self.name in ("latency", "posted", "threads") and self.size <= INLINE_MOST and self.cache == "warm":
            found.append(("raw", Variant("", "raw")))
        if self.name in ("latency", "stream", *COLLECTIVES):
            found.append(("by_hand", Variant("one_copy" if self.name == "latency" else "", self.name)))
        if self.name == "latency" and self.size > INLINE_MOST:
            found.append(("by_hand", Variant("two_copies", "pipe")))
        if self.size > INLINE_MOST and self.group in ("latency", "stream", "collectives", "datatypes"):
            found.append(("memcpy", Variant("", "memcpy")))
        return found


def cases(quick: bool) -> Iterator[Case]:
    """Every figure of two ranks, in the order of measuring."""
    small = [8, 64, KIB, 4 * KIB, 8 * KIB]
    more = [256, 2 * KIB, 16 * KIB, 256 * KIB, 4 * MIB]
    sizes = sorted([0, *small, 64 * KIB, MIB] + ([] if quick else more))
    cold = [8, 8 * KIB, MIB] if quick else sizes[1:]
    for size in sizes:
        yield Case("latency", "latency", size)
        if size:
            yield Case("latency", "latency", size, "rewritten")
    for size in cold:
        for mode in ("untouched", "rewritten"):
            if not quick or mode == "rewritten":
                yield Case("latency", "latency", size, mode, "cold")
    for size in [8, KIB, 64 * KIB] if quick else [8, 64, KIB, 4 * KIB, 8 * KIB, 64 * KIB, MIB, 4 * MIB]:
        for mode in ("untouched",) if quick else ("untouched", "rewritten"):
            yield Case("stream", "stream", size, mode)
    yield Case("posted", "posted", 8, several=(Variant("0", "posted0"), Variant("256", "posted256")))
    yield Case("collectives", "barrier", 0)
    for name in COLLECTIVES[1:]:
        for size in [8, 64 * KIB] if quick else [8, 4 * KIB, 64 * KIB, MIB]:
            for mode in ("untouched",) if quick else ("untouched", "rewritten"):
                yield Case("collectives", name, size, mode)
    for name in DATATYPES[:-1] if quick else DATATYPES:
        for size in [64 * KIB] if quick else [4 * KIB, 64 * KIB] + ([MIB] if name != "face" else []):  # a face lies in 128 times its size
            yield Case("datatypes", "type_" + name, size)
    yield Case("threads", "threads", 8, several=(Variant("single", "latency"), Variant("multiple", "latency", True)))
