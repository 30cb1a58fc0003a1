"""Builds the suite's programs with our mpicc. A program that is newer than all that it is made of stays."""

import dataclasses
import pathlib

import jobs
import place
from mpich import corrections, testlist

# What the suite's configure would find with our mpicc on the systems that we run on. MPI 4.1 has the removal of error codes, by another
# name.
CONFIGURATION = "\n".join(f"#define {name}" for name in """
    STDC_HEADERS 1|HAVE_DLFCN_H 1|HAVE_DOUBLE__COMPLEX 1|HAVE_FLOAT__COMPLEX 1|HAVE_GETRUSAGE 1|HAVE_INTTYPES_H 1|HAVE_LONG_DOUBLE 1
    HAVE_LONG_DOUBLE__COMPLEX 1|HAVE_LONG_LONG 1|HAVE_LONG_LONG_INT 1|HAVE_MEMORY_H 1|HAVE_MPI_INIT_THREAD 1|HAVE_MPI_INTEGER16 1|HAVE_MPI_IO 1
    HAVE_MPI_SPAWN 1
    HAVE_MPI_WIN_CREATE 1|HAVE_PTHREAD_BARRIER_INIT 1|HAVE_PTHREAD_H 1|HAVE_STDARG_H 1|HAVE_STDINT_H 1|HAVE_STDLIB_H 1|HAVE_STRDUP 1
    HAVE_STRINGS_H 1|HAVE_STRING_H 1|HAVE_SYS_RESOURCE_H 1|HAVE_SYS_STAT_H 1|HAVE_SYS_TIME_H 1|HAVE_SYS_TYPES_H 1|HAVE_UNISTD_H 1
    HAVE_USLEEP 1|HAVE__BOOL 1|POINTERINT_t long|SIZEOF_INT 4|SIZEOF_LONG 8|SIZEOF_LONG_LONG 8|SIZEOF_MPI_OFFSET 8|SIZEOF_SHORT 2
    SIZEOF_VOID_P 8|THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX|THREAD_PACKAGE_POSIX 1|USE_LONG_DOUBLE_COMPLEX 1|USE_STRICT_MPI 1
    MPIX_Delete_error_class MPI_Remove_error_class|MPIX_Delete_error_code MPI_Remove_error_code
    MPIX_Delete_error_string MPI_Remove_error_string""".replace("\n", "|").split("|") if name.strip()) + "\n"
FLAGS = ["-std=gnu11", "-O1", "-g1", "-w"]
LIBRARY = {"util": ("mtest", "mtest_common", "dtypes"),
           "dtpools/src": ("dtpools", "dtpools_misc", "dtpools_init_verify", "dtpools_desc", "dtpools_attr", "dtpools_custom")}


@dataclasses.dataclass(frozen=True)
class Built:
    program: str          # directory/name
    errors: str           # of the compiler; empty: it was built
    corrected: bool       # not all sources are as the suite has them


class Builder:
    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.folder = place.WORK / "mpich" / place.BUILD.name
        include = self.folder / "include"
        include.mkdir(parents=True, exist_ok=True)
        for name, text in (("mpitestconf.h", CONFIGURATION), ("../dtpoolsconf.h", CONFIGURATION)):
            if not (include / name).exists() or (include / name).read_text() != text:
                (include / name).write_text(text)
        self.flags = [*FLAGS, f"-I{include}", f"-I{root}/include", f"-I{root}/dtpools/include"]
        headers = [*(place.PROJECT / "include").glob("mpi*.h"), include / "mpitestconf.h", include / "../dtpoolsconf.h", place.MPICC]
        self.newest = max(file.stat().st_mtime for file in headers)
        self.recipes = {directory: testlist.recipes(root, directory) for directory in testlist.DIRECTORIES}

    def path(self, directory: str, program: str) -> pathlib.Path:
        return self.folder / directory / program

    def compile(self, target: pathlib.Path, sources: list[pathlib.Path], flags: list[str], libraries: list[str]) -> str:
        """What the compiler said if it failed."""
        newest = max([self.newest, *(source.stat().st_mtime for source in sources)])
        if target.exists() and target.stat().st_mtime >= newest:
            return ""
        target.unlink(missing_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        done = jobs.run([place.MPICC, *self.flags, *flags, *sources, *libraries, "-o", target], 120)
        return "" if done.code == 0 else done.output or f"the compiler ended with {done.code}"

    def source(self, directory: str, name: str) -> pathlib.Path:
        """As the suite has it, or corrected."""
        file = self.root / directory / name
        correction = corrections.of(f"{directory}/{name}")
        if correction is None:
            return file
        text = corrections.corrected(file.read_text(), correction)
        target = self.folder / "corrected" / directory / name
        if not target.exists() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return target

    def library(self) -> list[pathlib.Path]:
        """What every program is linked with."""
        objects = []
        for folder, names in LIBRARY.items():
            for name in names:
                target = self.folder / folder / f"{name}.o"
                errors = self.compile(target, [self.root / folder / f"{name}.c"], ["-c"], [])
                if errors:
                    raise RuntimeError(f"{folder}/{name}.c of the suite does not compile:\n{errors}")
                objects.append(target)
        for name, flags in (("mtest_single", []), ("mtest_thread", ["-DMTEST_USE_THREAD"])):
            target = self.folder / "util" / f"{name}.o"
            errors = self.compile(target, [self.root / "util" / f"{name}.c"], ["-c", *flags], [])
            if errors:
                raise RuntimeError(f"util/{name}.c of the suite does not compile:\n{errors}")
        return objects

    def program(self, directory: str, program: str, objects: list[pathlib.Path]) -> Built:
        sources, flags = self.recipes[directory].get(program, ([f"{program}.c"], []))
        files = [self.source(directory, source) for source in sources]
        corrected = any(self.root not in file.parents for file in files)
        if corrected:
            flags = [*flags, f"-I{self.root / directory}"]
        missing = [str(file.name) for file in files if not file.exists()]
        threads = directory.startswith("threads/")
        own = self.folder / "util" / ("mtest_thread.o" if threads else "mtest_single.o")
        errors = f"no source: {', '.join(missing)}" if missing else self.compile(
            self.path(directory, program), [*files, *objects, own], [*flags, *["-DMTEST_USE_THREAD"] * threads], ["-lm", "-lpthread"])
        return Built(f"{directory}/{program}", errors, corrected)
