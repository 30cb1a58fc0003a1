"""`towline run`: output, input, exit codes, signals, and that nothing stays behind."""

import json
import os
import pty
import random
import re
import select
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from shlex import quote

import harness
from harness import JobTest, TOWLINE, program, processes_with, run_command, wait_until


class Output(JobTest):
    def test_hostname_on_eight(self):
        code, out, err, _ = self.run_job(8, "hostname")
        self.assertEqual((code, err), (0, ""))
      
        lines = out.splitlines()
        self.assertEqual(len(lines), 8)
        self.assertEqual(len(set(lines)), 1)

    def check_chatter(self, text, ranks, lines, stream, tagged):
        """Every line whole, every rank's lines in order and complete."""
        seen = {r: 0 for r in range(ranks)}
        for line in text.splitlines():
            if tagged:
                tag, _, line = line.partition(" ")
            rank, which, number, length, *rest = line.split(" ")
            self.assertEqual(which, stream)
            self.assertEqual("".join(rest), "x" * int(length))
            self.assertEqual(int(number), seen[int(rank)], line)
            if tagged:
                self.assertEqual(tag, f"[{rank}]")
            seen[int(rank)] += 1
        self.assertEqual(seen, {r: lines for r in range(ranks)})

    def test_lines_stay_whole(self):
        for options in ((), ("--tag",)):
            code, out, err, _ = self.run_job(6, program("chatter"), "400", options=options)
            self.assertEqual(code, 0)
            self.check_chatter(out, 6, 400, "1", bool(options))
            self.check_chatter(err, 6, 400, "2", bool(options))

    def test_lines_stay_whole_where_both_streams_are_one(self):
        code, out, _, _ = self.run_job(6, program("chatter"), "300", stderr=subprocess.STDOUT)
        self.assertEqual(code, 0)
        for stream in "12":
            self.check_chatter("".join(l for l in out.splitlines(True) if l.split(" ")[1] == stream), 6, 300, stream, False)

    def test_a_slow_reader_loses_nothing(self):
        with self.start(4, program("chatter"), "2000", stderr=subprocess.DEVNULL) as process:
            pieces = []
            while piece := os.read(process.stdout.fileno(), 100000):
                pieces.append(piece)
                if len(pieces) < 20:
                    time.sleep(0.02)
            self.assertEqual(process.wait(60), 0)
        self.check_chatter(b"".join(pieces).decode(), 4, 2000, "1", False)

    def test_bytes_of_one_rank_pass_unchanged(self):
        data = random.Random(7).randbytes(1_000_000) + b"no end"
        code, out, _, _ = self.run_job(1, "cat", input=data, text=False)
        self.assertEqual(code, 0)
        self.assertEqual(out, data)
        data = b"y" * 300_000 + b"\n" + b"z" * 300_000
        _, out, _, _ = self.run_job(1, "cat", input=data, text=False)
        self.assertEqual(out, data)

    def test_unfinished_last_lines_do_not_meet(self):
        code, out, _, _ = self.run_job(3, "printf", "a\\nb", options=["--tag"])
        self.assertEqual(code, 0)
        self.assertEqual(sorted(out.split("\n")), sorted(f"[{r}] {c}" for r in range(3) for c in "ab"))
        _, out, _, _ = self.run_job(1, "printf", "a\\nb")
        self.assertEqual(out, "a\nb")

    def test_a_reader_that_goes_ends_writers_quietly(self):
        with self.start(3, "yes") as process:
            self.assertTrue(process.stdout.readline())
            process.stdout.close()
            self.assertEqual(process.wait(10), 141)
            self.assertEqual(process.stderr.read(), "")
        with self.start(3, program("chatter"), "1000000", stderr=subprocess.DEVNULL) as process:
            self.assertTrue(process.stdout.readline())
            process.stdout.close()
            self.assertEqual(process.wait(10), 141)
        begin = time.monotonic()
        script = f"{quote(TOWLINE)} run -n 2 yes | head -1"
        self.assertEqual(subprocess.run(["bash", "-c", script], env=self.env, capture_output=True, text=True, timeout=20).stdout, "y\n")
        self.assertLess(time.monotonic() - begin, 10)

    def test_closed_standard_descriptors(self):
        for closing in (">&-", "2>&-", "<&-", "<&- >&- 2>&-"):
            script = f"{quote(TOWLINE)} run -n 2 sh -c 'echo out; echo err >&2' {closing}"
            done = subprocess.run(["bash", "-c", script], env=self.env, capture_output=True, text=True, timeout=20)
            self.assertEqual(done.returncode, 0, closing)
            self.assertEqual(done.stdout, "" if ">&- " in closing + " " and closing != "2>&-" else "out\nout\n", closing)

    def test_a_full_disk_is_not_waited_for(self):
        with open("/dev/full", "w") as full:
            code, _, _, seconds = self.run_job(2, "yes", stdout=full)
        self.assertNotEqual(code, 0)
        self.assertLess(seconds, 10)


class Input(JobTest):
    def test_rank_0_reads_and_the_others_find_nothing(self):
        code, out, _, _ = self.run_job(3, "sh", "-c", "n=$(wc -c); echo $TOWLINE_RANK read $n", input="five\n")
        self.assertEqual(code, 0)
        self.assertEqual(sorted(out.splitlines()), ["0 read 5", "1 read 0", "2 read 0"])

    def test_a_file_is_given_as_it_is(self):
        with open(__file__) as file:
            code, out, _, _ = self.run_job(2, "sh", "-c", "test $TOWLINE_RANK = 0 && cat || true", stdin=file)
        with open(__file__) as file:
            self.assertEqual((code, out), (0, file.read()))

    def test_input_that_nobody_reads(self):
        code, out, _, _ = self.run_job(2, "true", input="x" * 1_000_000)
        self.assertEqual((code, out), (0, ""))


class Words(JobTest):
    def test_arguments_arrive_as_they_are(self):
        words = ["", " a  b ", "--help", "-n", "é\n", "*", "$HOME", "--", "'"]
        code, out, _, _ = self.run_job(1, sys.executable, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))", *words)
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(out), words)

    def test_ranks_know_who_they_are(self):
        code, out, _, _ = self.run_job(3, "sh", "-c", "echo $TOWLINE_RANK of $TOWLINE_SIZE")
        self.assertEqual(sorted(out.splitlines()), [f"{r} of 3" for r in range(3)])

    def test_ranks_get_the_job_and_nothing_else(self):
        script = "import os; print(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:-1])"
        code, out, _, _ = self.run_job(2, sys.executable, "-c", script)
        for line in out.splitlines():
            descriptors = json.loads(line)
            self.assertEqual(descriptors[:3], [0, 1, 2])
            self.assertLessEqual(len(descriptors), 4)

    def test_signals_and_limits_are_as_outside(self):
        script = "grep -E '^(SigBlk|SigIgn)' /proc/self/status; ulimit -n"
        outside = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=self.env, stdin=subprocess.DEVNULL).stdout
        code, inside, _, _ = self.run_job(1, "sh", "-c", script)
        self.assertEqual(inside, outside)

    def test_a_folder_of_the_path_that_may_not_be_searched(self):
        """It has nothing for this user, as in a shell."""
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0)
            env = dict(self.env, PATH=f"{folder}:/usr/bin:/bin")
            user = 65534 if os.geteuid() == 0 else None
            for command, code, words in ((["there-is-no-such-program"], 127, "towline run: there-is-no-such-program: not found in PATH\n"),
                                         (["true"], 0, "")):
                try:
                    done = subprocess.run(run_command(1, *command), env=env, user=user, cwd="/", capture_output=True, text=True, timeout=30)
                except PermissionError:
                    self.skipTest("this build may not be run by another user")
                self.assertEqual((done.returncode, done.stdout, done.stderr), (code, "", words))

    def test_programs_that_cannot_be_run(self):
        code, _, err, _ = self.run_job(2, "there-is-no-such-program")
        self.assertEqual((code, err), (127, "towline run: there-is-no-such-program: not found in PATH\n"))
        code, _, err, _ = self.run_job(2, "./neither/here")
        self.assertEqual((code, err), (127, "towline run: ./neither/here: no such file\n"))
        self.assertEqual(self.run_job(2, "/etc/passwd")[0], 126)
        self.assertEqual(self.run_job(2, "/etc")[0], 126)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "garbage")
            with open(path, "wb") as file:
                file.write(b"\x7fELF nonsense \0\0\0")
            os.chmod(path, 0o755)
            code, _, err, _ = self.run_job(2, path)
            self.assertNotEqual(code, 0)
            script = os.path.join(folder, "script")
            with open(script, "w") as file:
                file.write("echo no interpreter line\n")
            os.chmod(script, 0o755)
            code, out, _, _ = self.run_job(2, script)
            self.assertEqual((code, out), (0, "no interpreter line\n" * 2))
            with open(script, "w") as file:
                file.write("#!/there/is/no/interpreter\n")
            code, _, err, _ = self.run_job(2, script)
            self.assertEqual(code, 127)
            self.assertEqual(err.count("\n"), 1, err)

    def test_wrong_usage(self):
        for arguments in (["-n", "0", "true"], ["-n", "-3", "true"], ["-n", "x", "true"], ["true"], ["-n", "2"], ["-n"], [],
                          ["-n", "99999999", "true"], ["-n", "2", "--bogus", "true"], ["-n", "2", "--bind", "moon", "true"],
                          ["-n", "2", "--timeout", "soon", "true"]):
            done = subprocess.run([TOWLINE, "run", *arguments], capture_output=True, text=True, env=self.env, timeout=20)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(done.stdout, "", arguments)
            self.assertTrue(done.stderr.startswith("towline run: "), done.stderr)
            self.assertTrue(done.stderr.endswith("\nTry 'towline run --help'.\n"), done.stderr)

    def test_wrong_usage_is_named(self):
        for arguments, words in ((["run", "-n", "x", "true"], "-n x: a job has 1 to 16384 processes"),
                                 (["run", "-np", "2", "true"], "-np is a word of mpiexec; here it is -n N"),
                                 (["run", "true"], "how many processes?"),
                                 (["run", "-n", "2"], "which PROGRAM?"),
                                 (["run", "-n", "2", "--bind", "moon", "true"], "'moon' is neither core nor none"),
                                 (["run", "-n", "2", "--heap", "moon", "true"], "'moon' is neither on nor off"),
                                 (["run", "-n", "2", "--bogus", "true"], "--bogus"),
                                 (["run", "-n", "2", "--stats", "x.json", "true"], "did you mean --stats=x.json?"),
                                 (["run", "-n", "2", "--hosts", "", "true"], "--hosts: the value is empty"),
                                 (["run", "-n", "2", "--hostfile", "", "true"], "--hostfile: the value is empty"),
                                 (["run", "-n", "2", "--hosts", "a", "--ssh", "", "true"], "--ssh: the value is empty"),
                                 (["run", "-n", "2", "--timeout", "", "true"], "--timeout: the value is empty"),
                                 (["start"], "there is no command 'start'; there are run, where, info, tune, layout and help"),
                                 (["-n", "2", "true"], "did you mean 'towline run -n ...'?"),
                                 ([], "which command?"),
                                 (["info", "--bogus"], "--bogus"),
                                 (["tune", "--bogus"], "--bogus"),
                                 (["layout"], "which LAYOUT? As in")):
            done = subprocess.run([TOWLINE, *arguments], capture_output=True, text=True, env=self.env, timeout=20)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(words, done.stderr)
            self.assertRegex(done.stderr, r"\nTry 'towline (run |info |tune |layout )?--help'\.\n$")

    def test_help(self):
        for arguments in (["--help"], ["run", "--help"], ["info", "--help"], ["tune", "--help"], ["layout", "--help"]):
            done = subprocess.run([TOWLINE, *arguments], capture_output=True, text=True, env=self.env, timeout=20)
            self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), 140)

    def test_wrong_settings(self):
        for name, value in (("TOWLINE_SEGMENT", "huge"), ("TOWLINE_SEGMENT", "12345"), ("TOWLINE_HEAP", "perhaps"),
                            ("TOWLINE_MEMBARRIER", "7")):
            code, _, err, _ = self.run_job(2, "true", env=dict(self.env, **{name: value}))
            self.assertNotEqual(code, 0, name)
            self.assertIn(name, err)
        code, _, err, _ = self.run_job(2, "true", env=dict(self.env, TOWLINE_SEGMENT="1024T"))
        self.assertNotEqual(code, 0)
        self.assertIn("TOWLINE_SEGMENT", err)

    def test_few_descriptors(self):
        script = f"ulimit -Sn 20; exec {quote(TOWLINE)} run -n 40 sh -c 'ulimit -n'"
        done = subprocess.run(["bash", "-c", script], env=self.env, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "20\n" * 40), done.stderr)

    @unittest.skipIf("undefined" in harness.SANITIZERS, "UBSan needs free descriptors to look at an exception's type")
    def test_too_few_descriptors(self):
        script = f"ulimit -Sn 20; ulimit -Hn 20; exec {quote(TOWLINE)} run -n 40 sleep 10"
        done = subprocess.run(["bash", "-c", script], env=self.env, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 125)
        self.assertIn("ulimit -n", done.stderr)

    def test_a_job_in_a_job(self):
        code, out, _, _ = self.run_job(2, TOWLINE, "run", "-n", "2", program("member"), "put", "k", "v", "fence", "show", "1", "k")
        self.assertEqual((code, out), (0, "v\n" * 4))

    def test_binding(self):
        script = "import os; print(*sorted(os.sched_getaffinity(0)))"
        allowed = len(os.sched_getaffinity(0))
        code, out, _, _ = self.run_job(allowed + 1, sys.executable, "-c", script, options=["--bind", "core"])
        self.assertEqual(code, 0)
        cpus = [tuple(line.split()) for line in out.splitlines()]
        self.assertEqual(len(cpus), allowed + 1)
        self.assertLess(len(set(cpus)), allowed + 1)
        self.assertEqual({int(c) for line in cpus for c in line} <= os.sched_getaffinity(0), True)
        code, out, _, _ = self.run_job(1, sys.executable, "-c", script)
        self.assertEqual(len(out.split()), allowed)


class Ends(JobTest):
    def line(self, err):
        """The one line that tells who died."""
        lines = [l for l in err.splitlines() if l.startswith("towline: rank")]
        self.assertEqual(len(lines), 1, err)
        return lines[0]

    def test_the_first_exit_code_that_is_not_zero(self):
        code, _, err, seconds = self.member(4, "@2 exit 7 sleep 20000 exit 9")
        self.assertEqual(code, 7)
        self.assertLess(seconds, 2 if not harness.SANITIZED else 6)
        self.assertRegex(self.line(err), r"^towline: rank 2 \(pid \d+ on \S+\) ended with exit code 7; the job is ended$")

    def test_death_by_a_signal_ends_the_job_soon(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM):
            code, _, err, seconds = self.member(4, f"join fence @3 signal {int(number)} sleep 20000")
            self.assertEqual(code, 128 + number)
            self.assertLess(seconds, 2 if not harness.SANITIZED else 6)
            self.assertRegex(self.line(err), rf"^towline: rank 3 \(pid \d+ on \S+\) was killed by signal {int(number)} "
                                             rf"\({number.name}, .*; the job is ended$")

    def test_ranks_that_ignore_being_asked_are_ended(self):
        code, _, err, seconds = self.member(3, "ignore 15 ignore 2 ignore 1 join fence @1 signal 9 spin")
        self.assertEqual(code, 137)
        self.assertLess(seconds, 2 if not harness.SANITIZED else 6)

    def test_ranks_that_wait_for_the_dead_one_are_ended(self):
        code, _, err, seconds = self.member(3, "ignore 15 join @0 signal 11 survive fence")
        self.assertEqual(code, 139)
        self.assertLess(seconds, 2 if not harness.SANITIZED else 6)
        self.line(err)

    def test_a_dead_rank_says_what_it_waited_for(self):
        with self.start(2, program("member"), "join", "@1", "sleep", "20000", "fence", env=dict(self.env)) as process:
            time.sleep(0.5 if not harness.SANITIZED else 3)  # until it waits
            victim = [p for p in processes_with(self.mark) if self.rank_of(p) == "0"]
            self.assertEqual(len(victim), 1)
            os.kill(victim[0], signal.SIGKILL)
            self.assertEqual(process.wait(10), 137)
            self.assertIn("while it waited for fence 1: rank 1 is not there yet", self.line(process.stderr.read()))

    def rank_of(self, pid):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                for entry in file.read().split(b"\0"):
                    if entry.startswith(b"TOWLINE_RANK="):
                        return entry[13:].decode()
        except OSError:
            pass
        return None

    def test_a_member_that_ends_without_leaving(self):
        code, _, err, seconds = self.member(3, "join @1 _exit 0 @1 sleep 1000 fence")
        self.assertEqual(code, 1)
        self.assertIn("rank 1", self.line(err))
        self.assertIn("without leaving the job", err)
        self.assertLess(seconds, 3 if not harness.SANITIZED else 8)

    def test_a_rank_that_never_joins_is_not_waited_for(self):
        code, out, err, seconds = self.member(3, "@1 exit 0 survive fence")
        self.assertEqual(code, 0, err)
        self.assertEqual(out, "fence: rank 1 has ended\n" * 2)

    def test_keep_going(self):
        code, out, err, _ = self.member(4, "join fence @2 signal 9 survive fence say on", options=["--keep-going"])
        self.assertEqual(code, 137)
        self.assertEqual(sorted(out.splitlines()), ["fence: rank 2 has died"] * 3 + ["on"] * 3)
        self.assertRegex(self.line(err), "the others go on$")

    def test_one_process_alone(self):
        self.assertEqual(self.run_job(1, "sh", "-c", "exit 3")[:3], (3, "", ""))
        code, _, err, _ = self.run_job(1, "sh", "-c", "kill -SEGV $$")
        self.assertEqual(code, 139)
        self.line(err)

    def test_timeout(self):
        limit, shown = ("500ms", "0.5 s") if not harness.SANITIZED else ("4500ms", "4.5 s")
        code, _, err, seconds = self.member(3, "ignore 15 join @0 spin fence", options=["--timeout", limit])
        self.assertEqual(code, 124)
        self.assertIn(f"{shown} (--timeout)", err)
        # Who waits long enough to be looked at closely is told together with the others.
        self.assertRegex(err, "rank(s 1 and 2 wait| 1 waits) for fence 1: rank 0 is not there yet")
        self.assertLess(seconds, 2.5 if not harness.SANITIZED else 14)

    def test_wrapper_scripts(self):
        member = quote(program("member"))
        script = f"{member} put k $TOWLINE_RANK fence show 2 k; exit $?"
        self.assertEqual(self.run_job(3, "sh", "-c", script)[:2], (0, "2\n" * 3))
        code, _, err, seconds = self.run_job(3, "sh", "-c", f"{member} join fence @1 signal 11 sleep 20000")
        self.assertEqual(code, 139)
        self.assertIn("SIGSEGV", self.line(err))
        self.assertLess(seconds, 2.5 if not harness.SANITIZED else 8)
        # A wrapper that does not care how its program ends.
        code, _, err, seconds = self.run_job(3, "sh", "-c", f"{member} join fence @1 signal 9 sleep 20000; sleep 30")
        self.assertNotEqual(code, 0)
        self.assertIn("rank 1", self.line(err))
        self.assertLess(seconds, 3 if not harness.SANITIZED else 8)
        # Two programs after each other: a rank is taken once.
        code, _, err, _ = self.run_job(1, "sh", "-c", f"{member} join; {member} join")
        self.assertEqual(code, 3)
        self.assertIn("has ended: one program a rank", err)
        # A child of a rank is no rank.
        script = f"import os; os.close(100); os.execv({program('member')!r}, ['m', 'join'])"
        code, _, err, _ = self.run_job(1, sys.executable, "-c", script)
        self.assertEqual(code, 3)
        self.assertIn("closed descriptor", err)


class NothingStays(JobTest):
    def test_daemons_are_ended(self):
        code, _, _, seconds = self.member(2, "daemon 30 join fence")
        self.assertEqual(code, 0)
        self.assertLess(seconds, 4 if not harness.SANITIZED else 8)
        self.assertEqual(processes_with(self.mark), [])
        code, _, _, seconds = self.run_job(2, "sh", "-c", "(setsid sleep 30 &) ; sleep 30 & exit 0")
        self.assertEqual(code, 0)
        self.assertEqual(processes_with(self.mark), [])

    def test_helpers_may_finish(self):
        code, out, _, _ = self.run_job(2, "bash", "-c", "exec > >(sleep 0.1; cat; echo done); echo text")
        self.assertEqual((code, sorted(out.split())), (0, ["done", "done", "text", "text"]))

    def family(self, process):
        """(front, keeper) of a running job."""
        self.assertTrue(wait_until(lambda: self.children(process.pid), 5))
        return process.pid, self.children(process.pid)[0]

    def children(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]

    def test_the_launcher_killed(self):
        """kill -9 of the front, of the keeper, or of both: all ranks, wrapped and daemonized ones too, are gone."""
        member = quote(program("member"))
        for victims in ("front", "keeper", "both"):
            script = f"{member} join daemon 30 fence say up spin; true" if victims != "both" else f"{member} join fence say up spin; true"
            with self.start(3, "sh", "-c", script) as process:
                for _ in range(3):
                    self.assertEqual(process.stdout.readline(), "up\n")
                front, keeper = self.family(process)
                if victims != "front":
                    os.kill(keeper, signal.SIGKILL)
                if victims != "keeper":
                    os.kill(front, signal.SIGKILL)
                code = process.wait(5)
                self.assertEqual(code, 137 if victims == "keeper" else -9)
                self.assertTrue(wait_until(lambda: not processes_with(self.mark), 2), f"{victims}: {processes_with(self.mark)}")
                if victims == "keeper":
                    self.assertIn("keeper of the job", process.stderr.read())

    def test_killed_at_random_moments_of_the_start(self):
        seed = int.from_bytes(os.urandom(4), "big")
        print("seed", seed)
        chance = random.Random(seed)
        for _ in range(25):
            with self.start(4, program("member"), "join", "fence", "spin") as process:
                time.sleep(chance.random() * 0.06)
                os.kill(process.pid, signal.SIGKILL)
                process.wait(5)
                self.assertTrue(wait_until(lambda: not processes_with(self.mark), 3), f"seed {seed}: {processes_with(self.mark)}")


class Signals(JobTest):
    def test_signals_are_passed_on(self):
        script = "trap 'echo got {0}; exit 0' {0}; echo ready; while :; do sleep 0.02; done"
        for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"):
            with self.start(3, "bash", "-c", script.format(name)) as process:
                for _ in range(3):
                    self.assertEqual(process.stdout.readline(), "ready\n")
                process.send_signal(getattr(signal, "SIG" + name))
                out, err = process.communicate(timeout=10)
                self.assertEqual((process.returncode, out), (0, f"got {name}\n" * 3), name)
                self.assertNotIn("towline", err)  # the shell may tell of its own child

    def test_the_default_action_is_not_worth_a_line(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.start(3, program("member"), "join", "fence", "say", "up", "sleep", "20000") as process:
                for _ in range(3):
                    self.assertEqual(process.stdout.readline(), "up\n")
                process.send_signal(number)
                out, err = process.communicate(timeout=10)
                self.assertEqual((process.returncode, err), (128 + number, ""))

    def test_the_second_interrupt_kills(self):
        with self.start(3, program("member"), "ignore", "2", "ignore", "15", "join", "fence", "say", "up", "spin") as process:
            for _ in range(3):
                self.assertEqual(process.stdout.readline(), "up\n")
            process.send_signal(signal.SIGINT)
            time.sleep(0.4)
            self.assertIsNone(process.poll())
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(5), 130)
            self.assertLess(time.monotonic() - begin, 2)

    def test_stop_and_continue(self):
        with self.start(2, program("member"), "join", "fence", "say", "up", "spin") as process:
            for _ in range(2):
                self.assertEqual(process.stdout.readline(), "up\n")
            keeper = NothingStays.children(self, process.pid)[0]

            def states():
                found = ""
                for pid in [process.pid, *NothingStays.children(self, keeper)]:
                    with open(f"/proc/{pid}/stat") as file:
                        found += file.read().rpartition(")")[2].split()[0]
                return found
            process.send_signal(signal.SIGTSTP)
            self.assertTrue(wait_until(lambda: states() == "TTT", 10), states())
            process.send_signal(signal.SIGCONT)
            self.assertTrue(wait_until(lambda: "T" not in states(), 10), states())
            process.terminate()
            self.assertEqual(process.wait(10), 143)

    def test_a_terminal(self):
        """Typed lines reach rank 0; ^C reaches everybody; ^D ends the input."""
        try:
            for end in os.openpty():
                os.close(end)
        except OSError as e:
            self.skipTest(f"no pseudo-terminals here: {e}")

        def session(typed, command):
            pid, master = pty.fork()
            if pid == 0:
                os.execve(TOWLINE, run_command(2, *command), self.env)
            seen = b""
            for expected, keys in typed:
                end = time.monotonic() + 10
                while expected not in seen and time.monotonic() < end:
                    if select.select([master], [], [], 0.1)[0]:
                        try:
                            seen += os.read(master, 4096)
                        except OSError:
                            break
                self.assertIn(expected, seen)
                os.write(master, keys)
            try:
                while piece := os.read(master, 4096):
                    seen += piece
            except OSError:
                pass
            os.close(master)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode()
        script = "test $TOWLINE_RANK = 0 || exit 0; echo ready; while read x; do echo \"<$x>\"; done; echo end"
        code, seen = session([(b"ready", b"one\n"), (b"<one>", b"two\n"), (b"<two>", b"\x04")], ["sh", "-c", script])
        self.assertEqual(code, 0)
        self.assertIn("end", seen)
        code, seen = session([(b"up\r\nup", b"\x03")], ["sh", "-c", "echo up; sleep 30"])
        self.assertEqual(code, 130, seen)


class ManyJobs(JobTest):
    def test_fifty_jobs_at_once_do_not_meet(self):
        jobs = []
        for i in range(50):
            words = f"join put name job{i} fence show 0 name show 1 name fence".split()
            jobs.append(self.start(2, program("member"), *words))
        for i, process in enumerate(jobs):
            with process:
                out, err = process.communicate(timeout=120)
                self.assertEqual((process.returncode, out), (0, f"job{i}\n" * 4), err)

    def test_many_ranks(self):
        code, out, err, _ = self.member(64, "put k v fence show 63 k fence")
        self.assertEqual((code, out), (0, "v\n" * 64), err)


class Stats(JobTest):
    def test_table_and_json(self):
        code, out, err, _ = self.member(3, "@1 count 1500 join", options=["--stats"])
        self.assertEqual(code, 0)
        self.assertIn("3 ranks", err)
        table = [line.split() for line in err.splitlines()]
        self.assertIn(["1", "1500"], [row[:2] for row in table])
        self.assertIn(["all", "1500"], [row[:2] for row in table])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stats.json")
            code, out, err, _ = self.member(2, "@1 count 7 join", options=["--stats=" + path])
            self.assertEqual((code, out, err), (0, "", ""))
            with open(path) as file:
                stats = json.load(file)
            self.assertEqual([r["calls_sent"] for r in stats["ranks"]], [0, 7])
            self.assertEqual(stats["total"]["calls_sent"], 7)
        code, out, err, _ = self.run_job(1, "echo", "begun", options=["--stats=/no/such/folder/x.json"])
        self.assertEqual((code, out), (125, ""))
        self.assertIn("/no/such/folder/x.json: No such file or directory", err)
        self.assertIn("/etc: is a directory", self.run_job(1, "true", options=["--stats=/etc"])[2])


class Info(JobTest):
    def test_text_and_json(self):
        text = subprocess.run([TOWLINE, "info"], capture_output=True, text=True, env=self.env, timeout=30)
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        for word in ("cores allowed", "cgroup quota", "huge pages", "membarrier", "cross-memory attach", "Yama", "XPMEM", "/dev/shm",
                     "segment", "transport shm"):
            self.assertIn(word, text.stdout)
        # But for paths, which may be of any length; ours may have spaces.
        ours = os.path.dirname(os.path.dirname(os.path.realpath(TOWLINE)))
        self.assertLessEqual(max(len(re.sub(r"(?<= )/\S+", "", line.replace(ours, ""))) for line in text.stdout.splitlines()), 160)
        done = subprocess.run([TOWLINE, "info", "--json"], capture_output=True, text=True, env=self.env, timeout=30)
        facts = json.loads(done.stdout)
        self.assertEqual(facts["processor"]["cores allowed"]["value"], str(len(os.sched_getaffinity(0))))
        self.assertIn("used", facts["kernel"]["cross-memory attach"])
        self.assertEqual(facts["processor"]["reductions"]["value"], "in any order")
        distance, cores = facts["processor"]["distance of cores"], len(os.sched_getaffinity(0))
        self.assertRegex(distance["value"], r"^(\d+( to \d+)? ns|not measured)$" if cores > 1 else "^one core$")
        if distance["value"].endswith("ns"):
            self.assertRegex(distance["note"], r"^(shared caches( and separate cores)?|separate cores); one way of a cache line: ")
            self.assertEqual(facts["processor"]["ways of messages"]["value"], "auto")
        done = subprocess.run([TOWLINE, "info", "--json"], capture_output=True, text=True, env={**self.env, "TOWLINE_DETERMINISTIC": "1"},
                              timeout=30)
        self.assertEqual(json.loads(done.stdout)["processor"]["reductions"]["value"], "in one order")

    def test_version(self):
        done = subprocess.run([TOWLINE, "--version"], capture_output=True, text=True, env=self.env, timeout=30)
        self.assertRegex(done.stdout, r"^towline \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    harness.main()
