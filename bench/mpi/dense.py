"""The whole grid: every size, from every memory. It takes hours; meant for a look at one corner (--only, --sizes, --subjects)."""
from __future__ import annotations

from collections.abc import Iterator

from mpi.cases import COLLECTIVES, KIB, MEMORIES, MIB, Case, cases, mixed

SIZES = tuple(sorted([1 << k for k in range(3, 25)] + [3 << k for k in range(7, 19)]))  # and those between, of 256 B to 1 MiB
FIRST_SIZES = (4 * KIB, 64 * KIB)
MOST = 4 * MIB  # of a collective operation that is measured from the heap alone


def dense(asked: frozenset[int] = frozenset()) -> Iterator[Case]:
    """What cases() has, then the grid, at the sizes that were asked for too."""
    known = dict.fromkeys(cases(False))
    yield from known
    yield from (c for c in dict.fromkeys(grid(sorted({*SIZES, *asked} - {0}))) if c.fits() and c not in known)


def grid(sizes: list[int]) -> Iterator[Case]:
    for memory in MEMORIES:
        for mode in ("untouched", "rewritten", "dirtied") if memory == "heap" else ("untouched", "rewritten"):
            yield from (Case("latency", "latency", size, mode, memory=memory) for size in sizes)
        for mode in ("untouched", "rewritten"):
            yield from (Case("stream", "stream", size, mode, memory=memory) for size in sizes)
    whole = [size for size in sizes if size % 8 == 0]  # data of these are doubles, or blocks that begin at a word
    for memory in MEMORIES:
        for mode in ("untouched", "rewritten"):
            for name in ("bcast_barrier", "allreduce", "alltoall"):
                yield from (Case("collectives", name, size, mode, memory=memory) for size in whole)
    for name in COLLECTIVES:
        yield from (Case("collectives", name, size) for size in whole if name != "barrier" and size <= MOST)
    yield from mixed([8, 4 * KIB, 64 * KIB, MIB], [8, 4 * KIB, 64 * KIB, MIB])
    yield from firsts()


def firsts() -> Iterator[Case]:
    """The first messages of processes that are started for them; not by turns."""
    for memory in MEMORIES:
        yield from (Case("first", "first", size, "rewritten", memory=memory) for size in FIRST_SIZES)
