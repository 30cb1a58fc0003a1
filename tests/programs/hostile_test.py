"""Job files that somebody made to harm: against `towline where`, which root may run, and against the launcher of the job itself."""

import ctypes
import fcntl
import mmap
import os
import random
import struct
import subprocess
import sys
import threading
import unittest

import harness
from harness import JobTest, TOWLINE, program

VERSION = 8
PAGE = 4096
SLOT = 4096
BOARD = 8192
SEGMENT = 16 << 20
F_ADD_SEALS, SEALS = 1033, 1 | 2 | 4  # SEAL, SHRINK, GROW
SIZES = {"waiting_for": 128, "sequence": 2632, "report": 2672}


def control_bytes(size):
    return (PAGE + size * (SLOT + BOARD) + (2 << 20) - 1) // (2 << 20) * (2 << 20)


class JobFile:
    """A file that passes for a job's; docs/wire.md says what is where."""

    def __init__(self, size=1, name=b"4711-hostile", sealed=True):
        self.fd = os.memfd_create("towline-job", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, control_bytes(size) + size * SEGMENT)
        inbox = (4096 + size * 64 + 65535) // 65536 * 65536
        header = struct.pack("<8sIIQQQ32s32sIIII", b"towline1", VERSION, size, control_bytes(size), SEGMENT, inbox, name, b"k" * 32, 0, 2, 0, 0)
        os.pwrite(self.fd, header, 0)
        os.pwrite(self.fd, struct.pack("<III", 0, 1, size), 512)
        self.map = mmap.mmap(self.fd, PAGE + size * SLOT)
        if sealed:
            fcntl.fcntl(self.fd, F_ADD_SEALS, SEALS)

    def slot(self, rank, offset, data):
        at = PAGE + rank * SLOT + offset
        self.map[at:at + len(data)] = data

    def close(self):
        self.map.close()
        os.close(self.fd)


class Where(JobTest):
    def where(self, *words):
        """(exit code, what it says of a job). Of the list of all jobs, the lines of ours: others may run on this machine."""
        done = subprocess.run([TOWLINE, "where", *words], capture_output=True, timeout=60, env=self.env)
        self.assertIn(done.returncode, (0, 1), done.stderr)  # not a signal
        out = done.stdout
        if not words:
            ours = [b"%d" % os.getpid() in line.split()[:1] for line in out.split(b"\n")]  # who holds the file passes for its launcher
            out = b"\n".join(line for line, own in zip(out.split(b"\n"), ours) if own)
        for text in (out, done.stderr):
            self.assertEqual([c for c in text.decode() if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160], [], text)
        return done.returncode, out.decode()

    def test_the_list_has_ours_in_it(self):
        self.assertEqual(self.where(), (0, ""))
        self.given(size=2, name=b"4711-listed")
        code, out = self.where()
        self.assertEqual((code, out.split()[1], "4711-listed" in out), (0, "2", True))

    def given(self, **rest):
        file = JobFile(**rest)
        self.addCleanup(file.close)
        return file

    def test_a_size_that_changes(self):
        file = self.given()
        stop = threading.Event()
        size = ctypes.c_uint32.from_buffer(file.map, 12)

        def flip():
            while not stop.is_set():
                size.value = 1
                size.value = 16384
        thread = threading.Thread(target=flip)
        thread.start()
        try:
            seen = [self.where(*words) for _ in range(25) for words in ((), (str(os.getpid()),))]
        finally:
            stop.set()
            thread.join()
            del size
        self.assertEqual([out for _, out in seen if "16384" in out], [])  # it has one rank, or is no job

    def test_names_that_steer_a_terminal(self):
        for name in (b"\x1b]0;gotcha\x07\x1b[2J", "\u009b2J\u202e".encode(), b"\xff\xfe\x80", b"x" * 31):
            with self.subTest(name=name):
                file = JobFile(name=name)
                _, out = self.where()
                self.assertIn("x" * 31 if name.startswith(b"x") else "?", out)
                file.close()
        file = JobFile(name=b"y" * 32)  # no end
        self.assertNotIn("yyy", self.where()[1])
        file.close()

    def test_notes_and_reports_of_anything(self):
        seed = int(os.environ.get("TOWLINE_TEST_SEED", int.from_bytes(os.urandom(4), "big")))
        chance = random.Random(seed)
        file = self.given(size=4, name=b"4711-notes")
        for _ in range(20):
            for rank in range(4):
                file.slot(rank, 0, chance.randbytes(SLOT))
                file.slot(rank, 0, struct.pack("<I", 1))
                file.slot(rank, SIZES["sequence"], struct.pack("<II", 2, 1))
                file.slot(rank, SIZES["waiting_for"], chance.choice((b"\x1b[31m" * 38, b"\xc2\x9b" * 96, chance.randbytes(192))))
            code, out = self.where(str(os.getpid()))
            self.assertEqual(code, 0, f"seed {seed}")
            self.assertIn("4 ranks", out)

    def test_a_file_that_may_shrink_is_not_looked_at(self):
        file = JobFile(size=3, name=b"4711-unsealed", sealed=False)
        self.assertNotIn("unsealed", self.where()[1])
        self.assertEqual(self.where(str(os.getpid()))[0], 1)
        file.close()

    def test_a_command_line_that_steers_a_terminal(self):
        file = self.given(name=b"4711-line")
        with subprocess.Popen([sys.executable, "-c", "input()", "\x1b[2J\u009b5m", "z" * 100_000], pass_fds=[file.fd], env=self.env,
                              stdin=subprocess.PIPE) as process:
            self.where()
            code, out = self.where(str(process.pid))
            self.assertEqual(code, 0)
            self.assertLess(len(out), 4000)
            process.communicate(b"\n")


class Keeper(JobTest):
    def test_a_rank_that_overwrites_the_control_block(self):
        """Whatever a rank writes over the shared header and slots, the launcher ends in order, and tells who died."""
        script = """
import mmap, os, random, signal, sys
fd = int(os.environ["TOWLINE_JOB"].split(":")[0])
block = mmap.mmap(fd, 4096 + 2 * 4096)
chance = random.Random(int(sys.argv[1]))
if os.environ["TOWLINE_RANK"] == "1":
    block[12:16] = (16000).to_bytes(4, "little")          # size
    block[40:72] = b"\\x1b]2;x\\x07" + b"\\xff" * 26         # job id, without an end
    for at in range(4096, 3 * 4096, 4096):
        block[at + 4:at + 4096] = chance.randbytes(4092)
        block[at:at + 4] = (chance.choice((0, 1, 2, 7))).to_bytes(4, "little")
    os.kill(os.getpid(), signal.SIGKILL)
else:
    import time
    time.sleep(30)
"""
        seed = int(os.environ.get("TOWLINE_TEST_SEED", int.from_bytes(os.urandom(4), "big")))
        for i in range(3):
            for options in (["--stats"], ["--stats=/dev/null"]):
                code, out, err, seconds = self.run_job(2, sys.executable, "-c", script, str(seed + i), options=options, text=False)
                self.assertEqual(code, 137, f"seed {seed}: {err}")
                self.assertNotIn(b"\x1b", err)
                if b"towline: rank" in err:  # a slot may say that the rank has told it itself
                    self.assertIn(b"towline: rank 1 ", err)
                self.assertLess(seconds, 10)

    def test_a_card_of_anything(self):
        """A rank that reads what another wrote there gets an error or nonsense, and does not die of it."""
        script = f"""
import mmap, os, sys
fd, rank = os.environ["TOWLINE_JOB"].split(":")
block = mmap.mmap(int(fd), 4096 + 2 * 4096)
if rank == "1":
    at = 4096 + 4096 + 576
    block[at:at + 4] = b"\\xff\\xff\\xff\\xff"
    block[at + 4:at + 4 + 2044] = b"A" * 2044
words = ["member"] + (["show", "1", "k"] if rank == "0" else ["say", "other"])
os.execv({program("member")!r}, words)
"""
        code, out, err, _ = self.run_job(2, sys.executable, "-c", script)
        self.assertIn(code, (0, 1, 3), err)


if __name__ == "__main__":
    harness.main()
