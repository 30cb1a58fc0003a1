"""NetPIPE, built with our mpicc, on 2 ranks: all its message sizes, in each of its modes. Usage: netpipe_suite.py [--quick]"""

import argparse
import json
import pathlib
import sys

import jobs
import place
import sources

# What is asked of NetPIPE, by its options: -I empties the cache, -a posts receives ahead, -S sends synchronously, -s streams one way,
# -2 both ways at once, -i looks at every byte that arrives, -z receives from any source.
MODES = {"plain": [], "integrity": ["-i"], "ahead": ["-a"], "synchronous": ["-S"], "stream": ["-s"], "both ways": ["-a", "-2"],
         "any source": ["-z"], "cold": ["-I"]}
LARGEST = 8 << 20     # NetPIPE goes on until a message takes too long; this bound makes every run the same
LIMIT = 240


def build() -> pathlib.Path:
    root = sources.unpacked("netpipe") / "src"
    program = place.WORK / "netpipe" / place.BUILD.name / "NPmpi"
    files = [root / "netpipe.c", root / "mpi.c"]
    newest = max(file.stat().st_mtime for file in [*files, place.MPICC, *(place.PROJECT / "include").glob("mpi*.h")])
    if not program.exists() or program.stat().st_mtime < newest:
        program.parent.mkdir(parents=True, exist_ok=True)
        done = jobs.run([place.MPICC, "-std=gnu89", "-w", "-O2", "-DMPI", f"-I{root}", *files, "-o", program], 120)
        if done.code:
            raise RuntimeError(f"NetPIPE does not compile:\n{done.output}")
    return program


def measured(program: pathlib.Path, options: list[str], largest: int) -> tuple[list[list[float]], jobs.Outcome]:
    """Rows of bytes, Mb/s and seconds, as NetPIPE writes them; and how the run ended."""
    rows = program.parent / "np.out"
    rows.unlink(missing_ok=True)
    outcome = jobs.run([place.MPIEXEC, "-timeout", str(LIMIT), "-n", "2", program, "-n", "5", "-u", str(largest), "-o", rows, *options],
                       LIMIT + 15, cwd=program.parent)
    lines = rows.read_text().splitlines() if rows.exists() else []
    return [[float(word) for word in line.split()] for line in lines if line.strip()], outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two modes, messages up to 64 KiB")
    quick = parser.parse_args().quick
    try:
        program = build()
    except sources.Unavailable as error:
        print(error, file=sys.stderr)
        return 1
    results, failed = {}, 0
    for mode, options in MODES.items():
        if quick and mode not in ("plain", "integrity"):
            continue
        rows, outcome = measured(program, options, 1 << 16 if quick else LARGEST)
        good = outcome.code == 0 and len(rows) >= 25 and rows[0][0] <= 8 and rows[-1][0] > (1 << 15 if quick else LARGEST // 2)
        wrong = "Integrity check failed" in outcome.output
        results[mode] = {"code": outcome.code, "rows": rows}
        if good and not wrong:
            span = f"{len(rows)} sizes from {rows[0][0]:.0f} to {rows[-1][0]:.0f} bytes"
            print(f"NetPIPE, {mode}: {span}, {outcome.seconds:.1f} s", flush=True)
            continue
        failed += 1
        print(f"NetPIPE, {mode}, failed: exit code {outcome.code}, {len(rows)} sizes\n{outcome.output[-3000:]}", flush=True)
    place.RESULTS.mkdir(parents=True, exist_ok=True)
    (place.RESULTS / ("netpipe-quick.json" if quick else "netpipe.json")).write_text(json.dumps(results) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
