"""Debian's MPICH test suite on Towline; a whole run writes docs/conformance.md. Usage: mpich_suite.py [options], see --help"""

import argparse
import collections
import sys

import place
import sources
from mpich import run, table

RESULTS = place.RESULTS / "mpich.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only what takes little time, and fits on 4 ranks")
    parser.add_argument("--only", default="", metavar="REGEX", help="only tests whose name, such as 'pt2pt/sendall 4', matches")
    parser.add_argument("--largest", type=int, default=1000, metavar="RANKS", help="only tests of so many ranks at most")
    parser.add_argument("--hosts", action="store_true", help="on two nodes of this machine, by UDP: tests of 2 to 4 ranks")
    parser.add_argument("--at-once", type=int, default=run.CORES, metavar="JOBS", help="so many jobs at the same time")
    options = parser.parse_args()
    try:
        runner = run.Runner(options.only, options.quick, min(options.largest, 4) if options.hosts else options.largest, options.hosts)
    except sources.Unavailable as error:
        print(error, file=sys.stderr)
        return 1
    runner.build()
    results = runner.run(options.at_once)
    whole = not (options.quick or options.only or options.hosts or options.largest < 1000)
    run.save(results, RESULTS if whole else RESULTS.with_stem("mpich-hosts" if options.hosts else "mpich-part"))
    if whole:
        table.write(results)
    counts = collections.Counter(result.how for result in results)
    print(f"MPICH's suite, {len(results)} tests: " + ", ".join(f"{counts[how]} {words}" for how, words in run.WORDS.items() if counts[how]))
    return 1 if sum(counts[how] for how in ("failed", "hung", "crashed", "fixed")) else 0


if __name__ == "__main__":
    sys.exit(main())
