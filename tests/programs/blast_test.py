"""The demo as a job: the same bits on any number of processes, no byte of a face copied, and errors that say what was wrong."""

import os
import re
import shutil
import tempfile
import unittest

import harness

BLAST = os.path.join(harness.PROGRAMS, "10_blast")

DECK = """
[grid]
cells = 24
edge = 2.4
[run]
end_time = {end_time}
pictures = {pictures}
"""


class Blast(harness.JobTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="blast_test_")
        self.addCleanup(shutil.rmtree, self.folder)
        self.output = os.path.join(self.folder, "pictures")

    def deck(self, text=None, end_time=0.25, pictures=0, name="deck.toml"):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text if text is not None else DECK.format(end_time=end_time, pictures=pictures))
        return path

    def blast(self, ranks, deck, *options):
        return self.run_job(ranks, BLAST, deck, "--output", self.output, "--quiet", *options, timeout=250)

    def value(self, out, name):
        found = re.search(rf"^{name} +(\S+)", out, re.MULTILINE)
        self.assertIsNotNone(found, f"no {name} in: {out}")
        return found.group(1)

    def test_the_same_bits_on_any_number_of_processes(self):
        deck = self.deck()
        reports = {}
        for ranks, options in ((1, ()), (2, ()), (4, ()), (8, ()), (3, ("--blocks", "12"))):
            code, out, err, _ = self.blast(ranks, deck, "--checksum", *options)
            self.assertEqual((code, err), (0, ""), out)
            reports[ranks] = [self.value(out, name) for name in ("checksum", "shock radius", "mass drift", "energy drift")]
            self.assertLess(float(reports[ranks][2]), 1e-12)
            self.assertLess(float(reports[ranks][3]), 1e-12)
        for ranks, report in reports.items():
            self.assertEqual(report, reports[1], f"on {ranks} processes")

    def test_faces_are_handed_over_and_not_copied(self):
        code, out, err, _ = self.blast(2, self.deck())
        self.assertEqual((code, err), (0, ""), out)
        steps = int(re.search(r"(\d+) steps", out).group(1))
        face = 5 * 2 * 24 * 24 * 8
        handed = float(self.value(out, "handed over")) * (1 << 20)
        self.assertGreater(handed, 0.99 * (2 * steps + 1) * 2 * face)
        self.assertEqual(float(self.value(out, "copied once")), 0)
        self.assertEqual(float(self.value(out, "copied twice")), 0)

    def test_pictures_are_written_and_replaced_but_nothing_else_is(self):
        deck = self.deck(pictures=2)
        for _ in range(2):
            code, out, err, _ = self.blast(2, deck)
            self.assertEqual((code, err), (0, ""), out)
            self.assertIn(os.path.join(self.output, "density-2.png"), out)
            self.assertEqual(sorted(os.listdir(self.output)), ["density-1.png", "density-2.png", "profile.png"])
        mine = os.path.join(self.output, "density-1.png")
        with open(mine, "w") as file:
            file.write("mine")
        code, out, err, _ = self.blast(2, deck)
        self.assertEqual(code, 2, out)
        self.assertEqual(err.count(mine), 1, err)
        with open(mine) as file:
            self.assertEqual(file.read(), "mine")

    def test_errors_are_said_once_and_end_the_job(self):
        bad = self.deck("[grid]\ncells = 24\n[gas]\ngamma = -1\n[run]\nend_time = 0.25\n", name="bad.toml")
        good = self.deck()
        missing = os.path.join(self.folder, "missing.toml")
        for options, words in (
            ((bad,), ["bad.toml:4: gas.gamma", "-1", "from 1.05 to 3"]),
            ((missing,), [missing]),
            ((good, "--blocks", "2"), ["--blocks 2", "processes"]),
            ((good, "--blocks", "1009"), ["1009"]),
            ((good, "--colour", "red"), ["--colour"]),
        ):
            code, out, err, _ = self.run_job(3, BLAST, *options)
            self.assertEqual(code, 2, out + err)
            for word in words:
                self.assertIn(word, err)
                self.assertEqual(err.count(word), 1, "said by several processes: " + err)

    def test_help(self):
        code, out, err, _ = self.run_job(2, BLAST, "--help")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.count("--checksum"), 1)


if __name__ == "__main__":
    harness.main()
