"""Jobs in poor surroundings: full disks, small stacks, chroots, limits of memory and processes, paths with blanks."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from shlex import quote

import cgroups
import harness
from harness import JobTest, TOWLINE, program, run_command

MPIEXEC = os.path.join(os.path.dirname(TOWLINE), "mpiexec")
LAUNCH = os.path.join(harness.PROGRAMS, "mpi_launch")
LIMITS = not harness.SANITIZED  # programs with sanitizers need more than these limits give


def limited(test):
    return unittest.skipIf(harness.SANITIZED, "the sanitizers need more than these limits give")(test)


class FullDisks(JobTest):
    def check(self, *command):
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, env=self.env, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 125, (command, done.stderr))
        name = os.path.basename(command[0]) + (" " + command[1] if command[0] == TOWLINE and not command[1].startswith("-") else "")
        self.assertEqual(done.stderr, f"{name}: the standard output cannot be written: No space left on device\n", command)

    def test_every_command_tells(self):
        self.check(TOWLINE, "run", "-n", "2", "hostname")
        self.check(MPIEXEC, "-n", "2", "hostname")
        for words in (["info"], ["info", "--json"], ["where"], ["tune", "--show"], ["layout", "--no-measure", "int"], ["--help"],
                      ["run", "--help"], ["--version"]):
            self.check(TOWLINE, *words)
        for words in (["--help"], ["--version"]):
            self.check(MPIEXEC, *words)

    def test_what_was_written_stays_and_the_job_ends(self):
        with tempfile.TemporaryDirectory() as folder:
            script = f'ulimit -f 65536; exec {quote(TOWLINE)} run -n 2 yes > {quote(folder)}/out'
            done = subprocess.run(["bash", "-c", script], env=self.env, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertIn("the standard output cannot be written: File too large\n", done.stderr)
            self.assertEqual(done.returncode, 125)
            self.assertEqual(os.path.getsize(folder + "/out"), 64 << 20)

    def test_the_error_of_a_rank_comes_first(self):
        with open("/dev/full", "w") as full:
            code, _, err, _ = self.run_job(2, "sh", "-c", "exit 3", stdout=full)
        self.assertEqual(code, 3, err)

    def test_standard_error_on_a_full_disk(self):
        with open("/dev/full", "w") as full:
            code, out, _, _ = self.run_job(2, "sh", "-c", "echo out; echo err >&2", stderr=full)
        self.assertEqual((code, out), (125, "out\nout\n"))

    def test_a_reader_that_is_gone(self):
        """As other tools: by SIGPIPE, without a word."""
        for command in ([TOWLINE, "info"], [TOWLINE, "run", "-n", "2", "sh", "-c", "sleep 0.3; echo text"]):
            script = f"{' '.join(map(quote, command))} | true; echo ${{PIPESTATUS[0]}}"
            done = subprocess.run(["bash", "-c", script], env=self.env, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.stderr, "")
            self.assertIn(done.stdout, ("141\n", "0\n") if "info" in command else ("141\n",))  # info may be done before


class Limits(JobTest):
    @limited
    def test_a_small_stack(self):
        for kib in (64, 128):
            done = subprocess.run(["bash", "-c", f"ulimit -s {kib}; exec \"$@\"", "bash", *run_command(2, program("chatter"), "50")], env=self.env,
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 100), done.stderr[-2000:])

    def test_long_lines_are_whole(self):
        script = "import sys; sys.stdout.write(sys.argv[1] * 1_000_000); sys.stdout.flush(); sys.stdout.write(sys.argv[1] * 1_000_000 + '\\n')"
        code, out, _, _ = self.run_job(3, "sh", "-c", f"exec {quote(sys.executable)} -c {quote(script)} $TOWLINE_RANK", options=["--tag"])
        self.assertEqual(code, 0)
        self.assertEqual(sorted(out.splitlines()), [f"[{r}] " + str(r) * 2_000_000 for r in range(3)])

    def test_two_sigterms_are_two_interrupts(self):
        for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)):
            with self.start(3, program("member"), "ignore", "2", "ignore", "15", "join", "fence", "say", "up", "spin") as process:
                for _ in range(3):
                    self.assertEqual(process.stdout.readline(), "up\n")
                process.send_signal(first)
                time.sleep(0.4)
                self.assertIsNone(process.poll())
                process.send_signal(second)
                self.assertEqual(process.wait(10), 128 + second)

    @unittest.skipIf(os.geteuid() != 0, "only root can become another user")
    def test_too_many_processes(self):
        folder = cgroups.make("pids")
        if folder is None:
            self.skipTest("no cgroup of processes can be made here")
        try:
            cgroups.write(folder + "/pids.max", "12")
            done = cgroups.run_in(folder, run_command(30, "sleep", "20"), self.env)
            self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
            self.assertRegex(done.stderr, r"^towline run: starting the process of rank \d+ of 30 \(.*the cgroup allows 12 processes and threads "
                                          r"\(/.*/pids.max\)\): Resource temporarily unavailable\n$")
        finally:
            cgroups.remove(folder)

    @limited
    @unittest.skipIf(os.geteuid() != 0, "only root can make a cgroup")
    def test_the_memory_limit_of_a_cgroup(self):
        folder = cgroups.make("memory")
        if folder is None:
            self.skipTest("no cgroup of memory can be made here")
        try:
            cgroups.limit_memory(folder, 96 << 20)
            script = "import os, time\nif os.environ['TOWLINE_RANK'] == '1':\n    x = bytearray(1 << 30)\ntime.sleep(20)"
            done = cgroups.run_in(folder, run_command(2, sys.executable, "-c", script, options=["--heap", "off"]), self.env)
            self.assertEqual(done.returncode, 137, done.stderr)
            self.assertRegex(done.stderr, r"towline: rank 1 \(pid \d+ on \S+\) was killed by signal 9 \(SIGKILL, Killed\): the memory limit of its "
                                          r"cgroup \(96 MiB, /\S+\) was reached; the job is ended\n")
            # One that is killed otherwise, in the same cgroup: nothing is said of memory.
            done = cgroups.run_in(folder, run_command(2, "sh", "-c", "test $TOWLINE_RANK = 0 && sleep 20; kill -9 $$"), self.env)
            self.assertRegex(done.stderr, r"was killed by signal 9 \(SIGKILL, Killed\); the job is ended\n$")
            done = cgroups.run_in(folder, [TOWLINE, "info"], self.env)
            self.assertRegex(done.stdout, r"cgroup limit +96 MiB +/")
        finally:
            cgroups.remove(folder)


class Places(JobTest):
    def libraries(self, binary):
        """The paths of what a program needs, the loader's too."""
        out = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
        return [path for path in re.findall(r"(?:=> |^\t)(/.*) \(0x", out, re.MULTILINE)]

    @unittest.skipIf(os.geteuid() != 0, "only root may chroot")
    @limited
    def test_a_chroot_with_nothing_in_it(self):
        """No /proc, no /dev/null, no /dev/shm, no /tmp: a job runs."""
        with tempfile.TemporaryDirectory() as root:
            folders = set()
            for file in (TOWLINE, program("member")):
                shutil.copy(file, os.path.join(root, os.path.basename(file)))
                for path in map(os.path.normpath, self.libraries(file)):
                    os.makedirs(root + os.path.dirname(path), exist_ok=True)
                    shutil.copy(path, root + path)
                    folders.add(os.path.dirname(path))
            env = dict(self.env, LD_LIBRARY_PATH=":".join(sorted(folders)))  # without /proc nothing is found beside a program
            words = ["/towline", "run", "-n", "2", "/program_member", "put", "k", "v", "fence", "show", "1", "k"]
            for closing in ("", "<&- ", ">/dev/null <&- "):
                done = subprocess.run(["sh", "-c", f'exec "$@" {closing}', "sh", "chroot", root, *words], env=env, capture_output=True, text=True,
                                      timeout=60, stdin=subprocess.DEVNULL)
                self.assertEqual((done.returncode, done.stdout), (0, "" if ">" in closing else "v\nv\n"), done.stderr)

    def test_blanks_in_every_path(self):
        """The tool, its libraries and the program in folders with blanks, commas and colons: nothing is cut, and malloc is ours."""
        build = os.path.dirname(os.path.dirname(os.path.realpath(TOWLINE)))
        with tempfile.TemporaryDirectory(prefix="a b, c:d ") as folder:
            os.makedirs(folder + "/bin")
            os.makedirs(folder + "/lib")
            for name in os.listdir(build + "/lib"):
                if ".so" in name:
                    shutil.copy(os.path.join(build, "lib", name), folder + "/lib", follow_symlinks=False)
            for name in ("towline", "mpiexec", "program_member", "mpi_launch"):
                shutil.copy(os.path.join(build, "bin", name), folder + "/bin")
            for launcher in ([folder + "/bin/towline", "run"], [folder + "/bin/mpiexec"]):
                done = subprocess.run([*launcher, "-n", "2", folder + "/bin/program_member", "put", "k", "a b", "fence", "show", "1", "k"],
                                      env=self.env, capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "a b\na b\n", ""))
                if harness.SANITIZED:
                    continue
                done = subprocess.run([*launcher, "-n", "1", "grep", "-c", "libtowline-malloc", "/proc/self/maps"], env=self.env,
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertGreater(int(done.stdout), 0)
            done = subprocess.run([folder + "/bin/towline", "run", "-n", "1", "./program_member", "say", "here"], env=self.env, cwd=folder + "/bin",
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (0, "here\n"))


if __name__ == "__main__":
    harness.main()
