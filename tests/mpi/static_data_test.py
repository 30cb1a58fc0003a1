"""Static data whose pages are the shared heap's: where it lies, messages from and to it, and forked children."""

import json
import os
import tempfile
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_static_data")


@unittest.skipIf(os.environ.get("TOWLINE_SANITIZE"), "malloc is the sanitizer's, and nothing is adopted")
class StaticData(JobTest):
    def prints(self, expected: str, ranks: int, *arguments: str, **settings: str) -> dict[str, int]:
        """What the job counted."""
        with tempfile.TemporaryDirectory() as folder:
            stats = os.path.join(folder, "stats.json")
            code, out, err, _ = self.run_job(ranks, PROGRAM, *arguments, options=(f"--stats={stats}",), env={**self.env, **settings})
            self.assertEqual((code, out), (0, expected + "\n"), err)
            with open(stats) as file:
                return json.load(file)["total"]

    def test_where_it_lies(self) -> None:
        self.prints("shared shared shared private", 2, "where")
        self.prints("shared shared shared shared", 2, "where", TOWLINE_STATIC_DATA="libraries")
        self.prints("private private private private", 2, "where", TOWLINE_STATIC_DATA="off")
        self.prints("private private private private", 2, "where", TOWLINE_HEAP="off")
        self.prints("private private private private", 2, "where", TOWLINE_HEAP_COMMIT="on")

    def test_what_does_not_fit_stays(self) -> None:
        self.prints("private private private private", 2, "where", TOWLINE_SEGMENT="32M")

    def test_messages_are_read_in_place(self) -> None:
        for ranks in (1, 2, 3):
            self.prints("all bytes as sent", ranks, "messages")
        counted = self.prints("all bytes as sent", 2, "messages", TOWLINE_WAY="direct")
        self.assertEqual(counted["bytes_copied_twice"], counted["bytes_cma"])
        self.assertEqual(counted["bytes_cma"], 0)
        self.assertGreater(counted["bytes_in_place"], 2 * (3 << 20))
        for way in ("relay", "relay-past"):
            self.prints("all bytes as sent", 2, "messages", TOWLINE_WAY=way)
        self.prints("all bytes as sent", 2, "messages", TOWLINE_LANES="off")

    def test_children_have_their_own(self) -> None:
        for whose in ("program", "libraries", "off"):
            with self.subTest(whose=whose):
                self.prints("children on their own", 2, "fork", "7", TOWLINE_STATIC_DATA=whose)

    def test_a_wrong_word_is_refused(self) -> None:
        code, _, err, _ = self.run_job(1, PROGRAM, "where", env={**self.env, "TOWLINE_STATIC_DATA": "some"})
        self.assertNotEqual(code, 0)
        self.assertIn("TOWLINE_STATIC_DATA", err)
        self.assertIn("libraries", err)


if __name__ == "__main__":
    harness.main()
