"""Derived datatypes on several MPI libraries: the patterns of the field, by turns. `python3 bench/layout --help`; docs/benchmarks.md says
what they are."""
from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import sys

sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

from layout import report  # noqa: E402
from layout.patterns import GROUPS, QUICK, SIZES, cases  # noqa: E402
from mpi import command  # noqa: E402
from mpi.cases import Case  # noqa: E402
from mpi.measure import BEGIN_SECONDS, House, Plan  # noqa: E402
from mpi.stages import Stage  # noqa: E402
from mpi.subjects import ROOT, Places, Subject, subjects  # noqa: E402

OUT = ROOT / "build/bench/layout"
SUBJECTS = "^(towline(-before)?|mpich5-tuned|impi2021-tuned|ompi5-ucx)$"  # each at its best settings
DESIGNS = ("pack", "pipelined", "basic", "memo")  # of TOWLINE_LAYOUT, beside the default
STAGE = Stage(tuple(GROUPS), measured="layout")


class Patterns(Plan):
    """How much is measured; `ways`: a regular expression."""

    ways = ""

    def cases(self, group: str) -> list[Case]:
        some = [self.of_way(c) for c in cases(QUICK if self.quick else SIZES) if c.group == group and self.wants(c.title())]
        return [c for c in some if c.several]

    def part(self) -> bool:
        return bool(self.only or self.ways)

    def of_way(self, case: Case) -> Case:
        some = tuple(v for v in case.several if re.search(self.ways, v.name) and not (self.quick and v.name == "used16"))
        return dataclasses.replace(case, several=some)


class Layouts(House):
    program = "layout"

    def run(self) -> None:
        wanted = {group: self.plan.cases(group) for group in GROUPS}
        turns = sum(len(c.several) * self.plan.of_case(c, STAGE) for some in wanted.values() for c in some)
        self.progress.expect((turns + BEGIN_SECONDS * len(GROUPS)) * len(self.subjects))
        for some in wanted.values():
            if some:
                self._turns(some, STAGE)
        self._write("subjects", self.about)


def takes_part(places: Places, cpus: tuple[int, int], options: argparse.Namespace) -> list[Subject]:
    some = [s for s in subjects(places, cpus) if re.search(options.subjects, s.name)]
    towline = [s for s in some if s.name == "towline"] if options.designs else []
    return some + [dataclasses.replace(s, name=f"towline-{design}", environment=(*s.environment, ("TOWLINE_LAYOUT", design)),
                                       why=f"design {design} of derived datatypes") for s in towline for design in DESIGNS]


def measure(options: argparse.Namespace) -> int:
    site = command.prepare(options, "bench-layout", ("layout",))
    plan = Patterns(True, 2, 2, 4e-3, 20) if options.quick else Patterns(False, 3, 2, 10e-3)
    plan.only, plan.ways, plan.sweeps = options.only, options.ways, options.sweeps or plan.sweeps
    command.forget(plan, options.out)
    some = takes_part(site.places, site.cpus, options)
    return command.run(Layouts(site.places, site.cpus, some, plan, options.out, site.progress))


def main() -> int:
    p = argparse.ArgumentParser(prog="python3 bench/layout", description=__doc__)
    command.add_options(p, OUT, "3, with --quick 2; of 2 rounds")
    p.add_argument("--only", default="", help="regular expressions with commas between: only patterns whose 'NAME:NUMBERS BYTES MODE' one "
                                              "matches; the results of others stay")
    p.add_argument("--ways", default="", help="regular expression: only these ways (type, hand, pack, used1, used16, made)")
    p.add_argument("--subjects", default=SUBJECTS, help=f"regular expression: only libraries whose name it matches ({SUBJECTS})")
    p.add_argument("--designs", action="store_true",
                   help=f"Towline with TOWLINE_LAYOUT={', '.join(DESIGNS)} takes part, too; the table then has a part for them")
    p.add_argument("--raw", default="0-1e9", metavar="LEAST-MOST",
                   help="table, plot: only rounds in which the raw ping-pong took so many nanoseconds, as 0-90 or 90-1000")
    options = p.parse_args()
    if options.what == "measure":
        return measure(options)
    results = command.figures(options.out, "bench-layout")
    least, _, most = options.raw.partition("-")
    results = report.of_class(results, float(least), float(most))
    if options.what == "plot":
        for path in report.draw(results, options.out):
            print(path)
        return 0
    report.show(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
