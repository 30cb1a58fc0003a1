"""What the commands `bench/mpi` and `bench/layout` share: their options, what a measurement needs, and its end."""
from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import sys

from mpi import peers
from mpi.measure import House, Plan
from mpi.progress import Progress
from mpi.records import Results
from mpi.subjects import ROOT, Places


def add_options(p: argparse.ArgumentParser, out: pathlib.Path, sweeps: str) -> None:
    p.add_argument("what", choices=("measure", "table", "plot"), help="measure: writes OUT/mpi_*.jsonl; table and plot read them")
    p.add_argument("--quick", action="store_true", help="fewer sizes and rounds: a look in under 3 minutes, not a result")
    p.add_argument("--sweeps", type=int, help=f"times that all figures are gone through ({sweeps})")
    p.add_argument("--offline", action="store_true", help="installs nothing")
    p.add_argument("--build", type=pathlib.Path, default=Places.towline, help="where Towline was built (build/release)")
    p.add_argument("--before", type=pathlib.Path, help="where an older Towline was built: measured beside, and compared at the table's end")
    p.add_argument("--out", type=pathlib.Path, default=out, help=f"where the JSON lines and pictures go ({out.relative_to(ROOT)})")


@dataclasses.dataclass
class Site:
    """Where and on what is measured."""

    places: Places
    progress: Progress
    cpus: tuple[int, int]


def prepare(options: argparse.Namespace, target: str, programs: tuple[str, ...] = peers.PROGRAMS) -> Site:
    """Installs and builds what the measurement needs; ends the program where it cannot be."""
    places, progress = Places(options.build, before=options.before), Progress()
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        sys.exit("two processors are needed, and this process may use only one")
    if not (places.towline / "bin/mpicc").exists():
        sys.exit(f"nothing is built in {places.towline}: run `make {target}`")
    missing = [] if options.offline else peers.install(places)  # before the build, which uses their compilers
    for line in (*missing, *peers.build(places, [], programs)):
        progress.say(line)
    load = os.getloadavg()[0]
    if load > 0.5:
        progress.say(f"warning: the load of this machine is {load:.1f}: something else is running, these figures are noise")
    return Site(places, progress, (allowed[0], allowed[1]))


def forget(plan: Plan, out: pathlib.Path) -> None:
    """What was measured before, unless only a part of it is to be measured again."""
    if not plan.part():
        for old in out.glob("mpi_*.jsonl"):
            old.unlink()


def run(house: House) -> int:
    house.run()
    house.progress.say(f"measured in {house.progress.seconds():.0f} s")
    for fault in house.faults:
        house.progress.say("left out: " + fault)
    for failure in house.failures:
        house.progress.say("FAILED " + failure)
    return 1 if house.failures else 0


def figures(out: pathlib.Path, target: str) -> Results:
    results = Results.load(out)
    if not results.records:
        sys.exit(f"no figures in {out}: run `make {target}`")
    return results
