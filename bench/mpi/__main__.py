"""The measuring house of MPI: one program on many libraries. `python3 bench/mpi --help`; docs/benchmarks.md says how it measures."""
from __future__ import annotations

import argparse
import pathlib
import re
import sys

sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

from mpi import command, pictures, report  # noqa: E402
from mpi.measure import House, Plan  # noqa: E402
from mpi.subjects import ROOT, subjects  # noqa: E402

OUT = ROOT / "build/bench"


def measure(options: argparse.Namespace) -> int:
    site = command.prepare(options, "bench-mpi")
    plan = Plan.of(options.quick)
    plan.only, plan.sizes = options.only, options.sizes
    plan.sweeps, plan.dense = options.sweeps or plan.sweeps, options.dense
    everyone = [s for s in subjects(site.places, site.cpus) if re.search(options.subjects, s.name)]
    command.forget(plan, options.out)
    return command.run(House(site.places, site.cpus, everyone, plan, options.out, site.progress))


def sizes(text: str) -> frozenset[int]:
    return frozenset(int(word.rstrip("KM")) * {"K": 1 << 10, "M": 1 << 20}.get(word[-1:], 1) for word in text.upper().split(",") if word)


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    command.add_options(p, OUT, "5 of 4 rounds, with --quick 3 of 2")
    p.add_argument("--dense", action="store_true",
                   help="the whole grid: every size, from every memory, iterations, first messages; hours, and meant with --only, --sizes "
                        "and --subjects")
    p.add_argument("--only", default="",
                   help="regular expressions with commas between: only cases whose 'name size mode cache memory' one of them matches, or "
                        "'start', 'crowd', 'gentle', 'overlap'")
    p.add_argument("--sizes", type=sizes, default=frozenset(),
                   help="only these sizes, with commas between: 8,64K,1M; with --dense any size")
    p.add_argument("--subjects", default="", help="regular expression: only libraries whose name it matches")
    p.add_argument("--every", action="store_true", help="table: the median of every subject too")
    p.add_argument("--strict", action="store_true", help="table: ends with 1 if something asked for is not reached")
    options = p.parse_args()
    if options.what == "measure":
        return measure(options)
    results = command.figures(options.out, "bench-mpi")
    if options.what == "plot":
        for path in pictures.draw(results, options.out):
            print(path)
        return 0
    return report.show(results, options.every, options.strict)


if __name__ == "__main__":
    sys.exit(main())
