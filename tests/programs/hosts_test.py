"""Jobs of several nodes: `towline run --hosts`, and messages that go by packets. Two names of this machine are two nodes, which share no memory."""

import os
import re
import signal
import stat
import subprocess
import time
import unittest

import harness
from harness import JobTest, SANITIZED, program, wait_until


def mpi(name):
    return os.path.join(harness.PROGRAMS, f"mpi_{name}")


def hosts(each=1):
    return ("--hosts", f"localhost:{each},127.0.0.1:{each}")


class Launching(JobTest):
    def test_output_of_all_ranks(self):
        code, out, err, _ = self.run_job(4, "sh", "-c", "echo $TOWLINE_RANK of $TOWLINE_SIZE, $MPI_LOCALRANKID of $MPI_LOCALNRANKS",
                                         options=hosts(2))
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), ["0 of 4, 0 of 2", "1 of 4, 1 of 2", "2 of 4, 0 of 2", "3 of 4, 1 of 2"])

    def test_lines_stay_whole_and_are_tagged(self):
        code, out, _, _ = self.run_job(4, program("chatter"), "300", options=(*hosts(2), "--tag"))
        self.assertEqual(code, 0)
        seen = [0] * 4
        for line in out.splitlines():
            tag, rank, stream, number, length, text = line.split(" ")
            self.assertEqual((tag, stream, int(number), len(text)), (f"[{rank}]", "1", seen[int(rank)], int(length)))
            seen[int(rank)] += 1
        self.assertEqual(seen, [300] * 4)

    def test_input_folder_and_environment(self):
        text = "".join(f"line {i}\n" for i in range(100_000))  # more than is ever under way
        code, out, err, _ = self.run_job(2, "cat", options=hosts(), input=text)
        self.assertEqual((code, err, out == text), (0, "", True))
        env = {**self.env, "OWN": "a b\n'c'"}
        code, out, err, _ = self.run_job(2, "sh", "-c", 'echo "$OWN"; pwd', options=hosts(), env=env, cwd="/usr")
        self.assertEqual((code, sorted(out.splitlines()), err), (0, ["'c'"] * 2 + ["/usr"] * 2 + ["a b"] * 2, ""))

    def test_exit_codes_and_deaths(self):
        code, _, err, _ = self.run_job(2, "sh", "-c", "test $TOWLINE_RANK = 0 && sleep 60; exit 7", options=hosts())
        self.assertEqual(code, 7)
        self.assertRegex(err, r"^towline: rank 1 \(pid \d+ on 127\.0\.0\.1\) ended with exit code 7; the job is ended\n$")
        code, _, err, seconds = self.run_job(2, "sh", "-c", "test $TOWLINE_RANK = 1 && sleep 60; kill -9 $$", options=hosts())
        self.assertEqual(code, 137)
        self.assertRegex(err, r"^towline: rank 0 \(pid \d+ on localhost\) was killed by signal 9")
        self.assertLess(seconds, 20 if SANITIZED else 2)

    def test_a_timeout(self):
        code, _, err, seconds = self.run_job(2, "sleep", "60", options=(*hosts(), "--timeout", "0.5"))
        self.assertEqual(code, 124)
        self.assertIn("the job did not end within 0.5 s", err)
        self.assertLess(seconds, 30 if SANITIZED else 3)

    def test_signals_reach_all_nodes(self):
        script = "trap 'echo caught; exit 0' INT; echo ready; while :; do sleep 0.05; done"
        with self.start(2, "sh", "-c", script, options=hosts()) as job:
            self.assertEqual([job.stdout.readline() for _ in range(2)], ["ready\n"] * 2)
            job.send_signal(signal.SIGINT)
            out, _ = job.communicate(timeout=20)
        self.assertEqual((job.returncode, out), (0, "caught\ncaught\n"))

    def test_nothing_stays_when_the_front_is_killed(self):
        with self.start(2, "sleep", "60", options=hosts()) as job:
            self.assertTrue(wait_until(lambda: len(harness.processes_with(self.mark)) >= 7, 10))
            job.kill()
        # tearDown looks for what is left

    def test_a_host_that_is_lost(self):
        with self.start(2, "sleep", "60", options=hosts()) as job:
            self.assertTrue(wait_until(lambda: len(harness.processes_with(self.mark)) >= 7, 10))
            agents = []
            for pid in harness.processes_with(self.mark):
                with open(f"/proc/{pid}/cmdline", "rb") as file, open(f"/proc/{pid}/stat") as about:
                    if b"agent" in file.read() and int(about.read().rpartition(")")[2].split()[1]) == job.pid:
                        agents.append(pid)
            self.assertEqual(len(agents), 2)
            os.kill(max(agents), signal.SIGKILL)
            _, err = job.communicate(timeout=20)
        self.assertEqual(job.returncode, 125)
        self.assertRegex(err, r"towline: host (localhost|127\.0\.0\.1) is lost \(.*\), and with it rank [01]; the job is ended\n")

    def test_what_is_refused(self):
        def refused(ranks, *options, code=2):
            got, out, err, _ = self.run_job(ranks, "true", options=options)
            self.assertEqual((got, out), (code, ""), err)
            return err
        self.assertIn("5 ranks, but the hosts take 2", refused(5, *hosts()))
        self.assertIn("host 'a:0' is not of the form", refused(1, "--hosts", "a:0"))
        self.assertIn("no such file", refused(1, "--hostfile", "/nonexistent").lower())
        self.assertIn("which ones? Write --hosts", refused(1, "--ssh", "ssh"))
        err = refused(1, "--hosts", "far:1", "--ssh", "false", code=125)
        self.assertIn("host far: no agent could be started there: 'false far' ended", err)
        err = refused(1, "--hosts", "far:1", "--ssh", "echo", code=125)
        self.assertIn("is no message: does a login script there write to standard output?", err)
        code, _, err, _ = self.run_job(2, "no-such-program", options=hosts())
        self.assertEqual(code, 127)
        self.assertIn("no-such-program: not found in PATH", err)

    def test_a_hostfile_and_a_shell_of_ones_own(self):
        shell = os.path.join(self.temporary, "shell")
        names = os.path.join(self.temporary, "hosts")
        with open(shell, "w") as file:
            file.write("#!/bin/sh\nhost=$1\nshift\necho \"to $host\" >&2\nexec \"$@\"\n")
        os.chmod(shell, stat.S_IRWXU)
        with open(names, "w") as file:
            file.write("# ours\none slots=1\ntwo:2 # more\n")
        code, out, err, _ = self.run_job(3, "printenv", "MPI_LOCALNRANKS", options=("--hostfile", names, "--ssh", shell))
        self.assertEqual((code, sorted(out.split()), sorted(err.splitlines())), (0, ["1", "2", "2"], ["to one", "to two"]))
        os.unlink(shell)
        os.unlink(names)

    def test_counters_of_all_nodes(self):
        code, _, err, _ = self.run_job(2, mpi("paths"), "messages", options=(*hosts(), "--stats"))
        rows = [line.split() for line in err.splitlines() if re.match(r"\s+[01]\s", line)]
        self.assertEqual([row[0] for row in rows], ["0", "1"], err)


class Messages(JobTest):
    """The two faces over packets: between nodes, and on one node without shared memory."""

    def both(self, ranks, *command, env=None, timeout=120):
        for options, extra in ((hosts((ranks + 1) // 2), {}), ((), {"TOWLINE_TRANSPORT": "^shm"})):
            with self.subTest(command=command, ranks=ranks, options=options):
                code, out, err, _ = self.run_job(ranks, *command, options=options, env={**self.env, **extra, **(env or {})}, timeout=timeout)
                self.assertEqual((code, err), (0, ""), out)

    def test_point_to_point(self):
        for scenario in ("order", "wildcards", "modes", "probes", "truncation", "persistent", "completion", "nobody", "gaps", "freed", "threads"):
            self.both(2, mpi("point_to_point"), scenario)
        self.both(4, mpi("point_to_point"), "order")

    def test_collectives(self):
        for ranks in (2, 4):
            self.both(ranks, mpi("collectives_reductions"), "01", "7")
            self.both(ranks, mpi("collectives_neighbours"), "01", "7")
            self.both(ranks, mpi("collectives_user"), "01", "7")

    def test_collectives_in_two_levels(self):
        for ranks, nodes in ((4, "localhost:2,127.0.0.1:2"), (5, "localhost:1,127.0.0.1:2,127.0.0.2:2")):
            for deterministic in ("off", "on"):
                env = {**self.env, "TOWLINE_LANES": "first", "TOWLINE_DETERMINISTIC": deterministic}
                for name, *more in (("collectives", "4"), ("collectives_user",), *([("collectives_reductions",)] if ranks == 4 else [])):
                    with self.subTest(program=name, nodes=nodes, deterministic=deterministic):
                        command = (mpi(name), "012", "11", *more)
                        code, out, err, _ = self.run_job(ranks, *command, options=("--hosts", nodes), env=env, timeout=120)
                        self.assertEqual((code, out, err), (0, "", ""))

    def test_teams_in_two_levels(self):
        for name, *words in (("remote_teams",), ("remote_teams", "wrong"), ("remote_teams", "inside"), ("remote_team_faults", "unfit")):
            code, out, err, _ = self.run_job(4, program(name), *words, options=hosts(2), timeout=120)
            self.assertEqual((code, out), (0, ""), err)  # of calls that ended well before their mistake was known a line tells

    def test_a_rank_that_dies_in_a_team_of_two_levels(self):
        code, out, err, _ = self.run_job(4, program("remote_teams"), "dies", options=(*hosts(2), "--keep-going"))
        self.assertEqual((code, out), (128 + signal.SIGKILL, ""), err)
        self.assertNotIn("not true", err)

    def test_communicators(self):
        for scenario in ("dup", "split", "create", "many"):
            self.both(4, mpi("communicators"), scenario)

    def test_nodes_are_told_apart(self):
        for options in (hosts(2), ()):
            code, out, err, _ = self.run_job(4, mpi("nodes"), options=options)
            self.assertEqual((code, out, err), (0, "", ""))

    def test_remote_calls_and_teams(self):
        for ranks in (2, 4):
            self.both(ranks, program("remote_calls"))
        self.both(2, program("remote_futures"), env={"TOWLINE_WORKERS": "1"})
        self.both(3, program("remote_here"))
        for name, *words in (("remote_objects",), ("remote_third_arena",), ("remote_leaves", "late"), ("remote_leaves", "serve"),
                             ("remote_teams", "inside")):
            self.both(3, program(name), *words)

    def test_deaths_of_remote_ranks(self):
        for options, extra in ((hosts(2), {}), ((), {"TOWLINE_TRANSPORT": "^shm"})):
            code, out, err, _ = self.run_job(4, program("remote_deaths"), options=(*options, "--keep-going"), env={**self.env, **extra})
            self.assertEqual((code, out), (128 + signal.SIGKILL, ""), err)
            self.assertNotIn("not true", err)

    def test_encrypted(self):
        self.both(2, mpi("point_to_point"), "order", env={"TOWLINE_SECURITY": "encrypt"})

    def test_a_rank_that_dies_elsewhere(self):
        code, _, err, seconds = self.run_job(2, program("member"), "wait_for_death", options=hosts())
        self.assertNotEqual(code, 0, err)
        self.assertLess(seconds, 20)

    def test_one_node_listens_to_nobody(self):
        script = "sleep 0.3; cat /proc/net/udp | wc -l"
        before = subprocess.run(["sh", "-c", "cat /proc/net/udp | wc -l"], capture_output=True, text=True).stdout
        code, out, _, _ = self.run_job(1, "sh", "-c", f"{mpi('point_to_point')} nobody & {script}; wait")
        self.assertEqual((code, out), (0, before))


if __name__ == "__main__":
    harness.main()
