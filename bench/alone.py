#!/usr/bin/env python3
"""What the launcher costs programs that do not communicate: each runs alone and as a rank of a job of one, in turns.

    python3 bench/alone.py [--rounds N] [--towline PATH] [--only NAME]

Prints, for each program, medians of time, processor time and peak memory without and with the launcher, the median of the ratios within a
round, and their spread (the quartiles). Time is that of the program itself; the launcher's own start and end are not in it. Asked: at most
1 % more time, 2 % more memory.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

PYTHON = """
import json, re, zlib
data = [{"id": i, "name": "item %d" % i, "values": list(range(i % 50))} for i in range(40000)]
text = json.dumps(data)
back = json.loads(text)
words = re.findall(r"[a-z]+ [0-9]+", text)
counts = {}
for w in words:
    counts[w] = counts.get(w, 0) + 1
packed = zlib.compress(text.encode(), 6)
assert len(counts) == 40000 and zlib.decompress(packed).decode() == text and back == data
"""


def programs(folder: pathlib.Path) -> dict[str, list[str]]:
    lines = folder / "lines"
    with open(lines, "w") as file:
        number = 1
        for _ in range(1_000_000):
            number = number * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
            file.write(f"{number:020d} some words behind it\n")
    source = ROOT / "src/remote/world.cpp"
    return {
        "compiler": ["c++", "-std=c++20", "-O2", f"-I{ROOT}/include", f"-I{ROOT}/src", "-c", str(source), "-o", str(folder / "out.o")],
        "python": [sys.executable, "-c", PYTHON],
        "sort": ["sort", "--parallel=1", "-S", "200M", str(lines), "-o", str(folder / "sorted")],
    }


def inner(command: list[str]) -> None:
    """Runs it and prints what it took."""
    begin = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, used = os.wait4(pid, 0)
    took = time.perf_counter() - begin
    if status != 0:
        sys.exit(f"{command[0]} failed: {status}")
    print(json.dumps({"time": took, "processor": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss}))


def measure(launcher: list[str], command: list[str]) -> dict[str, float]:
    done = subprocess.run([*launcher, sys.executable, os.path.abspath(__file__), "--inner", *command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--inner":
        return inner(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--towline", default=str(ROOT / "build/release/bin/towline"))
    parser.add_argument("--only", help="a program's name")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, command in programs(pathlib.Path(folder)).items():
            if options.only and options.only != name:
                continue
            launched = [options.towline, "run", "-n", "1"]
            rounds: list[list[dict[str, float]]] = []
            for i in range(options.rounds + 1):
                order = 1 if i % 2 == 0 else -1
                both = [measure(how, command) for how in ([], launched)[::order]][::order]
                if i > 0:  # the first warms the page cache
                    rounds.append(both)
            for what, unit, scale in (("time", "s", 1.0), ("processor", "s", 1.0), ("memory", "MiB", 1024.0)):
                without, under = ([r[k][what] / scale for r in rounds] for k in (0, 1))
                ratios = sorted(b / a for a, b in zip(without, under))
                low, middle, high = statistics.quantiles(ratios, n=4)
                print(f"{name:10} {what:10} {statistics.median(without):8.3f} {statistics.median(under):8.3f} {unit:4} x {middle:.4f} "
                      f"({low:.4f} to {high:.4f})", flush=True)


if __name__ == "__main__":
    main()
