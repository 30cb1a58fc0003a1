"""Measures the network, between hosts that are network namespaces: Towline, other MPI libraries over TCP, sockets. `python3 bench/net
--help`; docs/benchmarks.md says how it measures."""
from __future__ import annotations

import argparse
import os
import pathlib
import signal
import sys

sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

from mpi import peers  # noqa: E402
from mpi.progress import Progress  # noqa: E402
from mpi.records import Results  # noqa: E402
from mpi.subjects import ROOT, Places  # noqa: E402
from net import programs, report  # noqa: E402
from net.measure import House, Impossible, Plan  # noqa: E402
from net.subjects import subjects  # noqa: E402

OUT = ROOT / "build/bench"


def measure(options: argparse.Namespace) -> int:
    places, progress = Places(options.build), Progress()
    if not (places.towline / "bin/mpicc").exists():
        sys.exit(f"nothing is built in {places.towline}: run `make bench-net`")
    missing = [] if options.offline else peers.install(places)
    for line in (*missing, *peers.build(places, [], ("bench", "connect"))):
        progress.say(line)
    failed = programs.build(places)
    if (load := os.getloadavg()[0]) > 0.5:
        progress.say(f"warning: the load of this machine is {load:.1f}: something else is running, these figures are noise")
    plan = Plan.of(options.quick)
    plan.only = options.only
    if not plan.only:
        for old in options.out.glob("net_*.jsonl"):
            old.unlink()
    house = House(places, subjects(places), plan, options.out, progress)
    try:
        house.run()
    except Impossible as e:
        sys.exit(f"no hosts can be made here: {e}. Network namespaces need root and the package iproute2.")
    progress.say(f"measured in {progress.seconds():.0f} s")
    for fault in house.faults:
        progress.say("left out: " + fault)
    for failure in (*failed, *house.failures):
        progress.say("FAILED " + failure)
    return 1 if failed or house.failures else 0


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("what", choices=("measure", "table"), help="measure: writes OUT/net_*.jsonl; table reads them")
    p.add_argument("--quick", action="store_true", help="few rounds: a look in under 4 minutes, not a result")
    p.add_argument("--offline", action="store_true", help="installs nothing")
    p.add_argument("--only", default="", help="regular expressions with commas between: only '2 x 2 bcast 65536' and the like that one of "
                                              "them matches, or 'connect', 'transport', 'incast'")
    p.add_argument("--build", type=pathlib.Path, default=Places.towline, help="where Towline was built (build/release)")
    p.add_argument("--out", type=pathlib.Path, default=OUT, help="where the JSON lines go (build/bench)")
    p.add_argument("--strict", action="store_true", help="table: ends with 1 if something asked for is not reached")
    options = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # hosts are removed on the way
    if options.what == "measure":
        return measure(options)
    results = Results.load(options.out, "net")
    if not results.records:
        sys.exit(f"no figures in {options.out}: run `make bench-net`")
    return report.show(results, options.strict)


if __name__ == "__main__":
    sys.exit(main())
