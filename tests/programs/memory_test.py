"""The memory of a job: core dumps hold what is used and no more, and memory that the kernel does not grant is no SIGBUS."""

import os
import re
import resource
import subprocess
import tempfile
import unittest

import cgroups
import harness
from harness import JobTest, TOWLINE, program, run_command


class Dumps(JobTest):
    @unittest.skipIf(harness.SANITIZED, "sanitizers turn core dumps off")
    def test_a_core_dump_holds_what_is_used(self):
        with open("/proc/sys/kernel/core_pattern") as file:
            pattern = file.read().strip()
        if "/" in pattern or "|" in pattern:
            self.skipTest(f"core dumps of this machine go to {pattern}")
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        if hard != resource.RLIM_INFINITY:
            self.skipTest("ulimit -c")
        with tempfile.TemporaryDirectory() as folder:
            command = ["bash", "-c", 'ulimit -c unlimited; exec "$@"', "bash", os.path.abspath(TOWLINE), "run", "-n", "2",
                       os.path.abspath(program("memory")), "dump"]
            env = dict(self.env, TOWLINE_SEGMENT="512M")  # a dump of whole segments ends soon, too
            done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 128 + 6, done.stderr)
            cores = [os.path.join(folder, name) for name in os.listdir(folder)]
            self.assertEqual(len(cores), 1, cores)
            self.assertLess(os.stat(cores[0]).st_blocks * 512, 128 << 20)
            with open(cores[0], "rb") as file:
                content = file.read()
            self.assertIn(b"what a debugger wants to see ..." * 1000, content)
            self.assertEqual(content.count(b"static data, too" * 4096), 1)


class Refused(JobTest):
    def refused(self, **settings):
        env = dict(self.env, **settings)
        command = [program("refuse"), "populate", *run_command(2, program("memory"), "refused")]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        if done.returncode == 77:
            self.skipTest("filters of system calls are not permitted here")
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted(set(done.stdout.splitlines()))

    @unittest.skipIf(harness.SANITIZED, "malloc is the sanitizer's")
    def test_memory_that_is_not_granted_leaves_the_heap(self):
        big, vector, small = self.refused(TOWLINE_HEAP_COMMIT="on")
        self.assertEqual((big, small), ("big: plain", "small: heap"))
        self.assertRegex(vector, "rma_vector: no memory for 16777216 bytes in the shared heap, which holds [0-9]+ MiB: ")

    @unittest.skipIf(harness.SANITIZED, "malloc is the sanitizer's")
    def test_where_the_kernel_overcommits_nobody_asks(self):
        self.assertEqual(self.refused(TOWLINE_HEAP_COMMIT="off"), ["big: heap", "rma_vector: heap", "small: heap"])


@unittest.skipIf(harness.SANITIZED, "malloc is the sanitizer's")
@unittest.skipIf(os.geteuid() != 0, "only root can make a cgroup")
class Limited(JobTest):
    """A cgroup of 192 MiB, in which a rank wants more."""

    def setUp(self):
        super().setUp()
        self.folder = cgroups.make("memory")
        if self.folder is None:
            self.skipTest("no cgroup of memory can be made here")
        self.addCleanup(cgroups.remove, self.folder)  # before the look at what stays
        cgroups.limit_memory(self.folder, 192 << 20)

    def run_limited(self, *words, folder=None, **settings):
        return cgroups.run_in(folder or self.folder, run_command(2, program("memory"), *words), dict(self.env, **settings))

    def test_what_does_not_fit_is_refused_or_leaves_the_heap(self):
        for kib in (64, 256, 1024, 16 << 10, 64 << 10):
            for commit in ("off", "on"):
                with self.subTest(kib=kib, commit=commit):
                    done = self.run_limited("grow", str(kib), TOWLINE_HEAP_COMMIT=commit)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    found = re.fullmatch(rf"rma_vector: after (\d+) MiB: no memory for {kib << 10} bytes in the shared heap, "
                                         r"which holds \d+ MiB: .*cgroup's memory limit.*\nmalloc: plain after (\d+) MiB\n", done.stdout)
                    self.assertTrue(found, done.stdout)
                    for got in map(int, found.groups()):  # nearly all of it can be had: 64 MiB fit twice
                        self.assertGreaterEqual(got, 128)
                        self.assertLess(got, 192)

    def test_who_touches_more_is_told_of_with_the_limit(self):
        for kib in (64, 16 << 10):
            self.overruns(kib)

    def overruns(self, kib, folder=None):
        done = self.run_limited("overrun", str(kib), folder=folder)
        self.assertEqual((done.returncode, done.stdout), (137, ""), done.stderr)
        self.assertRegex(done.stderr, r"^towline: rank 1 \(pid \d+ on \S+\) was killed by signal 9 \(SIGKILL, Killed\): the memory limit of its "
                                      rf"cgroup \(192 MiB, {re.escape(self.folder)}\) was reached; the job is ended\n$")

    def test_the_limit_of_the_cgroup_above(self):
        """With v2 the one below has no files of memory: its controller is not given on."""
        below = f"{self.folder}/below"
        os.mkdir(below)
        self.addCleanup(cgroups.remove, below)
        self.overruns(16 << 10, folder=below)


if __name__ == "__main__":
    harness.main()
