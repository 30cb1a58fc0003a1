"""A bar of what is done, on standard error: overwritten on a terminal, a line for each figure elsewhere."""
from __future__ import annotations

import sys
import time


class Progress:
    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.begin = time.monotonic()
        self.expected, self.done = 1.0, 0.0
        self.text = ""
        self.shown = 0.0

    def expect(self, seconds: float) -> None:
        """How long everything will take; steps are told in the same measure."""
        self.expected, self.done = max(seconds, 1e-9), 0.0

    def step(self, seconds: float) -> None:
        self.done += seconds
        if sys.stderr.isatty() and time.monotonic() - self.shown > 0.2:
            self._show()

    def now(self, text: str) -> None:
        self.text = text
        self._show()

    def seconds(self) -> float:
        return time.monotonic() - self.begin

    def say(self, text: str) -> None:
        """A line that stays."""
        if not self.quiet:
            print(("\r\033[K" if sys.stderr.isatty() else "") + text, file=sys.stderr, flush=True)

    def bar(self) -> str:
        share = min(self.done / self.expected, 1)
        spent = self.seconds()
        left = f", {spent / share * (1 - share):.0f} s left" if share > 0.02 else ""
        filled = round(30 * share)
        return f"[{'#' * filled}{'.' * (30 - filled)}] {100 * share:3.0f} %, {spent:.0f} s{left}: {self.text}"

    def _show(self) -> None:
        if self.quiet:
            return
        self.shown = time.monotonic()
        if sys.stderr.isatty():
            print("\r\033[K" + self.bar()[:120], end="", file=sys.stderr, flush=True)
        else:
            print(self.bar(), file=sys.stderr, flush=True)
