"""The JSON lines in build/bench/mpi_*.jsonl: writing and reading. docs/benchmarks.md says what stands in them."""
from __future__ import annotations

import json
import pathlib
import statistics
import sys
from typing import Any

from conduct import summary
from table import duration

Record = dict[str, Any]
RAW, LIMITS = "raw", ("raw", "by_hand", "memcpy", "process", "glibc")


def record(case: str, size: int, subject: str, unit: str, rounds: list[list[float]], raw_ns: list[float] | None = None,
           **more: Any) -> Record:
    """One figure: `rounds` holds every sample, in `unit`; `raw_ns` the thermometer of each round."""
    samples = [s for r in rounds for s in r]
    made: Record = {"bench": "mpi", "case": case, "size": size, "subject": subject, "unit": unit}
    made |= {name: value for name, value in more.items() if value != ""}
    made |= summary(samples) | {"samples": len(samples)}
    medians = [statistics.median(r) for r in rounds]
    if raw_ns:
        made["raw_ns"] = round(statistics.median(raw_ns), 2)
        made["rounds_raw_ns"] = [round(r, 2) for r in raw_ns]
    made["rounds"] = medians
    made["all"] = rounds
    return made


def same_figure(r: Record) -> tuple[Any, ...]:
    """What tells a figure from others, whoever's it is; a subject from other subjects."""
    return (r["case"], r["size"], r.get("mode", ""), r.get("cache", ""), r.get("memory", "heap"), r.get("variant", ""),
            r.get("place", ""), r["subject"] if r["case"] == "subject" else "")


def value(r: Record | None) -> str:
    """A median with its unit."""
    if r and r["unit"] not in ("s", "us", "ns"):
        return f"{r['median']:.3g} {r['unit']}"
    return duration(r)


def write(folder: pathlib.Path, group: str, records: list[Record], keep: bool = False, bench: str = "mpi") -> None:
    """Writes a group's file; with `keep` figures that are not among `records` stay in it."""
    folder.mkdir(parents=True, exist_ok=True)
    path, replaced = folder / f"{bench}_{group}.jsonl", {same_figure(r) for r in records}
    old = [json.loads(line) for line in path.read_text().splitlines()] if keep and path.exists() else []
    with open(path, "w") as out:
        for r in [r for r in old if same_figure(r) not in replaced] + records:
            out.write(json.dumps(r) + "\n")


class Results:
    """Everything that was measured."""

    def __init__(self, records: list[Record]) -> None:
        self.records = [{"variant": "", "mode": "untouched", "cache": "warm", "memory": "heap"} | r for r in records]

    @staticmethod
    def load(folder: pathlib.Path, bench: str = "mpi") -> Results:
        records = []
        for path in sorted(folder.glob(f"{bench}_*.jsonl")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                try:
                    records.append(json.loads(line))
                except json.JSONDecodeError as e:
                    sys.exit(f"{path}:{number}: not a JSON line: {e}")
        return Results(records)

    def find(self, **keys: Any) -> list[Record]:
        """Figures with these values, the lowest median first; from the heap if no memory is named."""
        keys = {"memory": "heap"} | keys
        found = [r for r in self.records if "median" in r and all(r.get(k) == v for k, v in keys.items())]
        return sorted(found, key=lambda r: float(r["median"]))

    def one(self, **keys: Any) -> Record | None:
        found = self.find(**keys)
        return found[0] if found else None

    def peers(self, **keys: Any) -> list[Record]:
        """The other libraries, best first; Towline with other settings is none."""
        return [r for r in self.find(**keys) if r["subject"].partition("-")[0] not in ("towline", *LIMITS)]

    def best_peer(self, **keys: Any) -> Record | None:
        found = self.peers(**keys)
        return found[0] if found else None

    def about(self) -> list[Record]:
        """The subjects: what they are and how they were started."""
        return [r for r in self.records if r["case"] == "subject"]
