"""The MPI libraries that are measured: how each is started, with its default settings and with those that are best on one machine."""
from __future__ import annotations

import dataclasses
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEFORE = "towline-before"  # no peer: Towline as it was
Settings = tuple[tuple[str, str], ...]  # names and values


@dataclasses.dataclass(frozen=True)
class Places:
    """Where things were built or installed."""

    towline: pathlib.Path = ROOT / "build/release"
    peers: pathlib.Path = ROOT / "build/bench/peers"
    programs: pathlib.Path = ROOT / "build/bench/mpi"
    before: pathlib.Path | None = None  # where an older Towline was built, to be compared with


@dataclasses.dataclass(frozen=True)
class Subject:
    name: str
    build: str                      # which build of the programs: abi, mpich or openmpi
    launcher: pathlib.Path
    pair: tuple[str, ...] = ()      # options for two ranks, each bound to a processor of its own
    crowd: tuple[str, ...] = ()     # options for more ranks than processors
    environment: Settings = ()
    arguments: tuple[str, ...] = ()  # of the measured program
    alone: tuple[str, ...] = ()     # options for a program without MPI
    starts: bool = False            # start-up and many ranks are measured too
    crowds: bool = False            # collective operations of more ranks than processors are measured too
    library: pathlib.Path | None = None  # a file without which it is not there
    why: str = ""

    def command(self, ranks: int, program: pathlib.Path, *arguments: str, free: bool = False) -> list[str]:
        """`free`: bound to no processor, as many ranks are."""
        options = self.crowd if free or ranks > 2 else self.pair
        return [str(self.launcher), "-n", str(ranks), *options, str(program), *arguments]

    def surroundings(self) -> dict[str, str]:
        """The environment of the launcher."""
        return {**os.environ, **dict(self.environment)}

    def missing(self) -> str | None:
        """What is not there, or None."""
        for path in (self.launcher, self.library):
            if path is not None and not path.exists():
                return str(path)
        return None

    def settings(self) -> str:
        """How it is started, in one line."""
        if self.alone:
            return " ".join((self.launcher.name, *self.alone))
        words = [f"{name}={value}" for name, value in self.environment] + [self.launcher.name, "-n 2", *self.pair, *self.arguments]
        return " ".join(words).replace(str(ROOT) + "/", "")


def subjects(places: Places, cpus: tuple[int, int]) -> list[Subject]:
    """All of them, Towline first. `cpus`: the processors of rank 0 and 1."""
    listed = f"{cpus[0]},{cpus[1]}"
    mpich, intel, openmpi = (places.peers / name for name in ("mpich", "impi-rt", "openmpi"))
    mpich_pair = ("-bind-to", f"user:{listed}")
    no_yield = ("-genv", "LD_PRELOAD", str(places.programs / "noyield.so"))
    root = (("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"))
    ucx = tuple("--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any --mca osc ucx".split())
    more_ranks = ("--map-by", ":OVERSUBSCRIBE", "--bind-to", "none")

    def of_mpich(name: str, build: str, tuned: bool, starts: bool, why: str) -> Subject:
        abi = build == "abi"
        options = (*(no_yield if tuned else ()), *mpich_pair)
        return Subject(name, build, mpich / "bin/mpiexec", options, (), on_path(mpich) if abi else (), starts=starts, crowds=starts,
                       library=mpich / "lib" / ("libmpi_abi.so.1" if abi else "libmpi.so.12"), why=why)

    def of_intel(name: str, build: str, settings: Settings, arguments: tuple[str, ...], starts: bool, why: str) -> Subject:
        bound, free = ("-genv", "I_MPI_PIN_PROCESSOR_LIST", listed), ("-genv", "I_MPI_PIN", "0")
        environment = (("I_MPI_ROOT", str(intel)), *on_path(intel), *settings)
        return Subject(name, build, intel / "bin/mpiexec", bound, free, environment, arguments, starts=starts,
                       crowds=starts or bool(arguments), library=intel / "lib" / ("libmpi_abi.so.1" if build == "abi" else "libmpi.so.12"),
                       why=why)

    def of_openmpi(name: str, options: tuple[str, ...], settings: Settings, starts: bool, why: str) -> Subject:
        return Subject(name, "openmpi", openmpi / "bin/mpirun", ("--bind-to", "core", *options), (*more_ranks, *options),
                       (*root, *settings), starts=starts, crowds=starts, library=openmpi / "lib/libmpi.so.40", why=why)

    def of_towline(name: str, build: pathlib.Path, why: str) -> Subject:
        return Subject(name, "abi", build / "bin/mpiexec", ("-bind-to", "core"), environment=on_path(build), starts=True, crowds=True,
                       library=build / "lib/libmpi_abi.so.1", why=why)

    older = [of_towline(BEFORE, places.before, "an older build, default settings")] if places.before else []
    shm, heap = ("I_MPI_FABRICS", "shm"), ("I_MPI_SHM_HEAP", "1")
    return [
        of_towline("towline", places.towline, "default settings"),
        *older,
        of_mpich("mpich5", "abi", False, True, "default settings"),
        of_mpich("mpich5-tuned", "abi", True, False, "does not yield at every poll"),
        of_mpich("mpich5-native", "mpich", True, False, "the same, built with its own mpicc"),
        of_intel("impi2021", "abi", (), (), True, "default settings"),
        of_intel("impi2021-tuned", "abi", (shm,), (), True, "shared memory alone"),
        of_intel("impi2021-heap", "abi", (shm, heap), ("--allocate",), False, "the same, buffers from MPI_Alloc_mem in its shared heap"),
        of_intel("impi2021-native", "mpich", (shm,), (), False, "shared memory alone, its own ABI"),
        of_openmpi("ompi5", (), (), True, "default settings"),
        of_openmpi("ompi5-ucx", ucx, (("UCX_TLS", "posix,cma,self"),), True, "over UCX"),
    ]


def on_path(prefix: pathlib.Path) -> Settings:
    """Makes a program of the ABI run on the library that is installed there."""
    return (("LD_LIBRARY_PATH", str(prefix / "lib")),)
