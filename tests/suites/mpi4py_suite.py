"""mpi4py's own test suite on Towline. Usage: mpi4py_suite.py [--ranks 1,2,3,4] [--hosts] [--quick] [--only REGEX of modules]"""

import argparse
import dataclasses
import json
import pathlib
import re
import sys

import jobs
import place
import python_environment
import sources

EXCLUDED = place.HERE / "mpi4py" / "excluded.txt"
QUICK = "test_(p2p_obj|p2p_buf$|cco_obj$|cco_buf$|comm$|group|status|request|datatype|grequest|info|attributes)"
LIMIT = 900   # seconds for one run of the suite


@dataclasses.dataclass(frozen=True)
class Result:
    ranks: int
    code: int
    run: int         # tests that ran on each rank
    skipped: int     # by the suite itself
    failures: list[str]
    seconds: float


def excluded() -> tuple[list[str], list[str]]:
    """Names of modules, and parts of names of tests."""
    rows = [line.split(maxsplit=2) for line in EXCLUDED.read_text().splitlines() if line and not line.startswith("#")]
    if any(len(row) < 3 or row[0] not in ("module", "test") for row in rows):
        raise ValueError(f"{EXCLUDED}: a line is: module or test, a name, a reason")
    return [row[1] for row in rows if row[0] == "module"], [row[1] for row in rows if row[0] == "test"]


def run(python: pathlib.Path, ranks: int, only: str, hosts: bool) -> tuple[Result, jobs.Outcome]:
    modules, tests = excluded()
    main = sources.unpacked("mpi4py") / "test" / "main.py"
    options = ["-q", "--no-builddir", "-e", f"({'|'.join(modules)})\\.py$"]
    options += [word for test in tests for word in ("-x", test)]
    if only:
        options += ["-i", "|".join(f"{part}" for part in [only.replace("$", r"\.py$")])]
    outcome = jobs.run([*place.launcher(hosts, LIMIT, ranks), python, main, *options], LIMIT + 30, keep=400_000,
                       LD_LIBRARY_PATH=str(place.LIBRARY.parent), PYTHONDONTWRITEBYTECODE="1")
    counts = [int(number) for number in re.findall(r"^Ran (\d+) tests", outcome.output, re.MULTILINE)]
    skipped = [int(number) for number in re.findall(r"skipped=(\d+)", outcome.output)]
    failures = sorted(set(re.findall(r"^(?:ERROR|FAIL): (.*)$", outcome.output, re.MULTILINE)))
    if outcome.code == 0 and (len(counts) != ranks or not counts or min(counts) == 0):
        failures.append(f"{len(counts)} of {ranks} ranks reported, with {counts} tests")
    return Result(ranks, outcome.code, max(counts, default=0), max(skipped, default=0), failures, round(outcome.seconds, 1)), outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", default="", help="1,2,3,4; quick: 3")
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--hosts", action="store_true", help="4 ranks on two nodes of this machine, by UDP")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    try:
        python = python_environment.ready()
    except sources.Unavailable as error:
        print(error, file=sys.stderr)
        return 1
    results = []
    for ranks in map(int, (options.ranks or ("4" if options.hosts else "3" if options.quick else "1,2,3,4")).split(",")):
        result, outcome = run(python, ranks, QUICK if options.quick else options.only, options.hosts)
        results.append(result)
        where = f"{ranks} ranks{' of two nodes' if options.hosts else ''}"
        print(f"mpi4py on {where}: {result.run} tests a rank, {result.skipped} skipped by themselves, {len(result.failures)} failed, "
              f"{result.seconds:.0f} s", flush=True)
        if result.code or result.failures:
            print("\n".join(result.failures) or f"exit code {result.code}", outcome.output[-4000:], sep="\n", flush=True)
    place.RESULTS.mkdir(parents=True, exist_ok=True)
    name = f"mpi4py{'-hosts' if options.hosts else ''}{'-quick' if options.quick or options.only else ''}.json"
    (place.RESULTS / name).write_text(json.dumps([dataclasses.asdict(result) for result in results], indent=1) + "\n")
    return 1 if any(result.code or result.failures for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
