"""Programs of some ranks, mostly two, that wait for their turn (turn.h says in which words), and the turns."""
from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
from typing import TextIO

from mpi.cases import Case

WARM_SECONDS = 1.5e-3   # calibration stops at a turn that takes as long
SHORTEST_BATCH = 25e-6  # seconds: what a clock costs (about 30 ns) must not be seen
LATEST = 4096           # batches of a turn, at most (turn.h)


class Broken(Exception):
    """A program that does not answer, or not as it should."""


class Wrong(Exception):
    """A turn that a program refused, or in which data were not what was sent."""


class Pair:
    """A started program of two ranks, or of another number. Its processes sleep until they get a turn."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], patience: float = 60,
                 options: tuple[str, ...] = (), ranks: int = 2) -> None:
        """Starts `command` with the path of a socket and `options` behind it, and waits for all ranks."""
        self.name, self.patience, self.words = name, patience, ""
        self.cpus: list[str] = [""] * ranks
        self.ranks: list[socket.socket] = []
        self.lines: list[TextIO] = []
        self.log = tempfile.TemporaryFile("w+")
        with tempfile.TemporaryDirectory(prefix="towline-bench-") as folder, socket.socket(socket.AF_UNIX) as server:
            path = os.path.join(folder, "conductor")
            server.bind(path)
            server.listen(ranks)
            self.process = subprocess.Popen([*command, path, *options], env=environment, stdin=subprocess.DEVNULL, stdout=self.log,
                                            stderr=self.log, start_new_session=True)
            try:
                self._meet(server)
            except BaseException:
                self.kill()
                raise

    def _meet(self, server: socket.socket) -> None:
        server.settimeout(0.1)
        end = time.monotonic() + self.patience
        met: dict[int, tuple[socket.socket, TextIO]] = {}
        while len(met) < len(self.cpus):
            try:
                connection = server.accept()[0]
            except TimeoutError:
                if self.process.poll() is not None:
                    raise Broken(f"{self.name} ended with code {self.process.returncode} before it began{self._last_words()}") from None
                if time.monotonic() > end:
                    raise Broken(f"{self.name} did not start within {self.patience:g} s{self._last_words()}") from None
                continue
            connection.settimeout(self.patience)
            lines = connection.makefile("r")
            word, rank, cpus, words = (lines.readline().rstrip("\n").split(" ", 3) + [""] * 4)[:4]
            if word != "rank" or not rank.isdecimal() or int(rank) >= len(self.cpus) or int(rank) in met:
                raise Broken(f"{self.name} began with what is not understood: {word} {rank}")
            met[int(rank)] = (connection, lines)
            self.cpus[int(rank)] = cpus
            if rank == "0":
                self.words = " ".join(words.split())
        for rank_number in range(len(self.cpus)):
            self.ranks.append(met[rank_number][0])
            self.lines.append(met[rank_number][1])

    def _last_words(self) -> str:
        if self.log.closed:
            return ""
        self.log.seek(0)
        lines = [line for line in self.log.read().splitlines() if line.strip()]
        return f": {lines[-1]}" if lines else ""

    def bound_to(self, cpus: tuple[int, ...]) -> bool:
        """Whether the ranks may run on these processors alone, one each; on all of them, where they are fewer than the ranks."""
        if len(cpus) < len(self.cpus):
            return all(told == ",".join(str(cpu) for cpu in cpus) for told in self.cpus)
        return sorted(self.cpus) == sorted(str(cpu) for cpu in cpus)

    def turn(self, name: str, case: Case, batch: int, batches: int) -> list[float]:
        """Nanoseconds an operation, one sample a batch."""
        line = f"turn {name} {case.size} {case.mode} {case.cache} {batch} {batches} {case.memory}\n".encode()
        answers = []
        try:
            for connection in self.ranks:
                connection.sendall(line)
            for lines in self.lines:
                answer = lines.readline()
                if not answer:
                    raise Broken(f"{self.name} ended{self._last_words()}")
                answers.append(answer.rstrip("\n"))
        except OSError as e:
            self.kill()
            raise Broken(f"{self.name} did not answer for {self.patience:g} s: {e}") from None
        for answer in answers:
            if answer.startswith("failed "):
                raise Wrong(f"{self.name}: {answer[7:]}")
        word, _, samples = answers[0].partition(" ")
        if word != "samples" or any(answer != "done" for answer in answers[1:]):
            raise Broken(f"{self.name} answered what is not understood: {answers}")
        return [float(s) for s in samples.split()]

    def calibrate(self, name: str, case: Case, budget: float, most: int, shortest: float = SHORTEST_BATCH) -> tuple[int, int]:
        """(operations of a batch, batches) of a turn of `budget` seconds and `most` samples."""
        operations, took = 1, 0.0
        while True:
            times = []
            for _ in range(4):  # the first may connect, touch pages, or meet somebody else on the processor
                begin = time.monotonic()
                self.turn(name, case, operations, 1)
                times.append(time.monotonic() - begin)
            took = min(times)
            if took >= min(WARM_SECONDS, budget / 2) or operations >= 1 << 20:
                break
            operations *= 4
        each = took / (1 + operations * 9 / 8)
        # A batch is as short as the clock allows, and longer where so many would be more samples than wanted.
        batch = max(1, round(max(shortest, budget / most) / each))
        return batch, max(2, min(most, LATEST, round(budget / (batch * each))))

    def leave(self) -> str | None:
        """Ends it; returns what was wrong with that."""
        self._close()
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"{self.name} did not leave and was killed"
        words = self._last_words() if code else ""
        self.log.close()
        return f"{self.name} ended with code {code}{words}" if code else None

    def kill(self) -> None:
        """Ends it at once, whatever it does, with what it has started."""
        self._close()
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal_number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(3)
                break
        self.log.close()

    def _close(self) -> None:
        for lines in self.lines:
            lines.close()
        for connection in self.ranks:
            connection.close()
        self.lines, self.ranks = [], []


def thermometer(limits: pathlib.Path, cpus: tuple[int, int], patience: float = 60) -> Pair:
    """The limits by hand; they also tell how far apart the two processors are right now."""
    return Pair("limits", [str(limits)], dict(os.environ), patience, (str(cpus[0]), str(cpus[1])))


def read_raw(pair: Pair) -> float:
    """Nanoseconds one way of the raw ping-pong, right now."""
    samples = sorted(pair.turn("raw", Case("", "raw", 8), 200, 5))
    return samples[len(samples) // 2]
