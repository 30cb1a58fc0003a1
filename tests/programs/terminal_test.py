"""A job and the terminal that it was started from: sessions, ^C, ^Z, foreground and background, what is typed."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

import harness
from harness import JobTest, program, run_command, wait_until


def stat_of(pid):
    """State, parent, process group, session."""
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rpartition(")")[2].split()
    return words[0], int(words[1]), int(words[2]), int(words[3])


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


# What a shell with job control does: one job, in a process group of its own. It reads commands from descriptor 9, so that the terminal is
# the job's alone.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
def terminal(group): os.tcsetpgrp(0, group)
own = os.getpgrp()
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    if sys.argv[1] == "fg": terminal(os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.close(9)
    os.execv(sys.argv[2], sys.argv[2:])
try: os.setpgid(job, job)
except OSError: pass
print("job", job, flush=True)
for word in os.fdopen(9):
    word = word.strip()
    if word == "fg": terminal(job); os.killpg(job, signal.SIGCONT)
    if word == "quietly": terminal(job)
    if word == "bg": terminal(own); os.killpg(job, signal.SIGCONT)
    if word == "own": terminal(own)
    if word == "wait":
        while True:
            pid, status = os.waitpid(job, os.WUNTRACED)
            if os.WIFSTOPPED(status): print("stopped", flush=True); terminal(own); break
            print("ended", os.waitstatus_to_exitcode(status), flush=True); terminal(own); sys.exit()
"""


class Terminal(JobTest):
    def setUp(self):
        super().setUp()
        try:
            for end in os.openpty():
                os.close(end)
        except OSError as e:
            self.skipTest(f"no pseudo-terminals here: {e}")

    def begin(self, ranks, command, how="fg", options=()):
        """Starts a shell on a new terminal that starts the job."""
        read, write = os.pipe()
        self.shell, self.master = pty.fork()
        if self.shell == 0:
            os.dup2(read, 9)
            os.execve(sys.executable, [sys.executable, "-c", SHELL, how, *run_command(ranks, *command, options=options)], self.env)
        os.close(read)
        self.commands = os.fdopen(write, "w")
        self.seen = ""
        self.front = int(self.expect("job ").partition("job ")[2].split()[0])

    def expect(self, text, seconds=20, times=1):
        end = time.monotonic() + seconds
        while self.seen.count(text) < times or not self.seen.endswith("\n"):
            self.assertLess(time.monotonic(), end, f"{text!r} is expected {times} times in {self.seen!r}")
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.master, 65536).decode(errors="replace")
                except OSError:
                    break
        self.assertGreaterEqual(self.seen.count(text), times, self.seen)
        return self.seen

    def tell(self, word):
        self.commands.write(word + "\n")
        self.commands.flush()

    def type(self, text):
        os.write(self.master, text)

    def end(self):
        """Closes the terminal; the shell is gone then."""
        self.commands.close()
        os.close(self.master)
        self.assertTrue(wait_until(lambda: os.waitpid(self.shell, os.WNOHANG)[0] != 0, 10))

    def states(self):
        keeper, = children(self.front)
        return "".join(stat_of(pid)[0] for pid in [self.front, *children(keeper)])

    def test_the_job_has_a_session_of_its_own(self):
        self.begin(3, [program("member"), "join", "fence", "say", "up", "sleep", "30000"])
        self.expect("up", times=3)
        keeper, = children(self.front)
        ranks = children(keeper)
        self.assertEqual(len(ranks), 3)
        self.assertEqual({stat_of(pid)[3] for pid in [keeper, *ranks]}, {keeper})
        self.assertNotEqual(stat_of(self.front)[3], keeper)
        self.assertEqual([stat_of(pid)[2] for pid in ranks], ranks)  # a process group each
        self.tell("wait")
        self.type(b"\x03")
        self.expect("ended 130")
        self.end()

    def test_stopped_and_continued(self):
        self.begin(2, [program("member"), "join", "fence", "say", "up", "spin"])
        self.expect("up", times=2)
        for how in ("fg", "bg"):
            self.tell("wait")
            self.type(b"\x1a")
            self.expect("stopped", times=1 if how == "fg" else 2)
            self.assertTrue(wait_until(lambda: self.states() == "TTT", 10), self.states())
            self.tell(how)
            self.assertTrue(wait_until(lambda: "T" not in self.states(), 10), self.states())
        self.tell("wait")
        os.kill(self.front, signal.SIGTERM)
        self.expect("ended 143")
        self.end()

    def test_the_terminal_goes_away(self):
        self.begin(2, ["sh", "-c", "trap 'exit 5' HUP; echo up; while :; do sleep 0.05; done"])
        self.expect("up", times=2)
        front = self.front
        self.end()
        self.assertTrue(wait_until(lambda: not harness.processes_with(self.mark), 10), front)

    def test_the_terminal_goes_away_while_the_job_is_stopped(self):
        self.begin(2, [program("member"), "join", "fence", "say", "up", "spin"])
        self.expect("up", times=2)
        self.tell("wait")
        self.type(b"\x1a")
        self.expect("stopped")
        self.end()
        self.assertTrue(wait_until(lambda: not harness.processes_with(self.mark), 10))

    def test_typed_lines_in_the_background_are_not_ours(self):
        script = "test $TOWLINE_RANK = 0 || exit 0; echo ready; while read x; do echo \"<$x>\"; done; echo end"
        self.begin(2, ["sh", "-c", script], how="bg")
        self.expect("ready")
        self.type(b"for the shell\n")
        time.sleep(0.8)
        self.assertNotIn("T", self.states())  # it was not stopped for reading
        self.assertNotIn("<for", self.seen)
        self.tell("quietly")  # a shell does not tell a running job
        self.expect("<for the shell>")
        self.type(b"for rank 0\n")
        self.expect("<for rank 0>")
        self.tell("wait")
        self.type(b"\x04")
        self.expect("ended 0")
        self.assertIn("end", self.seen)
        self.end()

    def test_output_in_the_background_is_not_stopped(self):
        self.begin(1, ["sh", "-c", "sleep 0.5; echo text"], how="bg")
        attributes = termios.tcgetattr(self.master)
        attributes[3] |= termios.TOSTOP
        termios.tcsetattr(self.master, termios.TCSANOW, attributes)
        self.expect("text")
        self.tell("quietly")
        self.tell("wait")
        self.expect("ended 0")
        self.end()

    def test_a_new_size_is_passed_on(self):
        self.begin(2, ["bash", "-c", "trap 'echo sized; exit 0' WINCH; echo up; while :; do sleep 0.05; done"])
        self.expect("up", times=2)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.expect("sized", times=2)
        self.tell("wait")
        self.expect("ended 0")
        self.end()


class Starving(JobTest):
    def test_a_busy_session_does_not_count(self):
        """The scheduler's group of the ranks is not that of who started them, where it groups by session."""
        try:
            with open("/proc/sys/kernel/sched_autogroup_enabled") as file:
                if file.read().strip() != "1":
                    self.skipTest("the scheduler does not group by session here")
        except OSError:
            self.skipTest("this kernel has no groups by session")
        with open("/proc/self/autogroup") as file:
            own = file.read()
        if not own:
            self.skipTest("a cgroup with a share of the processors of its own takes the place of the groups by session")
        with self.start(2, "sh", "-c", "cat /proc/self/autogroup; sleep 0.1") as process:
            out, _ = process.communicate(timeout=30)
        groups = set(out.splitlines())
        self.assertEqual(len(groups), 1)   # all ranks in one: they yield to each other
        self.assertNotIn(own, groups)


if __name__ == "__main__":
    harness.main()
