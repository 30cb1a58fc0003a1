"""Which processes measure which groups: how many ranks, on which processors, of which subjects."""
from __future__ import annotations

import dataclasses
import pathlib

from mpi.cases import CROWD
from mpi.peers import program
from mpi.subjects import BEFORE, Places, Subject

BEST = ("towline", BEFORE, "mpich5", "impi2021-tuned", "ompi5-ucx")  # threads that outnumber processors: yielding at every poll is best
QUICK = ("towline", BEFORE, "impi2021-tuned", "ompi5-ucx")  # alone in all stages but the first, where there is little time


@dataclasses.dataclass(frozen=True)
class Stage:
    """Processes that are started together and wait for their turns, and the groups that they measure."""

    groups: tuple[str, ...]
    ranks: int = 2
    processors: int = 2          # of the two; with fewer than ranks nobody is bound to one of them
    threads: tuple[bool, ...] = (False,)  # processes without and with MPI_THREAD_MULTIPLE
    among: tuple[str, ...] = ()  # these subjects alone, if any
    allocators: bool = False     # Towline and glibc, a program without MPI
    more: int = 1                # times as many rounds
    batch: float = 25e-6         # seconds of the shortest batch
    measured: str = "bench"      # the program

    def bound(self) -> bool:
        return self.ranks <= self.processors

    def cpus(self, both: tuple[int, int]) -> tuple[int, ...]:
        return both[:self.processors]

    def program(self, places: Places, subject: Subject) -> pathlib.Path:
        return places.programs / "churn" if self.allocators else program(places, subject.build, self.measured)

    def subjects(self, everyone: list[Subject], both: tuple[int, int], quick: bool) -> list[Subject]:
        if self.allocators:
            glibc = Subject("glibc", "plain", pathlib.Path("/usr/bin/taskset"), alone=("-c", str(both[0])), why="without Towline")
            return [s for s in everyone if s.name == "towline"] + [glibc]
        first = self is STAGES[0]
        return [s for s in everyone if (self.bound() or s.crowds) and (first or not quick or s.name in QUICK)
                and (not self.among or s.name in self.among)]

    def command(self, subject: Subject, program: pathlib.Path, both: tuple[int, int], *arguments: str) -> list[str]:
        if self.allocators and subject.name == "glibc":
            return [str(subject.launcher), *subject.alone, str(program), *arguments]
        if self.bound():
            return subject.command(self.ranks, program, *arguments)
        processors = ",".join(str(cpu) for cpu in self.cpus(both))
        return ["taskset", "-c", processors, *subject.command(self.ranks, program, *arguments, free=True)]


# The allocator's figure is asked for within 2 %: it needs many rounds. Ranks without a processor each come to an end late;
# threads that share one get turns of it.
STAGES = (
    Stage(("latency", "stream", "posted", "collectives", "datatypes")),
    Stage(("threads",), threads=(False, True)),
    Stage(("many_threads",), threads=(True,), among=BEST, batch=4e-3),
    Stage(("crowded", "mixed"), ranks=CROWD, batch=400e-6),
    Stage(("hop",), processors=1, batch=100e-6),
    Stage(("allocator",), ranks=1, processors=1, allocators=True, more=4),
)
