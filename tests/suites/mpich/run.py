"""Runs the suite's tests as jobs and says of each how it ended."""

import dataclasses
import json
import os
import pathlib
import re
import signal

import jobs
import place
import sources
from mpich import known, testlist
from mpich.build import Builder, Built

TIMED_OUT = 124    # mpiexec's exit code where its -timeout ended the job
CORES = len(os.sched_getaffinity(0))


@dataclasses.dataclass(frozen=True)
class Result:
    test: str
    directory: str
    ranks: int
    how: str             # a key of WORDS
    reason: str          # empty where it passed
    seconds: float
    output: str          # of one that did not pass
    corrected: bool = False   # a source of it was (corrections.py)
    own: bool = False         # as of testlist.Test


WORDS = {"passed": "passed", "failed": "failed", "known": "failed as is known", "fixed": "passed, and known.py says that it fails",
         "hung": "ended by its time limit", "crashed": "the launcher crashed",
         "unbuilt": "does not compile", "later": "needs what is not built yet", "skipped": "not run"}


def judge(test: testlist.Test, outcome: jobs.Outcome) -> tuple[str, str]:
    """As the suite's own runner judges: exit code 0 and nothing printed but "No Errors"; or, where it asks for it, another exit code. What
    the launcher says of ranks that are meant to end early is no output of the test."""
    if outcome.hung:
        return "crashed", "mpiexec did not end the job at its time limit"
    if outcome.code < 0:
        return "crashed", f"mpiexec was killed by {signal.Signals(-outcome.code).name}"
    if test.expects_failure and (outcome.code == 0 or not test.expects_survivors):
        return ("passed", "") if outcome.code else ("failed", "ended with 0, and should not")
    unsupported = re.search(r"(MPI_\w+)[^\n]*(?:is not built yet|MPI_ERR_UNSUPPORTED_OPERATION)", outcome.output)
    if outcome.code == TIMED_OUT:
        return "hung", f"not ended after {test.limit:.0f} s"
    lines = [line.strip() for line in outcome.output.splitlines() if line.strip()]
    if test.expects_survivors:
        lines = [line for line in lines if not re.fullmatch(r"towline: rank \d+ .*; the others go on", line)]
    strange = [line for line in lines if line.lower() not in ("no errors", "test passed")]
    if (outcome.code == 0 or test.expects_survivors) and not strange and lines:
        return "passed", ""
    if unsupported:
        return "later", unsupported.group(1)
    if not lines and (outcome.code == 0 or test.expects_survivors):
        return "failed", "printed no \"No Errors\""
    return "failed", f"exit code {outcome.code}: {(strange or ['printed nothing else'])[0][:200]}"


def build_reason(errors: str) -> str:
    """Which names the program wanted that no header has."""
    names = re.findall(r"(?:implicit declaration of function|unknown type name|undefined reference to) [`‘'](\w+)", errors)
    names += re.findall(r"[‘'](\w+)[’'] undeclared", errors)
    if names:
        return "not in the ABI: " + ", ".join(sorted(set(names)))
    if "pointers are not permitted as case values" in errors:
        return "a switch over datatypes: handles of the ABI are pointers"
    found = re.search(r"error: (.*)", errors)
    return found.group(1)[:200] if found else errors.strip().splitlines()[0][:200]


class Runner:
    def __init__(self, wanted: str, quick: bool, largest: int, hosts: bool = False) -> None:
        self.root = sources.unpacked("mpich") / "test" / "mpi"
        self.builder = Builder(self.root)
        self.tests = [test for test in testlist.read(self.root)
                      if re.search(wanted, test.name) and test.ranks <= largest and (not quick or known.is_quick(test))
                      and (not hosts or test.ranks > 1 and not test.launcher)]
        self.hosts = hosts
        self.built: dict[str, Built] = {}

    def build(self) -> None:
        objects = self.builder.library()
        programs = sorted({(test.directory, test.program) for test in self.tests})

        def told(done: int, all_: int, _: Built) -> None:
            if done % 50 == 0 or done == all_:
                print(f"built {done} of {all_} programs", flush=True)
        for built in jobs.each(programs, lambda pair: self.builder.program(*pair, objects), CORES, told):
            self.built[built.program] = built

    def one(self, test: testlist.Test) -> Result:
        def result(how: str, reason: str, seconds: float = 0.0, output: str = "") -> Result:
            return Result(test.name, test.directory, test.ranks, how, reason, round(seconds, 3), output, built.corrected, test.own)
        built = self.built[f"{test.directory}/{test.program}"]
        if built.errors:
            return result("unbuilt", build_reason(built.errors), 0, built.errors[-2000:])
        if test.memory > known.MEMORY:
            return result("skipped", f"needs {test.memory} GB")
        program = self.builder.path(test.directory, test.program)
        command = [*place.launcher(self.hosts, test.limit, test.ranks), *test.launcher, program, *test.arguments]
        outcome = jobs.run(command, test.limit + 15, cwd=program.parent, **dict(setting.split("=", 1) for setting in test.environment))
        how, reason = judge(test, outcome)
        why = known.reason(test.name)
        if how in ("failed", "hung") and why:
            how, reason = "known", why
        elif how == "passed" and why and not known.may_pass(test.name):
            how, reason = "fixed", why
        return result(how, reason, outcome.seconds, "" if how in ("passed", "fixed") else outcome.output[-6000:])

    def run(self, at_once: int) -> list[Result]:
        def told(done: int, all_: int, result: Result) -> None:
            if result.how not in ("passed", "known", "later", "skipped", "unbuilt"):
                print(f"[{done}/{all_}] {result.test}: {WORDS[result.how]}: {result.reason}", flush=True)
            elif done % 50 == 0 or done == all_:
                print(f"[{done}/{all_}]", flush=True)
        return jobs.each(self.tests, self.one, at_once, told)


def save(results: list[Result], file: pathlib.Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps([dataclasses.asdict(result) for result in results], indent=1) + "\n")


def load(file: pathlib.Path) -> list[Result]:
    return [Result(**row) for row in json.loads(file.read_text())]
