"""What is measured, in groups that share a file of results. dense.py has the whole grid."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator

KIB, MIB = 1 << 10, 1 << 20
INLINE_MOST = 48      # bytes that travel beside their flag, by hand
COLLECTIVES = ("barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall", "scatter", "gather", "reduce_scatter", "scan",
               "allgatherv", "alltoallv", "scatterv", "gatherv", "neighbor_alltoall")
BY_LISTS = {name + "v": name for name in ("allgather", "alltoall", "scatter", "gather")}  # by hand they are the same
IN_PARTS = ("bcast", "reduce", "allreduce")  # by hand also so that each rank does half for both
DATATYPES = ("contiguous", "vec8", "vec64", "vec512", "struct", "face")
CROWD = 4             # ranks on two processors
GROUPS = ("latency", "stream", "posted", "collectives", "datatypes", "threads", "many_threads", "crowded", "mixed", "hop", "allocator")
MEMORIES = ("heap", "small", "stack", "static")  # where buffers lie (turn.h)
ROOM = {"small": 64 * KIB - 1, "stack": 2 * MIB, "static": 16 * MIB}  # bytes of a buffer, at most (bench_memory.h)
THREADS = (1, 2, 4)   # of a rank, at the same time
PAIRINGS = {"own": "a communicator each", "tag": "a tag each", "any": "a tag each, any source"}  # bench_threads.h
BESIDE_BARRIER = ("bcast", "alltoall", "allreduce")


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
    memory: str = "heap"
    several: tuple[Variant, ...] = ()

    def variants(self) -> tuple[Variant, ...]:
        return self.several or (Variant("", self.name),)

    def title(self) -> str:
        return f"{self.name} {self.size} {self.mode} {self.cache} {self.memory}"

    def fits(self) -> bool:
        """Whether two ranks' memory of this kind has room for it. Each message of a window is a small block of its own."""
        blocks = 2 if self.name.startswith("alltoall") else window(self.size) if self.name == "stream" and self.memory != "small" else 1
        return self.memory not in ROOM or blocks * self.size <= ROOM[self.memory]

    def limits(self) -> list[tuple[str, Variant]]:
        """Subject, and what limits.c is told, of the limits by hand that belong to it. By hand memory is shared: one kind."""
        found, big = [], self.size > INLINE_MOST
        if self.memory != "heap":
            return []
        if self.name in ("latency", "posted", "threads") and not big and self.cache == "warm" or self.name == "barrier":
            found.append(("raw", Variant("", "raw")))
        if self.name == "latency":
            ways = {"one_copy": "pull", "both": "both", "two_copies": "pipe"} if big else {"one_copy": "pull"}
            if self.size >= 64 * KIB:
                ways["past_caches"] = "both_past"
            if big and self.mode != "untouched":  # else nobody writes those lines again
                ways["taking"] = "taking"
            if big and self.mode == "rewritten":  # else nobody reads what was pushed, and no line crosses
                ways["push"] = "push"
            found += [("by_hand", Variant(name, turn)) for name, turn in ways.items()]
        if self.name == "stream":
            ways = {"one_copy": "stream"} | ({"both": "stream_both"} if big else {})
            if self.size >= 64 * KIB:
                ways["past_caches"] = "stream_past"
            found += [("by_hand", Variant(name, turn)) for name, turn in ways.items()]
        if self.name in COLLECTIVES and self.name != "neighbor_alltoall":
            found.append(("by_hand", Variant("whole" if self.name in IN_PARTS and big else "", BY_LISTS.get(self.name, self.name))))
            if self.name in IN_PARTS and big:
                found.append(("by_hand", Variant("parts", self.name + "_parts")))
        if self.name == "hop":
            found += [("by_hand", Variant(way, "hop_" + way)) for way in ("yield", "futex")]
        if big and self.group in ("latency", "stream", "datatypes"):
            found.append(("memcpy", Variant("", "memcpy")))
        return found

    def seconds(self) -> float:
        """What the shortest turn takes at least, about: two batches of one operation, and what warms up and checks."""
        moved = window(self.size) if self.name.endswith("stream") else 2
        return 4 * moved * self.size / 4e9 * (4 if self.group in ("crowded", "mixed", "many_threads") else 1)


def window(size: int) -> int:
    """Messages of a window (turn.h)."""
    return 64 if size < MIB else 16 if size < 4 * MIB else 8 if size < 16 * MIB else 4


def cases(quick: bool) -> Iterator[Case]:
    """Every figure, in the order of measuring."""
    yield from messages(quick)
    for mode in () if quick else ("untouched", "rewritten"):
        for size in (256, 2 * KIB, 8 * KIB, 64 * KIB, MIB):
            yield Case("latency", "latency", size, mode, memory="static")
    for size in [8, KIB, 64 * KIB, MIB] if quick else [8, 64, KIB, 4 * KIB, 8 * KIB, 64 * KIB, MIB, 4 * MIB, 16 * MIB]:
        yield Case("stream", "stream", size)
    for size in [] if quick else [8, 4 * KIB, 64 * KIB, MIB]:
        yield Case("stream", "stream", size, "rewritten")
    yield Case("posted", "posted", 8, several=(Variant("0", "posted0"), Variant("256", "posted256")))
    yield from collectives(quick)
    for name in () if quick else ("bcast_barrier", "allreduce"):
        for size in (4 * KIB, 64 * KIB, MIB):
            yield Case("collectives", name, size, memory="static")
    yield from mixed([64 * KIB] if quick else [4 * KIB, 64 * KIB], [] if quick else [64 * KIB])
    for name in DATATYPES[:-1] if quick else DATATYPES:
        for size in [64 * KIB] if quick else [4 * KIB, 64 * KIB] + ([MIB] if name != "face" else []):  # a face lies in 128 times its size
            yield Case("datatypes", "type_" + name, size)
    yield Case("threads", "threads", 8, several=(Variant("single", "latency"), Variant("multiple", "latency", True)))
    yield from many_threads(quick)
    yield Case("hop", "hop", 8, several=(Variant("", "latency"),))
    yield Case("allocator", "churn", 0)


def messages(quick: bool) -> Iterator[Case]:
    most = 16 * MIB
    everything = [8, 64, 256, KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, most]
    big = [size for size in everything if size >= 4 * KIB]
    for size in [0, 8, 64, KIB, 4 * KIB, 8 * KIB, 64 * KIB, MIB] if quick else [0, *everything]:
        yield Case("latency", "latency", size)
    for size in [8, KIB, 8 * KIB, 64 * KIB] if quick else everything:
        yield Case("latency", "latency", size, "rewritten")
    for size in [4 * KIB, 64 * KIB, MIB] if quick else big:
        yield Case("latency", "latency", size, "dirtied")
    for size in [64 * KIB, MIB] if quick else [8, 64, KIB, *big]:
        yield Case("latency", "latency", size, cache="cold")
    for size in [] if quick else [8, 8 * KIB, 64 * KIB, MIB]:
        yield Case("latency", "latency", size, "rewritten", "cold")


def many_threads(quick: bool) -> Iterator[Case]:
    """Several threads of each rank; on few processors more than these."""
    for kind in ("latency", "stream"):
        for pairing in ("own",) if quick else PAIRINGS:
            for size in [8] if quick or pairing == "any" else [8, KIB, 16 * KIB]:
                variants = tuple(Variant(str(n), f"threads{n}_{pairing}_{kind}", True) for n in THREADS)
                yield Case("many_threads", f"threads_{pairing}_{kind}", size, several=variants)


def collectives(quick: bool) -> Iterator[Case]:
    """Of two ranks, each on its processor, and of more than there are processors."""
    for group, after in ("collectives", ""), ("crowded", str(CROWD)):
        two = group == "collectives"
        some = [name for name in COLLECTIVES if name not in BY_LISTS or name == "alltoallv"]
        for name in COLLECTIVES if not quick else some if two else ("barrier", "allreduce", "bcast"):
            listed = name in BY_LISTS  # they do what those without lists do
            sizes = [0] if name == "barrier" else [8] if quick and not two else [8, 64 * KIB]
            sizes += [4 * KIB, MIB] if not (quick or listed or name == "barrier") else []
            if two and not quick and name in IN_PARTS:
                sizes.append(4 * MIB)
            for size in sizes:
                yield Case(group, name + after, size, several=() if two else (Variant("", name),))
            if two and not quick and name in ("bcast", "reduce", "allreduce", "allgather", "alltoall"):
                for size in 64 * KIB, MIB:
                    yield Case(group, name, size, "rewritten")


def mixed(whole: list[int], beside: list[int]) -> Iterator[Case]:
    """Iterations of more ranks than there are processors; those with a barrier whole, and of the same the operation alone."""
    for size in whole:
        yield Case("mixed", f"mixed{CROWD}", size, "rewritten", several=(Variant("", "mixed"),))
    for name in BESIDE_BARRIER:
        for size in beside:
            both = (Variant("whole", name + "_barrier"), Variant("alone", name + "_alone"))
            yield Case("mixed", f"{name}_barrier{CROWD}", size, several=both)
