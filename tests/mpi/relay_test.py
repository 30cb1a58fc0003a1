"""Relayed messages of a sender that ends."""

import os
import signal
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_relay")


class Relay(JobTest):
    def ends(self, how: str, number: int) -> None:
        for way in ("relay", "relay-past"):
            with self.subTest(way=way):
                code, out, err, _ = self.run_job(2, PROGRAM, how, options=("--keep-going",), env={**self.env, "TOWLINE_WAY": way})
                self.assertEqual(out, "well\n", err)
                self.assertEqual(code, 128 + number, err)

    def test_a_message_outlives_its_sender(self) -> None:
        self.ends("after", signal.SIGKILL)

    @unittest.skipIf(os.environ.get("TOWLINE_SANITIZE"), "the sanitizer takes the signal")
    def test_a_sender_that_dies_in_the_middle_is_told_of(self) -> None:
        self.ends("midway", signal.SIGSEGV)


if __name__ == "__main__":
    unittest.main()
