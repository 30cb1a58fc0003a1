"""A Python environment in build/suites, with what requirements.txt lists and with mpi4py, built from its source with our mpicc, once."""

import fcntl
import os
import pathlib
import shutil
import sys
import tempfile
import venv

import place
import sources

FOLDER = place.WORK / "python"
PYTHON = FOLDER / "bin" / "python"
REQUIREMENTS = place.HERE / "requirements.txt"


def ensure(mark: pathlib.Path, wanted: str, make) -> None:
    if mark.exists() and mark.read_text() == wanted:
        return
    make()
    mark.write_text(wanted)


def with_requirements() -> None:
    """Makes the environment, without the peers' dependencies, which their own platforms have."""
    def make() -> None:
        shutil.rmtree(FOLDER, ignore_errors=True)
        venv.create(FOLDER, with_pip=True)
        print("installing what tests/suites/requirements.txt lists", flush=True)
        sources.run(str(PYTHON), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "-r", str(REQUIREMENTS),
                    cwd=place.WORK)
    ensure(FOLDER / "requirements.done", REQUIREMENTS.read_text() + sys.version, make)


def with_mpi4py() -> None:
    """The extension finds libmpi_abi.so.1 of the build that made it; LD_LIBRARY_PATH wins over that."""
    source = sources.unpacked("mpi4py")

    def make() -> None:
        print("building mpi4py", flush=True)
        # mpi4py takes a compiler's path with a blank in it for two words.
        with tempfile.TemporaryDirectory(prefix="mpicc-") as plain:
            compiler = pathlib.Path(plain, "mpicc")
            compiler.symlink_to(place.MPICC)
            os.environ.update(MPI4PY_BUILD_MPIABI="1", MPI4PY_BUILD_MPICC=str(compiler), CFLAGS="-O0")
            sources.run(str(PYTHON), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-build-isolation", "--no-deps",
                        "--force-reinstall", str(source), cwd=place.WORK)
        shutil.rmtree(source / "build", ignore_errors=True)  # its tests would load from there
    header = max(file.stat().st_mtime for file in (place.PROJECT / "include").glob("mpi*.h"))
    ensure(FOLDER / "mpi4py.done", f"{source.name} {header}", make)


def ready() -> pathlib.Path:
    """The interpreter; one process at a time makes what is missing."""
    place.WORK.mkdir(parents=True, exist_ok=True)
    with open(place.WORK / "python.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with_requirements()
        with_mpi4py()
    return PYTHON


if __name__ == "__main__":
    try:
        print(ready())
    except sources.Unavailable as error:
        sys.exit(str(error))
