"""Collective operations, on 1 to 4 ranks and on 7, with random counts, datatypes and roots."""

import os
import random
import unittest

import harness
from harness import JobTest

SEED = int(os.environ.get("TOWLINE_TEST_SEED", "0")) or random.randrange(1, 1 << 31)
RANKS = (1, 2, 3, 4, 7)
WAYS = "012"  # blocking, nonblocking, persistent


def program(name: str) -> str:
    return os.path.join(harness.PROGRAMS, f"mpi_{name}")


class Collectives(JobTest):
    def quiet(self, ranks: int, name: str, *arguments: str) -> None:
        with self.subTest(program=name, ranks=ranks, arguments=arguments):
            code, out, err, _ = self.run_job(ranks, program(name), *arguments)
            self.assertEqual((code, out, err), (0, "", ""))

    def test_predefined_operations(self) -> None:
        for ranks in (1, 2, 3, 4):
            self.quiet(ranks, "collectives_reductions", WAYS, str(SEED + ranks))

    def test_operations_of_the_program(self) -> None:
        for ranks in RANKS:
            self.quiet(ranks, "collectives_user", WAYS, str(SEED + ranks))

    def test_intercommunicators(self) -> None:
        for ranks in (2, 3, 4):
            self.quiet(ranks, "collectives_between", WAYS, str(SEED + ranks))

    def test_neighbours(self) -> None:
        for ranks in (1, 2, 3, 4):
            self.quiet(ranks, "collectives_neighbours", WAYS, str(SEED + ranks))

    def test_data(self) -> None:
        for ranks in RANKS:
            self.quiet(ranks, "collectives", WAYS, str(SEED + ranks), "12" if ranks < 5 else "4")


if __name__ == "__main__":
    unittest.main()
