"""The measuring house of MPI: one program on many libraries. `python3 bench/mpi --help`; docs/benchmarks.md says how it measures."""
from __future__ import annotations

import argparse
import os
import pathlib
import re
import sys

sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

from mpi import peers, pictures, report  # noqa: E402
from mpi.measure import House, Plan  # noqa: E402
from mpi.progress import Progress  # noqa: E402
from mpi.records import Results  # noqa: E402
from mpi.subjects import ROOT, Places, subjects  # noqa: E402

OUT = ROOT / "build/bench"


def measure(options: argparse.Namespace) -> int:
    places, progress = Places(options.build), Progress()
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        sys.exit("two processors are needed, and this process may use only one")
    cpus = (allowed[0], allowed[1])
    if not (places.towline / "bin/mpicc").exists():
        sys.exit(f"nothing is built in {places.towline}: run `make bench-mpi`")
    for line in (*([] if options.offline else peers.install(places)), *peers.build(places, [])):
        progress.say(line)
    load = os.getloadavg()[0]
    if load > 0.5:
        progress.say(f"warning: the load of this machine is {load:.1f}: something else is running, these figures are noise")
    plan = Plan.of(options.quick)
    plan.only, plan.sizes = options.only, options.sizes
    plan.sweeps, plan.dense = options.sweeps or plan.sweeps, options.dense
    everyone = [s for s in subjects(places, cpus) if re.search(options.subjects, s.name)]
    if not plan.part():
        for old in options.out.glob("mpi_*.jsonl"):
            old.unlink()
    house = House(places, cpus, everyone, plan, options.out, progress)
    house.run()
    progress.say(f"measured in {progress.seconds():.0f} s")
    for fault in house.faults:
        progress.say("left out: " + fault)
    for failure in house.failures:
        progress.say("FAILED " + failure)
    return 1 if house.failures else 0


def sizes(text: str) -> frozenset[int]:
    return frozenset(int(word.rstrip("KM")) * {"K": 1 << 10, "M": 1 << 20}.get(word[-1:], 1) for word in text.upper().split(",") if word)


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("what", choices=("measure", "table", "plot"), help="measure: writes OUT/mpi_*.jsonl; table and plot read them")
    p.add_argument("--quick", action="store_true", help="fewer sizes and rounds: a look in under 3 minutes, not a result")
    p.add_argument("--dense", action="store_true",
                   help="the whole grid: every size, from every memory, iterations, first messages; hours, and meant with --only, --sizes "
                        "and --subjects")
    p.add_argument("--only", default="",
                   help="regular expressions with commas between: only cases whose 'name size mode cache memory' one of them matches, or "
                        "'start', 'crowd', 'gentle', 'overlap'")
    p.add_argument("--sizes", type=sizes, default=frozenset(),
                   help="only these sizes, with commas between: 8,64K,1M; with --dense any size")
    p.add_argument("--subjects", default="", help="regular expression: only libraries whose name it matches")
    p.add_argument("--sweeps", type=int, help="times that all figures are gone through (5 of 4 rounds, with --quick 3 of 2)")
    p.add_argument("--offline", action="store_true", help="installs nothing")
    p.add_argument("--every", action="store_true", help="table: the median of every subject too")
    p.add_argument("--strict", action="store_true", help="table: ends with 1 if something asked for is not reached")
    p.add_argument("--build", type=pathlib.Path, default=Places.towline, help="where Towline was built (build/release)")
    p.add_argument("--out", type=pathlib.Path, default=OUT, help="where the JSON lines and pictures go (build/bench)")
    options = p.parse_args()
    if options.what == "measure":
        return measure(options)
    results = Results.load(options.out)
    if not results.records:
        sys.exit(f"no figures in {options.out}: run `make bench-mpi`")
    if options.what == "plot":
        for path in pictures.draw(results, options.out):
            print(path)
        return 0
    return report.show(results, options.every, options.strict)


if __name__ == "__main__":
    sys.exit(main())
