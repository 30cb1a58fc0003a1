"""Messages of derived datatypes, by each design, on 1, 2 and 4 ranks."""

import os
import random
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_layouts")
SEED = int(os.environ.get("TOWLINE_TEST_SEED", "0")) or random.randrange(1, 1 << 31)


class Layouts(JobTest):
    def test_what_arrives_is_what_packing_would_bring(self) -> None:
        for design in ("pack", "pipelined", "basic", "memo", "optimized"):
            for ranks in (1, 2, 4):
                for heap in ("on", "off"):
                    with self.subTest(design=design, ranks=ranks, heap=heap, seed=SEED):
                        env = {**self.env, "TOWLINE_LAYOUT": design, "TOWLINE_HEAP": heap}
                        code, out, err, _ = self.run_job(ranks, PROGRAM, str(SEED), env=env)
                        self.assertEqual((code, out, err), (0, "", ""))

    def test_collective_operations_bring_the_same_over_lanes_and_by_messages(self) -> None:
        for lanes in ("first", "off"):
            for ranks in (2, 3, 4):
                with self.subTest(lanes=lanes, ranks=ranks, seed=SEED):
                    code, out, err, _ = self.run_job(ranks, PROGRAM, str(SEED), env={**self.env, "TOWLINE_LANES": lanes})
                    self.assertEqual((code, out, err), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
