"""Every case that is measured, taken once on Towline and by hand: both check their data."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from mpi import peers
from mpi.cases import CROWD, ROOM, Case, cases
from mpi.conductor import Pair, Wrong, thermometer
from mpi.dense import dense
from mpi.peers import program
from mpi.stages import STAGES
from mpi.subjects import Places, subjects

BUILD = pathlib.Path(os.environ["BUILD"])
SANITIZERS = os.environ.get("TOWLINE_SANITIZE", "")
CPUS = sorted(os.sched_getaffinity(0))[:2]


@unittest.skipIf(len(CPUS) < 2, "two processors are needed")
class EveryCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.places = Places(BUILD, pathlib.Path(cls.folder.name) / "none", pathlib.Path(cls.folder.name))
        failed = peers.build(cls.places, [f"-fsanitize={SANITIZERS}"] if SANITIZERS else [])
        assert not failed, failed
        cls.towline = subjects(cls.places, tuple(CPUS))[0]

    def turns(self, pair, wanted):
        for name, case in sorted(wanted, key=lambda w: (w[0], w[1].title())):
            with self.subTest(name=name, case=case.title()):
                try:
                    samples = pair.turn(name, case, *((1, 2) if case.size > 1 << 18 else (2, 3)))
                except Wrong as e:
                    self.fail(str(e))
                self.assertEqual(len(samples), 2 if case.size > 1 << 18 else 3)
                self.assertTrue(all(s >= 0 for s in samples), samples)

    def everything(self):
        """Of the whole grid some sizes, which every memory is asked for, and what is too big for some."""
        some = (8, 384, 48 << 10, 1 << 20, 16 << 20)
        grid = {c for c in dense(frozenset((20001,))) if c.memory != "heap" and c.size in (*some, 20001) or c.group == "mixed"}
        return {*cases(True), *cases(False), *grid}

    def of(self, *groups):
        return [c for c in self.everything() if c.group in groups]

    def pair(self, stage, *options, subject=None):
        subject = subject or self.towline
        command = stage.command(subject, stage.program(self.places, subject), tuple(CPUS))
        pair = Pair(subject.name, command, subject.surroundings(), 120, options, stage.ranks)
        self.assertTrue(pair.bound_to(stage.cpus(tuple(CPUS))), pair.cpus)
        return pair

    def test_on_towline(self):
        for options in ((), ("--threads", "multiple"), ("--allocate",)):
            pair = self.pair(STAGES[0], *options)
            self.assertIn("Towline", pair.words)
            wanted = [(v.turn, c) for c in self.of(*STAGES[0].groups, "threads") for v in c.variants() if not options or c.size <= 8]
            self.turns(pair, wanted)
            with self.assertRaisesRegex(Wrong, "no such case"):
                pair.turn("nonsense", Case("", "", 8), 1, 2)
            with self.assertRaisesRegex(Wrong, "too big"):
                pair.turn("latency", Case("", "", 1 << 40), 1, 2)
            for memory, most in ROOM.items():
                self.assertEqual(len(pair.turn("latency", Case("", "", most, memory=memory), 1, 2)), 2)
                with self.assertRaisesRegex(Wrong, "too big for this memory"):
                    pair.turn("latency", Case("", "", most + 1, memory=memory), 1, 2)
            self.assertIsNone(pair.leave())

    def test_more_ranks_than_processors(self):
        crowded = next(s for s in STAGES if s.ranks == CROWD)
        pair = self.pair(crowded)
        self.turns(pair, [(v.turn, c) for c in self.of(*crowded.groups) for v in c.variants()])
        with self.assertRaisesRegex(Wrong, "no such case"):
            pair.turn("latency", Case("", "", 8), 1, 2)
        self.assertIsNone(pair.leave())

    def test_several_threads(self):
        stage = next(s for s in STAGES if s.groups == ("many_threads",))
        pair = self.pair(stage, "--threads", "multiple")
        self.turns(pair, [(v.turn, c) for c in self.of(*stage.groups) for v in c.variants()])
        for nonsense in ("threads9_own_latency", "threads2_none_latency", "threads2_own_none"):
            with self.assertRaisesRegex(Wrong, "no such case"):
                pair.turn(nonsense, Case("", "", 8), 1, 2)
        self.assertIsNone(pair.leave())
        pair = self.pair(stage)
        with self.assertRaisesRegex(Wrong, "no MPI_THREAD_MULTIPLE"):
            pair.turn("threads2_own_latency", Case("", "", 8), 1, 2)
        self.assertIsNone(pair.leave())

    def test_one_processor(self):
        hop = next(s for s in STAGES if s.groups == ("hop",))
        pair = self.pair(hop)
        self.turns(pair, [(v.turn, c) for c in self.of("hop") for v in c.variants()])
        self.assertIsNone(pair.leave())
        pair = thermometer(self.places.programs / "limits", (CPUS[0], CPUS[0]), 120)
        self.turns(pair, [(limit.turn, c) for c in self.of("hop") for _, limit in c.limits()])
        self.assertIsNone(pair.leave())

    def test_allocators(self):
        stage = next(s for s in STAGES if s.allocators)
        for subject in stage.subjects([self.towline], tuple(CPUS), True):
            pair = self.pair(stage, subject=subject)
            self.turns(pair, [(v.turn, c) for c in self.of("allocator") for v in c.variants()])
            self.assertIsNone(pair.leave())

    def test_by_hand(self):
        pair = thermometer(self.places.programs / "limits", tuple(CPUS), 120)
        self.assertTrue(pair.bound_to(tuple(CPUS)))
        self.turns(pair, [(limit.turn, c) for c in self.everything() if c.group != "hop" for _, limit in c.limits()])
        with self.assertRaisesRegex(Wrong, "no such limit"):
            pair.turn("raw", Case("", "", 64), 1, 2)
        self.assertIsNone(pair.leave())

    def run_many(self, ranks, name, *arguments):
        command = self.towline.command(ranks, program(self.places, "abi", name), *arguments)
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_hello_and_crowd(self):
        self.assertEqual(sorted(self.run_many(3, "hello")), [f"hello from rank {r} of 3" for r in range(3)])
        memory, barrier = self.run_many(5, "bench", "--crowd", "1")
        self.assertEqual((memory.split()[0], len(memory.split())), ("memory", 6))
        self.assertTrue(all(int(kib) > 0 for kib in memory.split()[1:]))
        self.assertEqual(barrier.split()[0], "barrier")
        self.assertGreaterEqual(len(barrier.split()), 3)

    def test_stencil_and_waiting(self):
        sums = set()
        for ranks in (1, 2, 4):
            words = self.run_many(ranks, "bench", "--stencil", "1")[0].split()
            self.assertEqual(words[:2], ["stencil", "sum"])
            self.assertGreaterEqual(len(words), 6)
            sums.add(words[2])
        self.assertEqual(len(sums), 1)
        word, percent = self.run_many(2, "bench", "--wait")[0].split()
        self.assertEqual(word, "waiting")
        self.assertGreaterEqual(float(percent), 0)

    def test_alone(self):
        lines = self.run_many(2, "bench", "--alone", "latency", "8", "rewritten", "warm", "2", "3")
        self.assertEqual(lines[0].split()[0], "samples")
        self.assertEqual(len(lines[0].split()), 4)
        for memory in ("heap", "stack"):
            words = self.run_many(2, "bench", "--alone", "first", "4096", "rewritten", "warm", "5", "3", memory, "--allocate")[0].split()
            self.assertEqual((words[0], len(words)), ("samples", 4))


if __name__ == "__main__":
    unittest.main()
