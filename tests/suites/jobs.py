"""Runs commands with a time limit: whatever they print is kept, whatever they start is ended with them."""

import dataclasses
import os
import pathlib
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from place import environment

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Outcome:
    code: int        # negative: the launcher itself was killed by that signal
    hung: bool       # it was ended by the time limit
    seconds: float
    output: str      # standard output and error, as they came; the middle of very long ones is left out


def run(command: list[str | pathlib.Path], limit: float, *, cwd: pathlib.Path | None = None, keep: int = 60_000,
        **variables: str) -> Outcome:
    """Runs it in a session of its own, without input."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as file:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=cwd, start_new_session=True,
                              env=environment(**variables)) as process:
            hung = False
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                hung = True
                process.terminate()  # the launcher ends its ranks in order
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    pass
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        seconds = time.monotonic() - begin
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if size <= keep:
            text = file.read()
        else:
            head = file.read(keep // 2)
            file.seek(size - keep // 2)
            text = head + b"\n[...]\n" + file.read()
    return Outcome(process.returncode, hung, seconds, text.decode(errors="replace"))


def each(items: Iterable[Item], work: Callable[[Item], Result], at_once: int, told: Callable[[int, int, Result], None]) -> list[Result]:
    """work(item) for all of them, so many at once; told(done, all, result) after each. In the order of the items."""
    items = list(items)
    results: dict[int, Result] = {}
    with ThreadPoolExecutor(at_once) as pool:
        futures = {pool.submit(work, item): number for number, item in enumerate(items)}
        for future in as_completed(futures):
            results[futures[future]] = future.result()
            told(len(results), len(items), results[futures[future]])
    return [results[number] for number in range(len(items))]
