"""What the tests of whole jobs share: running the tool, and seeing that nothing stays behind."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

TOWLINE = os.environ.get("TOWLINE", "build/release/bin/towline")
PROGRAMS = os.environ.get("PROGRAMS", os.path.dirname(TOWLINE))
SANITIZERS = os.environ.get("TOWLINE_SANITIZE", "")
SANITIZED = bool(SANITIZERS)
MARK = "TOWLINE_TEST_MARK"


def program(name):
    return os.path.join(PROGRAMS, "program_" + name)


def run_command(ranks, *command, options=()):
    return [TOWLINE, "run", "-n", str(ranks), *options, *command]


def has_pmix():
    """Whether processes that a launcher starts by PMIx can speak with it."""
    try:
        ctypes.CDLL("libpmix.so.2")
    except OSError:
        return False
    return True


def without_late_words(errors):
    """Without lines that tell who looked at nobody that what it gave to a collective operation did not fit."""
    late = re.compile(r"towline\[\d+\]: \w+( with root \d+)? failed on rank \d+: what it gave does not fit what this rank gave; the call of this "
                      r"rank had ended well before that was known\n")
    return late.sub("", errors)


def processes_with(mark):
    """Living processes whose environment carries the mark: whatever a job has started, however it hides."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if wanted not in file.read().split(b"\0"):
                    continue
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] in "ZX":
                    continue
            found.append(int(pid))
        except OSError:
            pass
    return found


def wait_until(condition, seconds):
    """True as soon as condition() is; False after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class Job(subprocess.Popen):
    """Where a test fails half-way, its job is killed rather than waited for."""

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.kill()
        return super().__exit__(kind, value, trace)


class JobTest(unittest.TestCase):
    """A test that runs jobs. After each: no process with its mark, no temporary file, no new descriptor here. (Shared places hold
    what other jobs of the machine put there; adversity_test.py looks at every file, in places of its own.)"""

    def setUp(self):
        self.mark = uuid.uuid4().hex
        self.env = dict({"TOWLINE_TUNING": "off"}, **os.environ, **{MARK: self.mark})  # a developer may have measured this machine
        self.env.pop("TOWLINE_JOB", None)
        if SANITIZED:
            leaks = os.path.join(os.path.dirname(os.path.abspath(__file__)), "leaks.txt")
            self.env.setdefault("LSAN_OPTIONS", f"suppressions='{leaks}':print_suppressions=0")
        self.temporary = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.temporary, ignore_errors=True)
        self.env["TMPDIR"] = self.temporary
        self.descriptors = os.listdir("/proc/self/fd")
        self.addCleanup(self.nothing_stays)

    def nothing_stays(self):
        left = []

        def gone():
            left[:] = processes_with(self.mark)
            return not left
        ok = wait_until(gone, 3)
        names = []
        for pid in left:
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    names.append(f"{pid}: {file.read().replace(bytes(1), b' ').decode(errors='replace')}")
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.assertTrue(ok, f"processes stayed behind: {names}")
        self.assertEqual(os.listdir(self.temporary), [], "files stayed behind")
        self.assertEqual(len(os.listdir("/proc/self/fd")), len(self.descriptors), "descriptors stayed open")

    def start(self, ranks, *command, options=(), **popen):
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("env", self.env)
        popen.setdefault("text", True)
        return Job(run_command(ranks, *command, options=options), **popen)

    def run_job(self, ranks, *command, options=(), input=None, timeout=60, **popen):
        """Runs a job to its end: (exit code, standard output, standard error, seconds)."""
        if input is not None:
            popen["stdin"] = subprocess.PIPE
        begin = time.monotonic()
        with self.start(ranks, *command, options=options, **popen) as process:
            try:
                out, err = process.communicate(input, timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return process.returncode, out, err, time.monotonic() - begin

    def member(self, ranks, words, options=(), **rest):
        """Runs program_member with the words of a string."""
        return self.run_job(ranks, program("member"), *words.split(), options=options, **rest)


def main():
    sys.stdout.reconfigure(line_buffering=True)
    unittest.main(verbosity=2)
