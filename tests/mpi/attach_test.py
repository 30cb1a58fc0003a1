"""Ranks whose memory their neighbours can read, and ranks in PID namespaces of their own, where a pid names somebody else."""

import json
import os
import subprocess
import tempfile

import harness
from harness import JobTest

PROGRAM = os.path.join(harness.PROGRAMS, "mpi_attach")


def unshare_works():
    try:
        return subprocess.run(["unshare", "-p", "-f", "true"], capture_output=True).returncode == 0
    except OSError:
        return False


class Attach(JobTest):
    def passes(self, ranks, *command):
        """What the job counted."""
        with tempfile.TemporaryDirectory() as folder:
            stats = os.path.join(folder, "stats.json")
            env = {**self.env, "TOWLINE_STATIC_DATA": "off"}  # its buffers are plain memory
            code, out, err, _ = self.run_job(ranks, *command, options=(f"--stats={stats}",), env=env)
            self.assertEqual((code, out), (0, "all bytes as sent\n"), err)
            with open(stats) as file:
                return json.load(file)["total"]

    def test_ranks_of_one_namespace(self):
        for ranks in (1, 2, 3):
            self.passes(ranks, PROGRAM)

    def test_ranks_in_namespaces_of_their_own(self):
        if not unshare_works():
            self.skipTest("unshare -p is refused here: it needs root, or CAP_SYS_ADMIN")
        for ranks in (2, 3):
            counted = self.passes(ranks, "unshare", "-p", "-f", PROGRAM)
            self.assertEqual(counted["bytes_cma"], 0, "memory was read by a pid that means nothing here")
            self.assertEqual(counted["bytes_copied_once"], 0)
            self.assertGreater(counted["bytes_copied_twice"], 2 * ranks * (3 << 20))

    def test_one_rank_in_a_namespace_of_its_own(self):
        if not unshare_works():
            self.skipTest("unshare -p is refused here: it needs root, or CAP_SYS_ADMIN")
        self.passes(3, "sh", "-c", 'if [ "$TOWLINE_RANK" = 1 ]; then exec unshare -p -f "$0"; else exec "$0"; fi', PROGRAM)


if __name__ == "__main__":
    harness.main()
