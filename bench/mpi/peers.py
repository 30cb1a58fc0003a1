"""Gets the other MPI libraries into build/bench/peers, and builds the measured programs into build/bench/mpi: once with the ABI, once with
the compiler wrapper of each library that has an ABI of its own. What cannot be had is told in a line and left out."""
from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import venv

from mpi.subjects import ROOT, Places

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = ["-O3", "-march=native", "-std=c11", "-Wall", "-Wextra", "-pthread"]
PROGRAMS = ("bench", "hello", "overlap")
FOLDERS = (HERE, HERE.parent / "layout", HERE.parent / "net")  # of the measured programs


def requirements() -> dict[str, str]:
    """Name of a package -> what pip is asked for."""
    lines = (HERE / "requirements.txt").read_text().splitlines()
    wanted = [line.split("#")[0].strip() for line in lines]
    return {w.split("==")[0]: w for w in wanted if w}


def install(places: Places) -> list[str]:
    """Puts each library into a folder of its own; returns a line for each that could not be had."""
    missing = []
    for name, wanted in requirements().items():
        folder = places.peers / name
        done = folder / "installed.txt"
        if done.exists() and done.read_text() == wanted:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        # --no-deps: Intel's asks for a libfabric that the index lacks, and needs none here.
        asked = [str(folder / "bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", wanted]
        try:
            venv.create(folder, with_pip=True)
            subprocess.run(asked, capture_output=True, text=True, check=True)
            done.write_text(wanted)
        except (subprocess.CalledProcessError, OSError) as e:
            shutil.rmtree(folder, ignore_errors=True)
            told = e.stderr if isinstance(e, subprocess.CalledProcessError) and isinstance(e.stderr, str) else str(e)
            missing.append(f"{wanted} could not be installed: {last_line(told)}")
    return missing


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no word why"


def wrappers(places: Places) -> dict[str, pathlib.Path]:
    """Build -> compiler wrapper."""
    return {"abi": places.towline / "bin/mpicc", "mpich": places.peers / "mpich/bin/mpicc", "openmpi": places.peers / "openmpi/bin/mpicc"}


def program(places: Places, build: str, name: str) -> pathlib.Path:
    return places.programs / f"{name}-{build}"


def source(name: str) -> pathlib.Path:
    return next(folder / f"{name}.c" for folder in FOLDERS if (folder / f"{name}.c").exists())


def build(places: Places, flags: list[str], programs: tuple[str, ...] = PROGRAMS) -> list[str]:
    """Compiles what is older than its sources; returns a line for each build that failed. Raises if the limits cannot be built."""
    places.programs.mkdir(parents=True, exist_ok=True)
    sources = [path for folder in FOLDERS for ending in ("c", "cpp", "h") for path in folder.glob(f"*.{ending}")]
    newest = max(path.stat().st_mtime for path in [*sources, ROOT / "include/mpi.h"])

    def compiled(command: list[str], to: pathlib.Path) -> str | None:
        if to.exists() and to.stat().st_mtime > newest:
            return None
        told = subprocess.run([*command, "-o", str(to)], capture_output=True, text=True)
        return None if told.returncode == 0 else f"{to.name} could not be built: {last_line(told.stderr)}"

    failed = []
    for kind, wrapper in wrappers(places).items():
        for name in programs:
            if wrapper.exists():
                failed.append(compiled([str(wrapper), *FLAGS, *flags, str(source(name))], program(places, kind, name)))
    failed.append(compiled(["cc", "-O2", "-shared", "-fPIC", str(HERE / "noyield.c")], places.programs / "noyield.so"))
    plain = ["-std=c++20", *(f for f in FLAGS if not f.startswith("-std"))]
    for command, name in ((["cc", *FLAGS, str(HERE / "limits.c")], "limits"), (["c++", *plain, str(HERE / "churn.cpp")], "churn")):
        told = compiled(command, places.programs / name)
        if told:
            sys.exit(told)
    return [f for f in failed if f]
