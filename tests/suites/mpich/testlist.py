"""Reads the suite's lists of tests: a line is a program, its number of ranks and options, as the suite's own runner takes them."""

import dataclasses
import pathlib
import re
import shlex

# All but those of languages, files, windows, processes that start later, MPICH's own extensions, and those that judge timings.
DIRECTORIES = ("group", "info", "init", "attr", "comm", "pt2pt", "part", "datatype", "coll", "topo", "errhan", "mpi_t",
               "ft", "errors/attr", "errors/coll", "errors/comm", "errors/datatype", "errors/faults", "errors/group",
               "errors/pt2pt", "errors/topo", "threads/coll", "threads/comm", "threads/init", "threads/mpi_t", "threads/part",
               "threads/pt2pt")
TIME_LIMIT = 60.0


@dataclasses.dataclass(frozen=True)
class Test:
    directory: str
    program: str
    ranks: int
    arguments: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    launcher: tuple[str, ...] = ()  # options of mpiexec
    expects_failure: bool = False   # the job's exit code must not be 0; what it prints is free, unless:
    expects_survivors: bool = False  # ranks end early, and the others are to print what a test prints that passes
    limit: float = TIME_LIMIT       # seconds
    memory: float = 0.0             # GB
    own: bool = False               # of MPICH alone: the suite's runner leaves it out for other libraries, or unless it is asked for

    @property
    def name(self) -> str:
        words = [f"{self.directory}/{self.program}", str(self.ranks), *self.arguments, *self.environment]
        return " ".join(words)


def parse(directory: str, line: str) -> Test | None:
    words = shlex.split(line.replace("@largetest@", ""), comments=True)
    if not words:
        return None
    options: dict[str, list[str]] = {}
    for word in words[2:]:
        key, equals, value = word.partition("=")
        if equals:
            options.setdefault(key, []).append(value)

    def last(key: str, otherwise: str) -> str:
        return options.get(key, [otherwise])[-1]
    # The suite's limits are for slow machines; only the long ones are taken as they are.
    limit = float(last("timeLimit", str(TIME_LIMIT)))
    environment = options.get("env", [])
    launcher = options.get("mpiexecarg", [])
    own = last("strict", "").lower() == "false" or directory == "errors/faults"
    survivors = last("resultTest", "") == "TestStatusNoErrors"
    # So errors/faults asks for the same: the variable of a launcher that MPICH does not have any more.
    if "MPIEXEC_ALLOW_FAULT=YES" in environment:
        environment.remove("MPIEXEC_ALLOW_FAULT=YES")
        launcher.append("-disable-auto-cleanup")
        survivors = True
    return Test(directory, words[0], int(words[1]), tuple(options.get("arg", ())), tuple(environment), tuple(launcher),
                survivors or "resultTest" in options, survivors, limit, float(last("mem", "0")), own)


def read(root: pathlib.Path) -> list[Test]:
    """All tests of the directories. Lines that differ only in settings of MPICH itself are one."""
    tests: dict[str, Test] = {}
    for directory in DIRECTORIES:
        lists = [root / directory / name for name in ("testlist", "testlist.in") if (root / directory / name).exists()]
        if not lists:
            continue
        for line in re.sub(r"@\w+@", "", lists[0].read_text()).splitlines():
            test = parse(directory, line)
            if test is None:
                continue
            others = tuple(setting for setting in test.environment if not setting.startswith("MPIR_CVAR_"))
            test = dataclasses.replace(test, environment=others)
            tests.setdefault(test.name, test)
    return list(tests.values())


def recipes(root: pathlib.Path, directory: str) -> dict[str, tuple[list[str], list[str]]]:
    """By program, where they are not the plain ones: its source files, and its flags."""
    if not (root / directory / "Makefile.am").exists():
        return {}
    text = (root / directory / "Makefile.am").read_text().replace("\\\n", " ")
    found: dict[str, tuple[list[str], list[str]]] = {}
    for program, what, value in re.findall(r"^(\w+)_(SOURCES|CPPFLAGS)\s*=\s*(.*)$", text, re.MULTILINE):
        sources, flags = found.setdefault(program, ([f"{program}.c"], []))
        words = [word for word in value.split() if not word.startswith("$")]
        if what == "SOURCES":
            sources[:] = words
        else:
            flags[:] = words
    return found
