#!/usr/bin/env python3
"""How long compiling takes: the program of examples/01_hello, alone, and the whole library on 2 cores. Preset `release`, without a compiler
cache. Writes OUT/compile.jsonl, one JSON line per figure, seconds."""
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
WITHOUT_CACHE = {**os.environ, "CCACHE_DISABLE": "1"}


def timed(command, folder):
    begin = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, env=WITHOUT_CACHE, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def record(case, samples):
    s = sorted(samples)
    median = statistics.median(s)
    return {"bench": "compile", "case": case, "size": 0, "subject": "towline", "unit": "s", "median": round(median, 3), "min": round(s[0], 3),
            "p90": round(s[-1], 3), "spread": round((s[-1] - s[0]) / median, 3), "samples": len(s), "mode": "untouched"}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--quick", action="store_true", help="01_hello only, three times")
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build/bench", help="where the JSON lines go (default build/bench)")
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="towline-compile-") as folder:
        subprocess.run(["cmake", "--preset", "release", "-B", folder, "-DTOWLINE_TESTS=OFF", "-DCMAKE_CXX_COMPILER_LAUNCHER="], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
        commands = json.loads((pathlib.Path(folder) / "compile_commands.json").read_text())
        hello = [c for c in commands if "/examples/01_hello/" in c["file"]]
        if len(hello) != 1:
            sys.exit(f"expected one source file in examples/01_hello, found {len(hello)}")
        os.makedirs(pathlib.Path(folder) / pathlib.Path(hello[0].get("output", "x")).parent, exist_ok=True)
        build = lambda: timed(["sh", "-c", hello[0]["command"]], hello[0]["directory"])
        build()
        records = [record("hello", [build() for _ in range(3 if options.quick else 7)])]
        if not options.quick:
            samples = []
            for _ in range(3):
                subprocess.run(["cmake", "--build", folder, "--target", "clean"], check=True, stdout=subprocess.DEVNULL)
                samples.append(timed(["cmake", "--build", folder, "-j", "2", "--target", "towline"], folder))
            records.append(record("library", samples))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "compile.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    for r in records:
        print(f"compile {r['case']}: {r['median']:.2f} s (min {r['min']:.2f}, {r['samples']} times)", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
