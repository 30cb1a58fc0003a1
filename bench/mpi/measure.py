"""Measures: the ranks of every library by turns, A B C D, B C D A, ... with the raw ping-pong read between any two turns; then start-up,
and what is measured in runs of its own."""
from __future__ import annotations

import dataclasses
import itertools
import os
import pathlib
import re
import subprocess
import time

from mpi.cases import GROUPS, Case, Variant, cases
from mpi.conductor import Broken, Pair, Wrong, read_raw, thermometer
from mpi.dense import dense
from mpi.peers import program
from mpi.progress import Progress
from mpi.records import Record, record, write
from mpi.stages import STAGES, Stage
from mpi.subjects import Places, Subject

AROUND = 3e-3        # seconds between turns: the thermometer, and waking
BEGIN_SECONDS = 1.5  # of a pair: start, first touch of its buffers, end
START_SECONDS = {2: 0.6, 32: 1.7}
CROWD_SECONDS = 4.0
GENTLE_SECONDS = 6.0
OVERLAP_SECONDS = 1.0
OVERLAP_BYTES = 4 << 20
FIRST_SECONDS = 0.7
FIRST_MESSAGES, FIRST_TIMES = 1000, 11  # a sample, and samples of a start: the first is what is looked at, the others what comes later
SLOW = 0.1  # seconds: a figure whose turn takes longer gets one in a sweep


@dataclasses.dataclass
class Plan:
    """How much is measured."""

    quick: bool
    sweeps: int              # times that all figures are gone through, so that each meets every mood of the machine
    rounds: int              # turns of each figure in a sweep
    budget: float            # seconds of a turn
    samples: int = 40        # of a turn, at most
    starts: tuple[tuple[int, int], ...] = ((2, 8), (32, 4))  # (ranks, times)
    crowds: tuple[int, int] = (32, 3)                         # (ranks, times)
    only: str = ""           # regular expressions over titles, with commas between
    sizes: frozenset[int] = frozenset()  # these alone, if any
    dense: bool = False      # the whole grid

    @staticmethod
    def of(quick: bool) -> Plan:
        return Plan(True, 3, 2, 5e-3, 20, ((2, 5), (32, 2)), (32, 1)) if quick else Plan(False, 5, 4, 10e-3)

    def cases(self, group: str) -> list[Case]:
        everything = dense(self.sizes) if self.dense else cases(self.quick)
        return [c for c in everything if c.group == group and self.wants(c.title()) and (not self.sizes or c.size in self.sizes)]

    def wants(self, title: str) -> bool:
        return any(re.search(only, title) for only in self.only.split(","))

    def overlaps(self) -> bool:
        """A quick look at everything has no time for it."""
        return self.wants("overlap") and (self.part() or not self.quick)

    def part(self) -> bool:
        """Whether less than everything is measured."""
        return bool(self.only or self.sizes)

    def step(self) -> float:
        """Seconds of a turn and of what is around it."""
        return self.budget + AROUND

    def seconds(self, everyone: list[Subject], both: tuple[int, int]) -> float:
        """How long all of it takes, about: for the bar, and for the promise that it does not take too long."""
        spent, starting = 0.0, sum(s.starts for s in everyone)
        for stage in STAGES:
            found = [c for g in stage.groups for c in self.cases(g)]
            subjects = len(stage.subjects(everyone, both, self.quick)) if found else 0
            spent += BEGIN_SECONDS * subjects * len(stage.threads)
            spent += sum((subjects * len(c.variants()) + len(c.limits())) * self.of_case(c, stage) for c in found)
        if self.wants("start"):
            spent += starting * sum(START_SECONDS[ranks] * times for ranks, times in self.starts)
        spent += starting * CROWD_SECONDS * self.crowds[1] if self.wants("crowd") else 0
        spent += len(self.cases("first")) * len(everyone) * FIRST_SECONDS * self.firsts()
        spent += 2 * (starting + 1) * OVERLAP_SECONDS * self.starts[0][1] if self.overlaps() else 0
        return spent + (starting * GENTLE_SECONDS * self.crowds[1] if self.wants("gentle") else 0)

    def firsts(self) -> int:
        """How often each library is started for its first messages."""
        return self.starts[0][1] // 2

    def of_case(self, case: Case, stage: Stage) -> float:
        """Seconds of all turns of one subject in a case."""
        turn = max(self.budget, case.seconds())
        return self.sweeps * self.rounds * stage.more * (turn + AROUND) if turn < SLOW else self.sweeps * (turn + AROUND)


class Figure:
    """What one subject does in one case."""

    def __init__(self, subject: str, variant: str, turn: str, pair: Pair, case: Case, shortest: float) -> None:
        self.subject, self.variant, self.turn, self.pair, self.case, self.shortest = subject, variant, turn, pair, case, shortest
        self.rounds: list[list[float]] = []
        self.raw: list[float] = []
        self.batch, self.batches = 0, 0
        self.seconds = 0.0
        self.failure = ""

    def skipped(self, number: int, plan: Plan) -> bool:
        """Whether it has no turn in this round of a sweep: it failed, its program is gone, or it is slow and had one."""
        return bool(self.failure) or not self.pair.ranks or (self.seconds > SLOW and number > 0)

    def measure(self, plan: Plan) -> None:
        begin = time.monotonic()
        try:
            if not self.batch:
                self.batch, self.batches = self.pair.calibrate(self.turn, self.case, plan.budget, plan.samples, self.shortest)
                begin = time.monotonic()
            self.rounds.append(self.pair.turn(self.turn, self.case, self.batch, self.batches))
        except (Wrong, Broken) as e:
            self.failure = str(e)
        self.seconds = time.monotonic() - begin

    def record(self) -> Record:
        rounds = [[round(s / 1000, 6) for s in r] for r in self.rounds]
        return record(self.case.name, self.case.size, self.subject, "us", rounds, self.raw, mode=self.case.mode, cache=self.case.cache,
                      memory=self.case.memory, variant=self.variant, batch=self.batch)


class House:
    """A measurement: who takes part, and what came out."""

    program = "bench"  # which each library must have

    def __init__(self, places: Places, cpus: tuple[int, int], subjects: list[Subject], plan: Plan, out: pathlib.Path,
                 progress: Progress) -> None:
        self.places, self.cpus, self.plan, self.out, self.progress = places, cpus, plan, out, progress
        self.failures: list[str] = []  # of Towline and the limits
        self.faults: list[str] = []    # of peers
        self.subjects: list[Subject] = []
        self.about: list[Record] = []
        for s in subjects:
            lacking = s.missing()
            needed = program(places, s.build, self.program)
            if lacking is None and not needed.exists():
                lacking = str(needed)
            if lacking is None:
                self.subjects.append(s)
            else:
                self._leave_out(s.name, f"there is no {lacking}")

    def run(self) -> None:
        self.progress.expect(self.plan.seconds(self.subjects, self.cpus))
        for stage in STAGES:
            wanted = [c for g in stage.groups for c in self.plan.cases(g)]
            if wanted:
                self._turns(wanted, stage)
        if self.plan.cases("first"):
            self._firsts()
        if self.plan.wants("start"):
            self._starts()
        if self.plan.wants("crowd"):
            self._crowds()
        if self.plan.wants("gentle"):
            self._gentle()
        if self.plan.overlaps():
            self._overlaps()
        self._write("subjects", self.about)

    def _write(self, group: str, records: list[Record]) -> None:
        """What is measured in part replaces its part alone."""
        write(self.out, group, records, keep=self.plan.part())

    def _leave_out(self, name: str, why: str) -> None:
        """A peer that cannot be measured is left out with a line; without Towline there is nothing to compare."""
        if name == "towline":
            self.failures.append(f"towline: {why}")
        else:
            self.progress.say(f"{name} is left out: {why}")

    def _failed(self, name: str, what: str) -> None:
        """A peer whose figure is missing is told of; where Towline's or a limit's is, the measurement has failed."""
        is_peer = name != "towline" and any(s.name == name for s in self.subjects)
        (self.faults if is_peer else self.failures).append(what)

    # By turns

    def _start(self, stage: Stage) -> dict[tuple[str, bool], Pair]:
        pairs: dict[tuple[str, bool], Pair] = {}
        subjects, cpus = stage.subjects(self.subjects, self.cpus, self.plan.quick), stage.cpus(self.cpus)
        for s, multiple in itertools.product(subjects, stage.threads):
            self.progress.now(f"starting {s.name}")
            options = (*s.arguments, *(("--threads", "multiple") if multiple else ()))
            try:
                pair = Pair(s.name, stage.command(s, stage.program(self.places, s), self.cpus), s.surroundings(), options=options,
                            ranks=stage.ranks)
            except Broken as e:
                self._leave_out(s.name, str(e))
                continue
            if not pair.bound_to(cpus):
                self._leave_out(s.name, f"its ranks are bound to {' and '.join(pair.cpus)}, not to {' and '.join(map(str, cpus))}")
                pair.leave()
                continue
            pairs[s.name, multiple] = pair
            self.progress.step(BEGIN_SECONDS)
            if not any(a["subject"] == s.name for a in self.about):
                self.about.append({"bench": "mpi", "case": "subject", "size": 0, "subject": s.name, "library": pair.words,
                                   "settings": s.settings(), "why": s.why})
        return pairs

    def _turns(self, wanted: list[Case], stage: Stage) -> None:
        limits = thermometer(self.places.programs / "limits", self.cpus)
        pairs: dict[tuple[str, bool], Pair] = {}
        done: dict[str, list[Record]] = {}
        cpus = stage.cpus(self.cpus)
        by_hand = limits if len(cpus) == 2 else thermometer(self.places.programs / "limits", (cpus[0], cpus[0]))
        try:
            pairs = self._start(stage)
            figures = {case: self._figures(case, stage, pairs, by_hand) for case in wanted}
            for sweep, case in itertools.product(range(self.plan.sweeps), wanted):
                self.progress.now(f"{case.title()} ({sweep + 1} of {self.plan.sweeps})")
                self._rounds(figures[case], limits, stage)
            for case in wanted:
                done.setdefault(case.group, []).extend(f.record() for f in figures[case] if f.rounds and not f.failure)
                for f in figures[case]:
                    if f.failure:
                        self._failed(f.subject, f"{case.title()}: {f.failure}")
            for group, records in done.items():
                self._write(group, records)
        finally:
            for pair in {*pairs.values(), limits, by_hand}:
                wrong = pair.leave()
                if wrong:
                    self._failed(pair.name, wrong)

    def _figures(self, case: Case, stage: Stage, pairs: dict[tuple[str, bool], Pair], by_hand: Pair) -> list[Figure]:
        variants: tuple[Variant, ...] = case.variants()
        names = dict.fromkeys(name for name, _ in pairs)
        figures = [Figure(name, v.name, v.turn, pairs[name, v.threads], case, stage.batch)
                   for name in names for v in variants if (name, v.threads) in pairs]
        return figures + [Figure(subject, v.name, v.turn, by_hand, case, stage.batch) for subject, v in case.limits()]

    def _rounds(self, figures: list[Figure], limits: Pair, stage: Stage) -> None:
        rounds = self.plan.rounds * stage.more
        for number in range(rounds):
            shift = max(len(f.rounds) for f in figures) % len(figures) if figures else 0
            raw = read_raw(limits)
            for f in figures[shift:] + figures[:shift]:
                step = self.plan.of_case(f.case, stage) / self.plan.sweeps / rounds
                if f.skipped(number, self.plan):
                    self.progress.step(step)
                    continue
                f.measure(self.plan)
                before, raw = raw, read_raw(limits)
                if not f.failure:
                    f.raw.append((before + raw) / 2)
                self.progress.step(step)

    # Start-up and many ranks

    def _run(self, subject: Subject, ranks: int, name: str, *arguments: str, patience: float = 60) -> tuple[float, str] | None:
        """Seconds from start to end, and what was printed; None if it failed, which is noted."""
        command = subject.command(ranks, program(self.places, subject.build, name), *arguments)
        begin = time.monotonic()
        try:
            told = subprocess.run(command, env=subject.surroundings(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=patience)
        except subprocess.TimeoutExpired:
            self._failed(subject.name, f"{subject.name}: {name} of {ranks} ranks did not end within {patience:.0f} s")
            return None
        took = time.monotonic() - begin
        if told.returncode != 0:
            words = (told.stderr or told.stdout).strip().splitlines() or [""]
            self._failed(subject.name, f"{subject.name}: {name} of {ranks} ranks ended with code {told.returncode}: {words[-1]}")
            return None
        return took, told.stdout

    def _starts(self) -> None:
        made = []
        for ranks, times in self.plan.starts:
            self.progress.now(f"start-up of {ranks} ranks")
            took: dict[str, list[list[float]]] = {}
            starting = [s for s in self.subjects if s.starts]
            for number in range(times):
                for s in starting[number % len(starting):] + starting[:number % len(starting)] if starting else []:
                    ran = self._run(s, ranks, "hello") if len(took.get(s.name, [])) == number else None
                    if ran is None:
                        continue
                    if ran[1].count("hello from rank") != ranks:
                        self._failed(s.name, f"{s.name}: not every rank of {ranks} said hello")
                    took.setdefault(s.name, []).append([round(ran[0], 6)])
                    self.progress.step(START_SECONDS[ranks])
            took["process"] = [[alone()] for _ in range(times)]
            made += [record("start", ranks, name, "s", rounds) for name, rounds in took.items()]
        self._write("start", made)

    def _firsts(self) -> None:
        """The first messages of ranks that know nothing of each other yet, and as many later ones, in processes started for them."""
        found: dict[tuple[Case, str, str], list[list[float]]] = {}
        for number, case in itertools.product(range(self.plan.firsts()), self.plan.cases("first")):
            self.progress.now(f"{case.title()} ({number + 1} of {self.plan.firsts()})")
            for s in self.subjects[number % len(self.subjects):] + self.subjects[:number % len(self.subjects)]:
                ran = self._run(s, 2, "bench", "--alone", "first", str(case.size), case.mode, case.cache, str(FIRST_MESSAGES // 2),
                                str(FIRST_TIMES), case.memory, *s.arguments)
                self.progress.step(FIRST_SECONDS)
                words = ran[1].split() if ran else []
                if words[:1] == ["samples"] and len(words) == 1 + FIRST_TIMES:  # nanoseconds a message
                    took = [round(float(ns) * FIRST_MESSAGES / 1000, 3) for ns in words[1:]]
                    found.setdefault((case, s.name, ""), []).append(took[:1])
                    found.setdefault((case, s.name, "later"), []).append(took[1:])
                elif ran:
                    self._failed(s.name, f"{case.title()}: {s.name}: what was printed is not understood: {ran[1].strip()}")
        self._write("first", [record(c.name, c.size, name, "us", rounds, mode=c.mode, cache=c.cache, memory=c.memory, variant=variant)
                              for (c, name, variant), rounds in found.items()])

    def _crowds(self) -> None:
        ranks, times = self.plan.crowds
        self.progress.now(f"{ranks} ranks on 2 processors")
        memory: dict[str, list[list[float]]] = {}
        barrier: dict[str, list[list[float]]] = {}
        for s in [s for _ in range(times) for s in self.subjects if s.starts]:
            ran = self._run(s, ranks, "bench", "--crowd", "300" if self.plan.quick else "1000")
            self.progress.step(CROWD_SECONDS)
            if ran is None:
                continue
            told = {line.split()[0]: [float(x) for x in line.split()[1:]] for line in ran[1].splitlines() if line.split()}
            if len(told.get("memory", [])) != ranks or not told.get("barrier"):
                self._failed(s.name, f"{s.name}: what a crowd printed is not understood")
                continue
            memory.setdefault(s.name, []).append([round(kib / 1024, 4) for kib in told["memory"]])
            barrier.setdefault(s.name, []).append([round(ns / 1000, 3) for ns in told["barrier"]])
        made = [record("memory", ranks, name, "MiB", rounds) for name, rounds in memory.items()]
        made += [record("crowd_barrier", ranks, name, "us", rounds) for name, rounds in barrier.items()]
        self._write("crowd", made)

    def _overlaps(self) -> None:
        """How much of a transfer is hidden behind the computation of one side; Towline also with its helper threads."""
        self.progress.now("overlap of transfers and computation")
        found: dict[tuple[str, str, str], list[list[float]]] = {}
        ways = [(s, "") for s in self.subjects if s.starts]
        ways += [(dataclasses.replace(s, environment=(*s.environment, ("TOWLINE_ONLOAD", "on"))), "onload") for s, _ in ways
                 if s.name == "towline"]
        for _ in range(self.plan.starts[0][1]):
            for (s, variant), side in itertools.product(ways, ("receiver", "sender")):
                ran = self._run(s, 2, "overlap", side, str(OVERLAP_BYTES), "20" if self.plan.quick else "100")
                self.progress.step(OVERLAP_SECONDS)
                if ran is None:
                    continue
                lines = [line.split() for line in ran[1].splitlines()]
                shares = [float(words[7]) for words in lines if len(words) == 8 and words[:2] == ["overlap", side] and words[3] == "2"]
                if len(shares) != 1:
                    self._failed(s.name, f"{s.name}: what overlap printed is not understood")
                    continue
                found.setdefault((s.name, variant, side), []).append(shares)
        self._write("overlap", [record("overlap", OVERLAP_BYTES, name, "%", rounds, mode=side, variant=variant)
                                for (name, variant, side), rounds in found.items()])

    def _gentle(self) -> None:
        """The same stencil on 2 ranks and on many, and a rank that waits a second."""
        many, times = self.plan.crowds
        self.progress.now(f"a stencil on 2 and on {many} ranks, and waiting")
        steps: dict[tuple[str, int], list[list[float]]] = {}
        waiting: dict[str, list[list[float]]] = {}
        sums: set[str] = set()
        for s in [s for _ in range(times) for s in self.subjects if s.starts]:
            for ranks in (2, many):
                ran = self._run(s, ranks, "bench", "--stencil", "200" if self.plan.quick else "600")
                words = ran[1].split() if ran else []
                if words[:2] == ["stencil", "sum"] and len(words) > 3:
                    sums.add(words[2])
                    steps.setdefault((s.name, ranks), []).append([round(float(ns) / 1000, 3) for ns in words[3:]])
                elif ran:
                    self._failed(s.name, f"{s.name}: what a stencil printed is not understood")
            ran = self._run(s, 2, "bench", "--wait")
            words = ran[1].split() if ran else []
            if words[:1] == ["waiting"] and len(words) == 2:
                waiting.setdefault(s.name, []).append([float(words[1])])
            self.progress.step(GENTLE_SECONDS)
        if len(sums) > 1:
            self.failures.append(f"stencils had different results: {', '.join(sorted(sums))}")
        made = [record("stencil", ranks, name, "us", rounds) for (name, ranks), rounds in steps.items()]
        made += [record("waiting", 2, name, "%", rounds) for name, rounds in waiting.items()]
        self._write("gentle", made)


def alone() -> float:
    """Seconds that starting and ending one process takes that does nothing: what every start-up contains."""
    begin = time.monotonic()
    subprocess.run(["/bin/true"], check=True, env=dict(os.environ))
    return round(time.monotonic() - begin, 6)
