"""The profiling interface: a tool defines MPI_X and calls PMPI_X (15.2)."""

import os
import subprocess
import tempfile
import unittest

import harness

PROFILE = os.path.join(harness.PROGRAMS, "mpi_profile")


class Profile(unittest.TestCase):
    def run_program(self, **environment):
        done = subprocess.run([PROFILE], capture_output=True, text=True, timeout=60, env={**os.environ, **environment})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_a_program_wraps(self):
        self.assertEqual(self.run_program(), ["rank 0, MPI 5.0, wrapped 1"])

    @unittest.skipIf(harness.SANITIZED, "the sanitizers' libraries have to be loaded first")
    def test_a_preloaded_tool_wraps(self):
        with tempfile.TemporaryDirectory() as folder:
            tool = os.path.join(folder, "tool.so")  # LD_PRELOAD cuts a path at blanks
            os.symlink(os.environ["TOOL"], tool)
            self.assertEqual(self.run_program(LD_PRELOAD=tool), ["rank 0, MPI 5.0, wrapped 1", "tool: 3 calls of MPI_Comm_rank"])


if __name__ == "__main__":
    unittest.main()
