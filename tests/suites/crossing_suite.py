"""Binaries cross over: a program built with our mpicc, and with MPICH's, runs on Towline, MPICH 5 and Intel MPI, and says the same.
Only the launcher and the library path change."""

import pathlib
import subprocess
import sys
import venv

import jobs
import place
import python_environment
import sources

RANKS = 3
MPICH = place.WORK / "mpich5"
INTEL = python_environment.FOLDER
WANTED = (place.PROJECT / "tests" / "abi" / "requirements.txt").read_text()


def mpich() -> None:
    def make() -> None:
        venv.create(MPICH, with_pip=True, clear=True)
        print("installing the mpich wheel", flush=True)
        sources.run(MPICH / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r",
                    str(place.PROJECT / "tests" / "abi" / "requirements.txt"), cwd=place.WORK)
    python_environment.ensure(MPICH / "installed.txt", WANTED, make)


def built() -> dict[str, pathlib.Path]:
    folder = place.WORK / "crossing" / place.BUILD.name
    folder.mkdir(parents=True, exist_ok=True)
    compilers = {"our mpicc": [place.MPICC]}
    if " " in str(MPICH):
        print("MPICH's mpicc_abi takes a folder with a blank in its path for two words: left out", flush=True)
    else:
        compilers["MPICH's mpicc_abi"] = [MPICH / "bin" / "mpicc_abi", "-DWHEEL", "-w"]
    programs = {}
    for name, command in compilers.items():
        programs[name] = folder / name.replace(" ", "_").replace("'", "")
        done = jobs.run([*command, "-O1", place.HERE / "crossing.c", "-o", programs[name]], 60)
        if done.code:
            raise RuntimeError(f"{name}: {done.output}")
    return programs


def run(library: str, program: pathlib.Path) -> jobs.Outcome:
    if library == "Towline":
        return jobs.run([place.MPIEXEC, "-n", str(RANKS), program], 60, LD_LIBRARY_PATH=str(place.LIBRARY.parent))
    if library == "MPICH 5":
        return jobs.run([MPICH / "bin" / "mpiexec", "-n", str(RANKS), program], 60, LD_LIBRARY_PATH=str(MPICH / "lib"))
    return jobs.run([INTEL / "bin" / "mpiexec.hydra", "-n", str(RANKS), program], 60, LD_LIBRARY_PATH=str(INTEL / "lib"),
                    I_MPI_FABRICS="shm", I_MPI_ROOT=str(INTEL), I_MPI_PIN="0")


def main() -> int:
    try:
        python_environment.ready()
        mpich()
        programs = built()
    except (sources.Unavailable, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    failed, texts = 0, set()
    for library in ("Towline", "MPICH 5", "Intel MPI"):
        for compiler, program in programs.items():
            outcome = run(library, program)
            good = outcome.code == 0 and not outcome.hung and outcome.output.startswith(f"{RANKS} ranks: ")
            texts.add(outcome.output)
            failed += not good
            how = "" if good else f" (exit code {outcome.code})"
            print(f"built with {compiler}, on {library}: {outcome.output.strip()}{how}", flush=True)
    if len(texts) != 1:
        print("they do not say the same")
    return 1 if failed or len(texts) != 1 else 0


if __name__ == "__main__":
    sys.exit(main())
