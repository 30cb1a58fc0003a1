"""Ranks that do not call the same are told, by both calls: all of them with TOWLINE_CHECK=collectives, else whoever looks at another rank."""

import os
import re
import unittest

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_checks")


class Checks(JobTest):
    def classes(self) -> dict[str, int]:
        """Numbers of the classes, as mpi.h has them."""
        names = {"call": "MPI_ERR_OTHER", "root": "MPI_ERR_ROOT", "bytes": "MPI_ERR_TRUNCATE", "type": "MPI_ERR_TYPE",
                 "operation": "MPI_ERR_OP", "neighbours": "MPI_ERR_OTHER", "same": "MPI_SUCCESS"}
        header = os.path.join(os.path.dirname(__file__), "..", "..", "include", "mpi.h")
        with open(header, encoding="utf-8") as file:
            text = file.read()
        return {what: int(re.search(rf"\b{name}\s*=?\s*\(?(\d+)", text)[1]) for what, name in names.items()}

    def test_every_difference_is_an_error_on_all_ranks(self) -> None:
        for what, number in self.classes().items():
            for way in "01":
                for lanes in ("first", "off"):
                    with self.subTest(what=what, way=way, lanes=lanes):
                        code, out, err, _ = self.run_job(3, PROGRAM, what, way,
                                                         env={**self.env, "TOWLINE_LANES": lanes, "TOWLINE_CHECK": "collectives"})
                        self.assertEqual((code, err), (0, ""))
                        self.assertEqual(sorted(out.split("\n")[:-1]), [f"{rank} {number}" for rank in range(3)])

    def test_the_error_names_both_calls(self) -> None:
        code, _, err, _ = self.run_job(3, PROGRAM, "same", "0f", env={**self.env, "TOWLINE_CHECK": "collectives"})
        self.assertNotEqual(code, 0)
        self.assertIn("rank 0 calls MPI_Bcast with root 0, 8 bytes, and rank 2 calls MPI_Bcast with root 1, 8 bytes: the roots differ", err)

    def test_who_looks_at_another_call_is_told_without_being_asked(self) -> None:
        pairs = ["barrier+allreduce", "allreduce+barrier", "bcast0+barrier", "allreduce+bcast0", "bcast0+allreduce", "allreduce+reduce0",
                 "gather0+bcast1", "allgather+alltoall", "alltoall+scan", "big-allreduce+big-reduce0", "big-bcast0+big-bcast1",
                 "big-allgather+big-alltoall", "big-bcast0+allreduce", "barrier+big-scan"]
        for pair in pairs:
            for way in "uv":
                for ranks in (2, 3):
                    with self.subTest(pair=pair, way=way, ranks=ranks):
                        env = {**self.env, "TOWLINE_LANES": "first"}
                        code, out, err, _ = self.run_job(ranks, PROGRAM, pair, way, env=env)
                        self.assertEqual(code, 0, err)
                        names = [re.sub("^big-|[01]$", "", name.replace("big-", "")) for name in pair.split("+")]
                        told = [line for line in out.splitlines() if "this rank" in line]
                        self.assertTrue(told, out)
                        late = err.splitlines()
                        for line in told + late:
                            for name in names:
                                self.assertIn(name, line)
                        who = {int(line.split()[0]) for line in told}
                        for line in late:
                            found = re.fullmatch(r"towline\[(\d)\]: rank \d called .*, this rank .*: all ranks call the same operations in the same "
                                                 r"order; the call of this rank had ended well before that was known", line)
                            self.assertTrue(found, line)
                            self.assertNotIn(int(found[1]), who)
                            who.add(int(found[1]))
                        if ranks == 2:
                            self.assertEqual(who, {0, 1})


if __name__ == "__main__":
    unittest.main()
