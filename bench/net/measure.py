"""Measures between hosts: the ranks of every library by turns, with the raw ping-pong read between any two; then ranks that meet all
others, in runs of their own; then the transport beside sockets (bench/datagram.cpp), and a crowd of senders (incast.cpp)."""
from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import time

from mpi.cases import Case
from mpi.conductor import Broken, Pair, Wrong, read_raw, thermometer
from mpi.peers import program
from mpi.progress import Progress
from mpi.records import Record, record, write
from mpi.subjects import Places
from net import programs
from net.hosts import Hosts, Impossible
from net.stages import CONNECTED, STAGES, Stage
from net.subjects import RXD, Subject

LONG = 0.3  # seconds: a figure whose turn takes longer has fewer
PATIENCE = 60.0


@dataclasses.dataclass
class Plan:
    """How much is measured."""

    quick: bool
    rounds: int
    budget: float     # seconds of a turn
    samples: int      # of a turn, at most
    starts: int       # runs of ranks that meet
    only: str = ""

    @staticmethod
    def of(quick: bool) -> Plan:
        return Plan(True, 3, 20e-3, 10, 1) if quick else Plan(False, 12, 60e-3, 20, 5)

    def wants(self, title: str) -> bool:
        return any(re.search(only, title) for only in self.only.split(","))

    def connected(self) -> tuple[tuple[int, int], ...]:
        return CONNECTED


class Figure:
    """What one subject does in one case."""

    def __init__(self, pair: Pair, case: Case) -> None:
        self.pair, self.case = pair, case
        self.rounds: list[list[float]] = []
        self.raw: list[float] = []
        self.batch, self.batches = 0, 0
        self.seconds = 0.0
        self.failure = ""

    def measure(self, plan: Plan) -> None:
        try:
            if self.batch == 0:
                self._calibrate(plan)
            begin = time.monotonic()
            self.rounds.append(self.pair.turn(self.case.name, self.case, self.batch, self.batches))
            self.seconds = time.monotonic() - begin
        except (Broken, Wrong) as e:
            self.failure = str(e)

    def _calibrate(self, plan: Plan) -> None:
        """As Pair.calibrate; what takes long is not run often for it."""
        begin = time.monotonic()
        self.pair.turn(self.case.name, self.case, 1, 1)  # connects, touches pages
        self.batch, self.batches = 1, 1
        if time.monotonic() - begin < LONG:
            self.batch, self.batches = self.pair.calibrate(self.case.name, self.case, plan.budget, plan.samples)

    def record(self, subject: str, place: str) -> Record:
        rounds = [[round(s / 1000, 6) for s in r] for r in self.rounds]
        return record(self.case.name, self.case.size, subject, "us", rounds, self.raw, bench="net", place=place, batch=self.batch)


class House:
    def __init__(self, places: Places, everyone: list[Subject], plan: Plan, out: pathlib.Path, progress: Progress) -> None:
        self.places, self.plan, self.out, self.progress = places, plan, out, progress
        self.failures: list[str] = []  # of Towline and of what is done by hand
        self.faults: list[str] = []    # of peers
        self.about: list[Record] = []
        self.subjects: list[Subject] = []
        for s in everyone:
            lacking = s.missing()
            if lacking is None:
                self.subjects.append(s)
            else:
                self._failed(s.name, f"{s.name} is left out: there is no {lacking}")

    def _failed(self, name: str, what: str) -> None:
        (self.failures if name == "towline" else self.faults).append(what)

    def run(self) -> None:
        for stage in STAGES:
            if wanted := [c for c in stage.cases if self.plan.wants(f"{stage.place()} {c.name} {c.size}")]:
                self._stage(stage, wanted)
        if self.plan.wants("connect"):
            self._connects()
        if self.plan.wants("transport"):
            self._transport()
        if self.plan.wants("incast"):
            self._incast()
        write(self.out, "subjects", self.about, keep=bool(self.plan.only), bench="net")

    def _among(self, first: bool, without: tuple[str, ...] = ()) -> list[Subject]:
        """A quick look has time for one MPICH, but for the first stage. That over libfabric's datagrams is for the first stage alone."""
        left_out = {*without, *(() if first else (RXD, "mpich5-ucx") if self.plan.quick else (RXD,))}
        return [s for s in self.subjects if s.name not in left_out]

    # By turns

    def _stage(self, stage: Stage, wanted: list[Case]) -> None:
        pairs: dict[str, Pair] = {}
        with Hosts(stage.hosts, stage.each == 1, stage.networks, stage.rate) as hosts, contextlib.ExitStack() as ends:
            cpus = sorted(os.sched_getaffinity(0))
            limits = thermometer(self.places.programs / "limits", (cpus[0], cpus[1]))
            ends.callback(limits.leave)
            for s in self._among(stage == STAGES[0], stage.without):
                self.progress.now(f"{stage.place()}: starting {s.name}")
                if pair := self._start(s, stage, hosts):
                    pairs[s.name] = pair
                    ends.callback(self._end, pair)
            figures = {(c, name): Figure(pair, c) for c in wanted for name, pair in pairs.items()}
            for number in range(self.plan.rounds):
                for case in wanted:
                    self.progress.now(f"{stage.place()}: {case.name} {case.size} ({number + 1} of {self.plan.rounds})")
                    among = [figures[case, name] for name in pairs]
                    shift = number % max(1, len(among))
                    for f in among[shift:] + among[:shift]:
                        if f.failure or not f.pair.ranks or (f.seconds > LONG and number >= max(1, self.plan.rounds // 4)):
                            continue
                        before = read_raw(limits)
                        f.measure(self.plan)
                        f.raw.append((before + read_raw(limits)) / 2)
            for (case, name), f in figures.items():
                if f.failure:
                    self._failed(name, f"{stage.place()}: {case.name} {case.size}: {f.failure}")
            made = [f.record(name, stage.place()) for (_, name), f in figures.items() if f.rounds and not f.failure]
            write(self.out, "mpi_" + re.sub("[^a-z0-9]+", "_", stage.place().replace(" x ", "x")), made, keep=bool(self.plan.only),
                  bench="net")

    def _start(self, s: Subject, stage: Stage, hosts: Hosts) -> Pair | None:
        try:
            before = hosts.sent(0)
            pair = Pair(s.name, s.command(hosts, stage.each, program(self.places, s.build, "bench")), s.surroundings(hosts), PATIENCE,
                        ("--room", str(stage.room)), stage.hosts * stage.each)
            among = "stream" if stage.each == 1 else "bcast"
            pair.turn(among, Case("net", among, 64 << 10), 4, 2)
            if hosts.sent(0) - before < 8 * (64 << 10):
                self._end(pair)
                raise Broken(f"{s.name} does not use the network between the hosts")
        except (Broken, Wrong) as e:
            self._failed(s.name, f"{stage.place()}: {e}")
            return None
        if not any(a["subject"] == s.name for a in self.about):
            self.about.append({"bench": "net", "case": "subject", "size": 0, "subject": s.name, "library": pair.words,
                               "settings": s.settings(), "why": s.why})
        return pair

    def _end(self, pair: Pair) -> None:
        if (wrong := pair.leave()) is not None:
            self._failed(pair.name, wrong)

    # Ranks that meet

    def _connects(self) -> None:
        made: dict[tuple[str, int, str, str], list[list[float]]] = {}
        for count, each in self.plan.connected():
            with Hosts(count) as hosts:
                for number in range(self.plan.starts):
                    among = self._among(False)
                    shift = number % max(1, len(among))
                    for s in among[shift:] + among[:shift]:
                        self.progress.now(f"{count * each} ranks meet: {s.name} ({number + 1} of {self.plan.starts})")
                        self._connect(s, hosts, each, made)
        write(self.out, "connect", [record(case, ranks, name, unit, rounds, bench="net", place="2 hosts")
                                    for (case, ranks, name, unit), rounds in made.items()], keep=bool(self.plan.only), bench="net")

    def _connect(self, s: Subject, hosts: Hosts, each: int, made: dict[tuple[str, int, str, str], list[list[float]]]) -> None:
        ranks = len(hosts.names) * each
        begin = time.monotonic()
        try:
            ran = subprocess.run(s.command(hosts, each, program(self.places, s.build, "connect")), env=s.surroundings(hosts),
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, start_new_session=True)
        except subprocess.TimeoutExpired:
            return self._failed(s.name, f"{s.name}: {ranks} ranks did not meet and end within {PATIENCE:.0f} s")
        took = time.monotonic() - begin
        told = {line.split()[0]: [float(x) for x in line.split()[1:]] for line in ran.stdout.splitlines()
                if line.startswith(("connected ", "again ", "memory "))}  # libraries say more
        if ran.returncode != 0 or len(told) != 3 or len(told["memory"]) != ranks:
            words = (ran.stderr or ran.stdout).strip().splitlines() or ["nothing was said"]
            return self._failed(s.name, f"{s.name}: {ranks} ranks that meet ended with code {ran.returncode}: {words[-1]}")
        for case, unit, values in (("start_and_end", "s", [round(took, 4)]), ("connect", "us", [round(told["connected"][0] / 1000, 1)]),
                                   ("connected", "us", [round(told["again"][0] / 1000, 1)]),
                                   ("memory", "MiB", [round(kib / 1024, 4) for kib in told["memory"]])):
            made.setdefault((case, ranks, s.name, unit), []).append(values)
        return None

    # The transport

    def _transport(self) -> None:
        """bench_datagram over loopback, and between two hosts."""
        binary = programs.binary(self.places, "datagram")
        if not binary.exists():
            return  # that was told when it was built
        rounds = ["--rounds", "2" if self.plan.quick else "12"]
        with Hosts(2) as hosts:
            between = ",".join(word for pair in zip(hosts.names, hosts.addresses) for word in pair)
            for place, env in (("loopback", {}), ("2 x 1", {"TOWLINE_BENCH_HOSTS": between})):
                self.progress.now(f"the transport beside sockets, {place}")
                path = self.out / "datagram.jsonl"
                ran = subprocess.run([str(binary), *rounds, "--json", str(path)], env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                                     capture_output=True, text=True, timeout=600)
                if ran.returncode not in (0, 1) or not path.exists():
                    self.failures.append(f"{place}: {binary.name} ended with code {ran.returncode}: {ran.stderr.strip()}")
                    continue
                for line in ran.stdout.splitlines():  # what is bare loses more where something else runs
                    if " failed: " in line:
                        ours = " towline" in line and "towline/bare" not in line
                        self._failed("towline" if ours else "by hand", f"{place}: {' '.join(line.split())}")
                records = [json.loads(line) | {"bench": "net", "place": place} for line in path.read_text().splitlines()]
                path.unlink()
                write(self.out, "transport_" + place.replace(" ", ""), records, keep=False, bench="net")

    def _incast(self) -> None:
        binary = programs.binary(self.places, "incast")
        if not binary.exists():
            return
        made: list[Record] = []
        for number in range(1 if self.plan.quick else 5):
            self.progress.now("16 senders and one slow receiver")
            try:
                with Hosts(2) as hosts:
                    ran = subprocess.run([str(binary), *hosts.names, *hosts.addresses], stdin=subprocess.DEVNULL, capture_output=True,
                                         text=True, timeout=60)
            except subprocess.TimeoutExpired:
                self.failures.append("16 senders and one slow receiver did not end within 60 s")
                continue
            if ran.returncode != 0:
                self.failures.append(f"16 senders and one slow receiver: {ran.stderr.strip()}")
                continue
            for line in ran.stdout.splitlines():
                case, unit, value = line.split()
                made.append(record(case, 16, "towline", unit, [[float(value)]], bench="net", place="2 x 1"))
        merged: dict[str, Record] = {}
        for r in made:
            merged[r["case"]] = record(r["case"], 16, "towline", r["unit"], merged.get(r["case"], {"all": []})["all"] + r["all"],
                                       bench="net", place="2 x 1")
        write(self.out, "incast", list(merged.values()), keep=False, bench="net")


__all__ = ["House", "Impossible", "Plan"]
