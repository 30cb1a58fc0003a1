"""The measuring house of MPI, conducting libraries that are not there: turns, what it writes, what it says of those that misbehave."""

import ast
import json
import os
import pathlib
import stat
import sys
import tempfile
import unittest
from unittest import mock

from mpi import peers, pictures, report
from mpi.cases import GROUPS, MEMORIES, Case, cases
from mpi.conductor import Broken, Pair, Wrong
from mpi.measure import House, Plan
from mpi.peers import program, requirements
from mpi.progress import Progress
from mpi.records import LIMITS, Results, record, write
from mpi.stages import STAGES
from mpi.subjects import Places, Subject, subjects

FAKE = pathlib.Path(__file__).with_name("mpi_fake.py")
SOURCES = sorted((pathlib.Path(report.__file__).parent).glob("*.py"))
CPUS = (0, 1)


def fake_pair(does="", ns=100, patience=20.0):
    return Pair("fake", [sys.executable, str(FAKE)], {**os.environ, "FAKE_DOES": does, "FAKE_NS": str(ns)}, patience)


class Quiet(Progress):
    def __init__(self):
        super().__init__(quiet=True)
        self.said = []

    def say(self, text):
        self.said.append(text)


class Pairs(unittest.TestCase):
    def test_a_turn(self):
        pair = fake_pair()
        self.assertEqual((pair.words, pair.bound_to((1, 0)), pair.bound_to((1, 2))), ("Fake MPI 1.0", True, False))
        self.assertEqual(pair.turn("latency", Case("", "latency", 8), 10, 4), [100, 101, 102, 100])
        self.assertIsNone(pair.leave())

    def test_wrong_data_fail_the_turn_and_no_other(self):
        pair = fake_pair("refuse")
        with self.assertRaisesRegex(Wrong, "rank 1 read what was not written"):
            pair.turn("latency", Case("", "latency", 64), 1, 2)
        self.assertEqual(len(pair.turn("latency", Case("", "latency", 8), 1, 2)), 2)
        self.assertIsNone(pair.leave())

    def test_death_silence_and_absence(self):
        pair = fake_pair("die")
        with self.assertRaisesRegex(Broken, "ended|did not answer"):
            pair.turn("latency", Case("", "latency", 64), 1, 2)
        pair.kill()
        pair = fake_pair("hang", patience=0.5)
        with self.assertRaisesRegex(Broken, "did not answer for 0.5 s"):
            pair.turn("latency", Case("", "latency", 64), 1, 2)
        self.assertIsNotNone(pair.process.poll())
        with self.assertRaisesRegex(Broken, "ended with code 7 before it began: no such fabric"):
            fake_pair("absent")

    def test_calibration_fills_the_turn(self):
        for does in ("", "slow"):  # also where the first turn connects, or touches pages
            pair = fake_pair(does, ns=1000)
            batch, batches = pair.calibrate("latency", Case("", "latency", 8), 10e-3, 40)
            self.assertGreater(batch, 10)
            self.assertTrue(2 <= batches <= 40)
            pair.leave()


class Houses(unittest.TestCase):
    """A whole measurement of fakes."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.places = Places(pathlib.Path(self.folder.name), pathlib.Path(self.folder.name), pathlib.Path(self.folder.name))
        self.out = pathlib.Path(self.folder.name) / "out"
        for path in (self.places.programs / "limits", *(program(self.places, "abi", name) for name in ("bench", "hello", "overlap"))):
            path.write_text(f"#!{sys.executable}\n" + FAKE.read_text())
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def subject(self, name, ns, does=""):
        return Subject(name, "abi", self.places.programs / "limits", environment=(("FAKE_NS", str(ns)), ("FAKE_DOES", does)), starts=True)

    def measure(self, subjects, only, rounds=3, dense=False):
        plan = Plan(True, 1, rounds, 1e-3, 4, ((2, 2), (32, 1)), (32, 1), only, dense=dense)
        progress = Quiet()
        house = House(self.places, CPUS, subjects, plan, self.out, progress)
        house.run()
        self.faults = house.faults
        return house.failures, progress.said, Results.load(self.out)

    def test_everybody_in_every_round(self):
        both = [self.subject("towline", 50), self.subject("mpich5", 80)]
        failures, said, results = self.measure(both, "^latency 8 untouched warm|^posted")
        self.assertEqual((failures, said), ([], []))
        own = results.one(case="latency", size=8, subject="towline")
        self.assertIn(own["median"], (0.05, 0.051))
        self.assertEqual((own["unit"], own["mode"], own["cache"]), ("us", "untouched", "warm"))
        self.assertEqual((len(own["rounds"]), len(own["rounds_raw_ns"]), own["raw_ns"]), (3, 3, 41))
        self.assertEqual(own["samples"], sum(len(r) for r in own["all"]))
        self.assertEqual({r["subject"] for r in results.find(case="latency")}, {"towline", "mpich5", "raw", "by_hand"})
        self.assertIn(results.one(case="posted", variant="256", subject="towline")["median"], (0.15, 0.151))
        self.assertEqual([a["subject"] for a in results.about()], ["towline", "mpich5"])

    def test_a_part_replaces_its_part_alone(self):
        both = [self.subject("towline", 50), self.subject("mpich5", 80)]
        self.measure(both, "^latency (8|64) untouched warm")
        both[0] = self.subject("towline", 60)
        _, _, results = self.measure(both[:1], "^latency 64 untouched warm")
        self.assertEqual({r["subject"] for r in results.peers(case="latency", size=8)}, {"mpich5"})
        self.assertEqual({r["subject"] for r in results.peers(case="latency", size=64)}, set())
        self.assertIn(results.one(case="latency", size=64, subject="towline")["median"], (0.06, 0.061))
        self.assertIn(results.one(case="latency", size=8, subject="towline")["median"], (0.05, 0.051))
        self.assertEqual([a["subject"] for a in results.about()], ["mpich5", "towline"])
        write(self.out, "latency", [])
        self.assertEqual(Results.load(self.out).find(case="latency"), [])

    def test_memories_are_figures_of_their_own(self):
        both = [self.subject("towline", 50), self.subject("mpich5", 80)]
        failures, _, results = self.measure(both, "^latency 4096 untouched warm", dense=True)
        self.assertEqual(failures, [])
        found = {m: results.one(case="latency", subject="towline", memory=m)["median"] for m in MEMORIES}
        self.assertLess(found["heap"], 0.052)
        self.assertTrue(all(found[m] >= 0.1 for m in MEMORIES[1:]), found)  # the fake was told the memory
        self.assertEqual([r["memory"] for r in results.find(case="latency", subject="by_hand")], ["heap"] * 3)
        both[0] = self.subject("towline", 60)
        _, _, results = self.measure(both[:1], "^latency 4096 untouched warm static", dense=True)
        self.assertEqual({r["subject"] for r in results.find(case="latency", memory="static")}, {"towline"})
        self.assertEqual({r["subject"] for r in results.peers(case="latency", memory="stack")}, {"mpich5"})
        self.assertLess(results.one(case="latency", subject="towline")["median"], 0.052)

    def test_first_messages_and_later_ones(self):
        failures, _, results = self.measure([self.subject("towline", 50), self.subject("ompi5", 80)], "^first 4096 .* st", dense=True)
        self.assertEqual(failures, [])
        rows = list(report.first_use(results))
        self.assertEqual([(r.title, r.own["median"], r.peer["median"], r.limit["median"], r.reached) for r in rows],
                         [(f"first 1000 messages, 4 KiB, rewritten, {m}", 150, 240, 50, False) for m in ("stack", "static")])

    def test_starts_crowds_and_gentleness(self):
        failures, _, results = self.measure([self.subject("towline", 50), self.subject("ompi5", 80)], "^start$|^crowd$|^gentle$")
        self.assertEqual(failures, [])
        self.assertEqual([r["median"] for r in results.find(case="stencil", subject="towline")], [0.502, 0.532])
        self.assertEqual({r.title: r.reached for r in report.gentleness(results) if r.asked},
                         {"step of a stencil, 32 ranks": True, "processor used by waiting a second": True})
        self.assertEqual(len(results.find(case="start", subject="towline")), 2)
        self.assertEqual(results.one(case="memory", subject="ompi5")["median"], 2)
        self.assertEqual(results.one(case="crowd_barrier", subject="towline")["median"], 0.5)

    def test_overlap(self):
        failures, _, results = self.measure([self.subject("towline", 50), self.subject("ompi5", 80)], "^overlap$")
        self.assertEqual(failures, [])
        self.assertEqual([r["median"] for r in results.find(case="overlap", mode="sender")], [25, 40, 95])
        self.assertEqual([(r.title, r.peer["median"], r.reached) for r in report.overlaps(results) if r.own["mode"] == "receiver"],
                         [("hidden of 4 MiB, the receiver computes", 40, None),
                          ("hidden of 4 MiB, the receiver computes, onload", 40, True)])

    def test_who_misbehaves_is_named_and_the_rest_is_measured(self):
        absent = Subject("ompi5", "openmpi", self.places.programs / "limits")
        everyone = [self.subject("towline", 50), self.subject("mpich5", 80, "die"), self.subject("impi2021", 80, "unbound"),
                    self.subject("impi2021-tuned", 80, "absent"), self.subject("mpich5-tuned", 80, "refuse"), absent]
        failures, said, results = self.measure(everyone, "^latency (64|8) untouched warm")
        self.assertEqual(len(results.find(case="latency", size=64, subject="towline")), 1)
        self.assertEqual({r["subject"] for r in results.find(case="latency", size=8)},
                         {"towline", "mpich5", "mpich5-tuned", "raw", "by_hand"})
        self.assertEqual({r["subject"] for r in results.peers(case="latency", size=64)}, set())
        self.assertEqual(failures, [])
        text = "\n".join(self.faults)
        self.assertRegex(text, "latency 64 untouched warm heap: mpich5 (ended|did not answer)")
        self.assertIn("latency 64 untouched warm heap: mpich5-tuned: rank 1 read what was not written", text)
        text = "\n".join(said)
        self.assertIn("impi2021 is left out: its ranks are bound to 0,1 and 0,1", text)
        self.assertIn("impi2021-tuned is left out: impi2021-tuned ended with code 7 before it began: no such fabric", text)
        self.assertRegex(text, "ompi5 is left out: there is no .*bench-openmpi")

    def test_what_towline_does_wrong_fails(self):
        failures, _, results = self.measure([self.subject("towline", 50, "refuse"), self.subject("mpich5", 80)], "^latency 64 untouched warm")
        self.assertEqual((failures, self.faults), (["latency 64 untouched warm heap: towline: rank 1 read what was not written"], []))
        self.assertEqual(results.find(case="latency", subject="towline"), [])

    def test_towline_is_not_left_out_in_silence(self):
        failures, _, _ = self.measure([self.subject("towline", 50, "absent"), self.subject("mpich5", 80)], "^latency 8 untouched warm")
        self.assertRegex("\n".join(failures), "towline ended with code 7")
        failures, _, _ = self.measure([self.subject("towline", 50, "unbound")], "^latency 8 untouched warm")
        self.assertRegex("\n".join(failures), "towline: its ranks are bound to")


class Peers(unittest.TestCase):
    def test_what_cannot_be_had_is_told(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("mpi.peers.requirements", return_value={"none": "no-such-library==1"}), \
                mock.patch.dict(os.environ, {"PIP_NO_INDEX": "1"}):
            told = peers.install(Places(peers=pathlib.Path(folder)))
            self.assertEqual(len(told), 1)
            self.assertRegex(told[0], "^no-such-library==1 could not be installed: .*No matching distribution")
            self.assertEqual(os.listdir(folder), [])


class Tables(unittest.TestCase):
    @staticmethod
    def results(**medians):
        made = [record("latency", 8, name.replace("_", "-"), "us", [[m], [m], [m]], mode="untouched", cache="warm")
                for name, m in medians.items()]
        return Results(json.loads(json.dumps(made)))

    def judged(self, **medians):
        return [r for r in report.messages(self.results(**medians)) if r.asked][0]

    def test_latency_is_judged_against_raw_and_every_peer(self):
        self.assertTrue(self.judged(towline=0.14, raw=0.105, ompi5_ucx=0.19).reached)
        self.assertFalse(self.judged(towline=0.15, raw=0.105, ompi5_ucx=0.19).reached)
        self.assertFalse(self.judged(towline=0.14, raw=0.105, ompi5_ucx=0.13, mpich5=2).reached)
        row = self.judged(towline=0.14, raw=0.105, ompi5_ucx=0.19, mpich5=2.3)
        self.assertEqual(row.cells()[3:7], ["190 ns ompi5-ucx", "0.74", "105 ns raw", "1.33"])

    def test_nothing_is_claimed_without_something_to_compare(self):
        self.assertIsNone(self.judged(towline=0.14).reached)

    def test_ratios_are_of_rounds(self):
        results = Results([record("stream", 8, "towline", "us", [[1.0], [2.0], [4.0]]),
                           record("stream", 8, "ompi5", "us", [[2.0], [4.0], [2.0]])])
        self.assertEqual(list(report.streams(results))[0].cells()[4], "0.50")

    @staticmethod
    def asked(rows_of, case, size, mode="untouched", cache="warm", **medians):
        made = [record(case, size, name if name in LIMITS else name.replace("_", "-"), "us", [[m]], mode=mode, cache=cache)
                for name, m in medians.items()]
        rows = list(rows_of(Results(json.loads(json.dumps(made)))))
        return rows[0]

    def test_what_is_asked_of_big_messages(self):
        for size, mode, cache, own, reached in (
                (1 << 20, "untouched", "warm", 36, True), (1 << 20, "untouched", "warm", 38, False), (1 << 20, "dirtied", "warm", 35, True),
                (1 << 20, "dirtied", "warm", 37, False), (4096, "rewritten", "warm", 37, False), (4096, "untouched", "cold", 37, False),
                (16 << 20, "untouched", "cold", 35, True)):
            row = self.asked(report.messages, "latency", size, mode, cache, towline=own, by_hand=30, impi2021_heap=100)
            self.assertEqual(row.reached, reached, row.cells())
        row = self.asked(report.messages, "latency", 1 << 20, "dirtied", towline=35, by_hand=30, impi2021_heap=25)
        self.assertEqual((row.reached, round(row.short, 2), row.cells()[-1]), (False, 1.4, "SHORT 1.40 x"))

    def test_what_is_asked_of_streams_and_collectives(self):
        self.assertTrue(self.asked(report.streams, "stream", 1024, towline=9, by_hand=1, ompi5=10).reached)
        self.assertFalse(self.asked(report.streams, "stream", 1 << 16, towline=9, by_hand=1, ompi5=10).reached)
        self.assertTrue(self.asked(report.collectives, "allreduce", 8, towline=1.3, by_hand=1, ompi5=1).reached)
        self.assertFalse(self.asked(report.collectives, "allreduce", 1 << 16, towline=1.3, by_hand=1, ompi5=1.9).reached)
        self.assertTrue(self.asked(report.collectives, "allreduce", 1 << 16, towline=1.3, by_hand=1, ompi5=2).reached)
        four = {"by_hand": 1, "ompi5": 1.6, "impi2021_heap": 2.6}
        self.assertTrue(self.asked(report.collectives, "allreduce", 4 << 20, towline=1, **four).reached)
        self.assertFalse(self.asked(report.collectives, "reduce", 4 << 20, towline=1, **four).reached)
        self.assertFalse(self.asked(report.collectives, "bcast", 8, towline=2, by_hand=1, ompi5=1).reached)
        self.assertTrue(self.asked(report.collectives, "bcast", 8, towline=1, by_hand=0.1, ompi5=1.1).reached)
        self.assertTrue(self.asked(report.collectives, "barrier", 0, towline=1.5, raw=1, by_hand=0.5).reached)
        self.assertFalse(self.asked(report.more_ranks, "scan4", 8, towline=2, ompi5=1).reached)
        self.assertFalse(self.asked(report.hops, "hop", 8, towline=2.6, by_hand=2).reached)
        self.assertFalse(self.asked(report.allocators, "churn", 0, towline=1.03, glibc=1).reached)
        self.assertTrue(self.asked(report.allocators, "churn", 0, towline=1.01, glibc=1).reached)

    def test_what_is_asked_of_starts_memory_queues_and_threads(self):
        def rows(rows_of, *records):
            return {r.title: r.reached for r in rows_of(Results(list(records))) if r.asked}

        start = [record("start", 2, "towline", "s", [[0.04]]), record("start", 2, "mpich5", "s", [[0.085]])]
        self.assertEqual(rows(report.starts, *start), {"mpiexec -n 2 hello": True})
        start[0] = record("start", 2, "towline", "s", [[0.05]])
        self.assertEqual(rows(report.starts, *start), {"mpiexec -n 2 hello": False})
        crowd = [record("memory", 32, "towline", "MiB", [[3.0]]), record("memory", 32, "ompi5", "MiB", [[3.5]]),
                 record("crowd_barrier", 32, "towline", "us", [[99.0]])]
        self.assertEqual(list(rows(report.crowds, *crowd).values()), [False, True])
        queue = [record("posted", 8, "towline", "us", [[x]], variant=v) for v, x in (("0", 0.1), ("256", 0.14))]
        self.assertEqual(list(rows(report.queues, *queue).values()), [False])
        thread = [record("threads", 8, "towline", "us", [[x]], variant=v) for v, x in (("single", 0.1), ("multiple", 0.11))]
        self.assertEqual(list(rows(report.threads, *thread).values()), [True])
        several = [record("threads_own_stream", 8, name, "us", [[x]], variant=n)
                   for name, n, x in (("towline", "1", 0.05), ("towline", "2", 0.06), ("towline", "4", 0.07), ("ompi5", "2", 0.055))]
        told = rows(report.many_threads, *several)
        self.assertEqual(list(told.values()), [True, False, False])
        self.assertEqual(list(told)[1], "each of all windows, 8 B, 2 threads, a communicator each")

    def test_pictures_show_what_there_is(self):
        self.assertEqual(pictures.panels(Results([])), {})
        drawn = pictures.panels(self.results(towline=0.1, raw=0.1))
        self.assertEqual({name: [p[0] for p in panels] for name, panels in drawn.items()},
                         {"latency": ["one way, untouched, warm"], "bandwidth": ["one message after another, untouched, warm"]})


class Plans(unittest.TestCase):
    def test_time(self):
        everyone = subjects(Places(), CPUS)
        self.assertLess(Plan.of(True).seconds(everyone, CPUS), 175)
        self.assertLess(Plan.of(False).seconds(everyone, CPUS), 1180)
        self.assertGreater(Plan.of(False).seconds(everyone, CPUS), 3 * Plan.of(True).seconds(everyone, CPUS))

    def test_parts(self):
        plan = Plan.of(False)
        plan.only, plan.sizes = "^reduce ,^hop", frozenset((8, 4 << 20))
        self.assertEqual([c.title() for g in GROUPS for c in plan.cases(g)],
                         ["reduce 8 untouched warm heap", "reduce 4194304 untouched warm heap", "hop 8 untouched warm heap"])

    def test_every_group_is_in_a_stage(self):
        self.assertEqual(sorted(g for s in STAGES for g in s.groups), sorted(GROUPS))

    def test_commands_of_stages(self):
        everyone = subjects(Places(), (2, 5))
        for stage in STAGES:
            for s in stage.subjects(everyone, (2, 5), False):
                command = stage.command(s, pathlib.Path("program"), (2, 5))
                self.assertEqual("taskset" in command[0], not stage.bound() or s.name == "glibc", command)
                if not stage.bound():
                    self.assertEqual(command[1:3], ["-c", "2,5" if stage.processors == 2 else "2"])
        self.assertEqual([s.name for s in STAGES[-1].subjects(everyone, CPUS, False)], ["towline", "glibc"])

    def test_every_case_has_its_group_and_is_there_once(self):
        for quick in (True, False):
            everything = list(cases(quick))
            self.assertEqual(len(everything), len({(c.group, c.title()) for c in everything}))
            self.assertEqual({c.group for c in everything}, set(GROUPS))

    def test_subjects_have_names_of_their_own_and_packages(self):
        everyone = subjects(Places(), CPUS)
        self.assertEqual(len(everyone), len({s.name for s in everyone}))
        self.assertEqual(everyone[0].name, "towline")
        for s in everyone[1:]:
            self.assertIn(s.launcher.parent.parent.name, requirements())
            self.assertTrue(s.library is not None and s.why and s.settings())

    def test_the_bar(self):
        progress = Quiet()
        progress.expect(10)
        progress.now("something")
        progress.step(5)
        self.assertRegex(progress.bar(), r"^\[#{15}\.{15}\]  50 %, .* left: something$")


class Typed(unittest.TestCase):
    def test_every_function_says_its_types(self):
        for path in SOURCES:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef):
                    arguments = [a for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs) if a.arg != "self"]
                    self.assertTrue(node.returns is not None and all(a.annotation for a in arguments), f"{path.name}: {node.name}")


if __name__ == "__main__":
    unittest.main()
