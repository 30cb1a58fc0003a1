#!/usr/bin/env python3
"""Conducts the benchmarks: starts the programs that offer a figure (Towline, limits by hand, other libraries) and gives each its turns,
one at a time, A B C D A B C D, with a raw cache-line ping-pong read between any two turns. Writes one JSON line per figure to
OUT/<bench>.jsonl (docs/benchmarks.md says what stands in them). A program whose turn it is not sleeps in a read.

Protocol, lines over a Unix socket that the program connects to (its path is in TOWLINE_BENCH_CONDUCTOR):
  program:    figure NAME SIZE MODE SUBJECT VARIANT     for each figure; VARIANT is - for none
              ready
  conductor:  turn INDEX BUDGET_NS MOST_SAMPLES FIRST   first: 1 in a figure's first turn
  program:    samples NS NS NS ...                      or: failed TEXT
"""
import argparse
import collections
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# bench: the cases in it, and who offers them
BENCHES = {
    "message": (["message", "rate"], ["limits_small", "message"]),
    "call": (["null_call", "outstanding64"], ["limits_small", "call", "iceoryx2", "zeromq", "capnp", "grpc"]),
    "handover": (["handover", "null_call"], ["limits_bulk", "handover", "iceoryx2"]),
    "team": (["barrier", "broadcast", "all_gather", "all_to_all", "all_reduce"], ["team"]),
    "argument": (["argument"], ["limits_bulk", "argument", "iceoryx2", "zeromq", "capnp", "grpc"]),
}
ON_TOWLINE = {"message", "call", "handover", "team", "argument"}  # programs that run under `towline run`
SLOW = 0.5            # seconds: a figure whose turn takes longer gets fewer turns
PATIENCE = 120        # seconds until a program that does not answer is given up


class Broken(Exception):
    """A program that does not answer any more."""


class Program:
    """A started program: its figures, and a way to give them turns."""

    def __init__(self, name, command, folder, only):
        self.name = name
        path = os.path.join(folder, name)
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(1)
        server.settimeout(PATIENCE)
        if only:
            command = command + ["--only", only]
        self.process = subprocess.Popen(command, env={**os.environ, "TOWLINE_BENCH_CONDUCTOR": path}, stdin=subprocess.DEVNULL,
                                        stdout=sys.stderr)
        while True:  # give up at once when the program ends before it connects
            server.settimeout(0.2)
            try:
                self.connection = server.accept()[0]
                break
            except TimeoutError:
                if self.process.poll() is not None:
                    raise Broken(f"{name} ended with code {self.process.returncode} before it began") from None
        self.connection.settimeout(PATIENCE)
        self.lines = self.connection.makefile("r")
        self.figures = []
        for line in iter(self.hear, "ready"):
            word, case, size, mode, subject, variant = line.split(" ")
            assert word == "figure", line
            self.figures.append({"case": case, "size": int(size), "mode": mode, "subject": subject, "variant": variant.replace("-", "", variant == "-")})

    def hear(self):
        try:
            line = self.lines.readline()
        except OSError as e:
            raise Broken(f"{self.name} did not answer: {e}") from None
        if not line:
            raise Broken(f"{self.name} ended")
        return line.rstrip("\n")

    def turn(self, index, budget_ms, most, first):
        """The samples of one turn, nanoseconds; raises RuntimeError if the data were wrong."""
        try:
            self.connection.sendall(f"turn {index} {int(budget_ms * 1e6)} {most} {int(first)}\n".encode())
        except OSError as e:
            raise Broken(f"{self.name} is gone: {e}") from None
        word, _, rest = self.hear().partition(" ")
        if word != "samples":
            raise RuntimeError(rest)
        return [float(ns) for ns in rest.split()]

    def leave(self):
        self.connection.close()
        self.lines.close()
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = "none: it did not leave and was killed"
        return code


def quantile(values: list[float], q: float) -> float:
    """The value below which the share q of the sorted values lies (nearest rank)."""
    return values[max(0, min(len(values) - 1, -int(-q * len(values) // 1) - 1))]


def summary(samples: list[float]) -> dict[str, float]:
    s = sorted(samples)
    median = quantile(s, 0.5)
    return {"median": median, "min": s[0], "p90": quantile(s, 0.9), "spread": (quantile(s, 0.75) - quantile(s, 0.25)) / median if median else 0}


class Figure:
    def __init__(self, program, index):
        self.program, self.index, self.names = program, index, program.figures[index]
        self.samples, self.rounds, self.raw, self.failure, self.seconds = [], [], [], None, 0

    def title(self):
        n = self.names
        return f"{n['case']} {n['size']} {n['mode']} {n['subject']}" + (f"/{n['variant']}" if n["variant"] else "")

    def record(self, bench):
        r = {"bench": bench, "case": self.names["case"], "size": self.names["size"], "subject": self.names["subject"]}
        if self.names["variant"]:
            r["variant"] = self.names["variant"]
        r |= {"unit": "us"} | summary(us(self.samples)) | {"samples": len(self.samples), "raw_ns": round(statistics.median(self.raw), 2)}
        r["raw_ratio"] = statistics.median(m / raw for m, raw in zip(self.rounds, self.raw))
        r |= {"mode": self.names["mode"], "rounds": us(self.rounds), "rounds_raw_ns": [round(x, 2) for x in self.raw]}
        return r


def us(nanoseconds):
    return [round(x / 1000, 6) for x in nanoseconds]


def find_programs(build):
    """name -> command, of what is built."""
    binary = lambda name: str(build / "bin" / name)
    commands = {name: [binary("towline"), "run", "-n", "2", "--bind", "core", binary("bench_" + name)] for name in ON_TOWLINE}
    commands |= {name: [binary("bench_" + name)] for name in ("limits_small", "limits_bulk")}
    commands |= {name: [binary("bench_peer_" + name)] for name in ("zeromq", "capnp", "grpc")}
    commands["iceoryx2"] = [str(build / "iceoryx2" / "release" / "bench-peer-iceoryx2")]
    return {name: c for name, c in commands.items() if os.access(c[-1], os.X_OK) and os.access(c[0], os.X_OK)}


def conduct(bench, commands, options):
    cases, names = BENCHES[bench]
    programs, failures = [], []
    with tempfile.TemporaryDirectory(prefix="towline-bench-") as folder:
        thermometer = Program("thermometer", commands["limits_small"], folder, "^message 8 untouched raw$")
        try:
            for name in names:
                if name not in commands:
                    say(f"{bench}: no {name} here: not measured")
                    continue
                only = None if name == "iceoryx2" else f"^({'|'.join(cases)}) "
                try:
                    programs.append(Program(name, commands[name], folder, only))
                except Broken as e:
                    failures.append(str(e))
            groups = collections.defaultdict(list)
            for program in programs:
                for i, names_of in enumerate(program.figures):
                    f = Figure(program, i)
                    if names_of["case"] in cases and re.search(options.only, f.title()):
                        groups[names_of["case"], names_of["size"], names_of["mode"]].append(f)
            for group in sorted(groups, key=lambda g: (cases.index(g[0]), g[1], g[2] != "untouched")):
                measure(bench, groups[group], thermometer, options)
        finally:
            for program in programs:
                code = program.leave()
                if code != 0:
                    failures.append(f"{program.name} ended with code {code}")
            thermometer.leave()
    figures = [f for g in groups.values() for f in g]
    with open(options.out / f"{bench}.jsonl", "w") as out:
        for f in figures:
            if f.samples and not f.failure:
                out.write(json.dumps(f.record(bench)) + "\n")
    failures += [f"{f.title()}: {f.failure}" for f in figures if f.failure]
    return failures


def measure(bench, figures, thermometer, options):
    """All rounds of the figures of one case, size and mode."""
    def read():
        return statistics.median(thermometer.turn(0, 1, 15, False))

    names = figures[0].names
    say(f"{bench}: {names['case']} {names['size']} {names['mode']}: " + ", ".join(f.title().split(" ", 3)[3] for f in figures), keep=False)
    read()
    for round_number in range(options.rounds):
        shift = round_number % len(figures)
        raw = read()
        for f in figures[shift:] + figures[:shift]:
            if f.failure or (f.seconds > SLOW and round_number >= max(2, options.rounds // 4)):
                continue
            begin = time.monotonic()
            try:
                samples = f.program.turn(f.index, options.budget, options.samples, round_number == 0)
            except (RuntimeError, Broken) as e:
                f.failure = str(e)
                continue
            f.seconds = time.monotonic() - begin
            before, raw = raw, read()
            f.samples += samples
            f.rounds.append(quantile(sorted(samples), 0.5))
            f.raw.append((before + raw) / 2)


def say(text, keep=True):
    """Progress, on stderr; what is not kept is overwritten on a terminal."""
    if sys.stderr.isatty():
        print("\r\033[K" + text[:140], end="\n" if keep else "", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("benches", nargs="*", metavar="BENCH", help=f"which (default all): {', '.join(BENCHES)}")
    p.add_argument("--quick", action="store_true", help="few short turns: a look in under 3 minutes, not a result")
    p.add_argument("--rounds", type=int, help="turns for each figure (default 24, with --quick 4)")
    p.add_argument("--budget", type=float, default=10, help="milliseconds of a turn (default 10)")
    p.add_argument("--samples", type=int, default=100, help="samples of a turn at most (default 100)")
    p.add_argument("--only", default="", help="regular expression: only figures whose 'case size mode subject/variant' it matches")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench", help="where the programs were built (default build/bench)")
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build/bench", help="where the JSON lines go (default build/bench)")
    options = p.parse_args()
    options.rounds = options.rounds or (4 if options.quick else 24)
    unknown = set(options.benches) - set(BENCHES)
    if unknown:
        p.error(f"no such bench: {', '.join(sorted(unknown))} (there are {', '.join(BENCHES)})")
    commands = find_programs(options.build)
    if "limits_small" not in commands:
        p.error(f"nothing is built in {options.build}: run `make bench`, or cmake --preset bench && cmake --build build/bench")
    options.out.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    if load > 0.5:
        say(f"warning: the load of this machine is {load:.1f}: something else is running, these figures are noise")
    failures = []
    for bench in options.benches or BENCHES:
        begin = time.monotonic()
        failures += conduct(bench, commands, options)
        say(f"{bench}: measured in {time.monotonic() - begin:.0f} s")
    for f in failures:
        say("FAILED " + f)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
