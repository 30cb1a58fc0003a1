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
LIBRARY = BUILD / "lib" / "libmpi_abi.so.1"


def environment(**more: str) -> dict[str, str]:
    """What programs run in: nothing of a job around us, no settings of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TOWLINE_")} | more
