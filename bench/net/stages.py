"""What is measured between which hosts."""
from __future__ import annotations

import dataclasses

from mpi.cases import KIB, MIB, Case


@dataclasses.dataclass(frozen=True)
class Stage:
    """Ranks of every library that wait for their turns, and the cases in which they get them."""

    hosts: int
    each: int           # ranks of a host
    cases: tuple[Case, ...]
    room: int = 16      # MiB of the program's buffers
    networks: int = 1
    rate: str = ""      # of each, as tc reads it; empty: as fast as the machine goes
    without: tuple[str, ...] = ()  # libraries that do not start there

    def place(self) -> str:
        return f"{self.hosts} x {self.each}" + (f", {self.networks} x {self.rate}" if self.rate else "")


def of(names: tuple[str, ...], sizes: tuple[int, ...]) -> tuple[Case, ...]:
    return tuple(Case("net", name, size) for name in names for size in sizes)


COLLECTIVES = ("allreduce", "bcast", "alltoall")
SIZES = (8, 64 * KIB, 4 * MIB)
STREAMS = (64 * KIB, MIB, 16 * MIB)
CONNECTED = ((2, 16), (2, 32))  # hosts, ranks of each

NARROW = tuple(Stage(2, 1, of(("stream",), STREAMS), room=80, networks=n, rate="1gbit", without=("mpich5-ofi",)) for n in (1, 2))

STAGES = (
    Stage(2, 1, (*of(("latency",), (32,)), *of(("stream",), STREAMS)), room=80),
    Stage(2, 2, of(COLLECTIVES, SIZES)),
    Stage(4, 2, of(COLLECTIVES, SIZES), room=32),
    *NARROW,
)
