"""Where things lie: the project, what was built of it, and the folder for all that the suites fetch and build."""

import os
import pathlib

PROJECT = pathlib.Path(__file__).resolve().parents[2]
HERE = PROJECT / "tests" / "suites"
# Environment BUILD: another build of the project, such as build/asan.
BUILD = pathlib.Path(os.environ.get("BUILD", PROJECT / "build" / "release")).resolve()
WORK = PROJECT / "build" / "suites"
RESULTS = WORK / "results"

MPICC = BUILD / "bin" / "mpicc"
MPIEXEC = BUILD / "bin" / "mpiexec"
TOWLINE = BUILD / "bin" / "towline"
# Two names of this machine: nodes that share no memory, with two ranks each, between which messages go by UDP.
HOSTS = "localhost:2,127.0.0.1:2"
LIBRARY = BUILD / "lib" / "libmpi_abi.so.1"


def launcher(hosts: bool, limit: float, ranks: int) -> list[str | pathlib.Path]:
    """What starts so many ranks, and ends them with exit code 124 after so many seconds; mpiexec takes names of this machine for no nodes."""
    if hosts:
        return [TOWLINE, "run", "--hosts", HOSTS, "--timeout", str(limit), "-n", str(ranks)]
    return [MPIEXEC, "-timeout", str(limit), "-n", str(ranks)]


def environment(**more: str) -> dict[str, str]:
    """What programs run in: nothing of a job around us, no settings of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TOWLINE_")} | more
