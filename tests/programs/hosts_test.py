"""Jobs of several nodes: `towline run --hosts`, and messages that go by packets. Two names of this machine are two nodes, which share no
memory."""

import json
import os
import re
import signal
import stat
import subprocess
import time
import unittest

import harness
from harness import JobTest, SANITIZED, program, wait_until


MPIEXEC = os.path.join(os.path.dirname(harness.TOWLINE), "mpiexec")


def mpi(name):
    return os.path.join(harness.PROGRAMS, f"mpi_{name}")


def hosts(each=1):
    return ("--hosts", f"localhost:{each},127.0.0.1:{each}")


def has_quota():
    """Whether a cgroup limits this machine's processors: nodes then do not count as sharing them."""
    return not re.search(r"cgroup quota +none", subprocess.run([harness.TOWLINE, "info"], capture_output=True, text=True).stdout)


class Launching(JobTest):
    def test_output_of_all_ranks(self):
        code, out, err, _ = self.run_job(4, "sh", "-c", "echo $TOWLINE_RANK of $TOWLINE_SIZE, $MPI_LOCALRANKID of $MPI_LOCALNRANKS",
                                         options=hosts(2))
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), ["0 of 4, 0 of 2", "1 of 4, 1 of 2", "2 of 4, 0 of 2", "3 of 4, 1 of 2"])

    def test_nodes_of_one_machine_share_its_cores(self):
        """With more ranks than cores on all nodes together no rank spins for long, though each node alone has cores enough."""
        if has_quota():
            self.skipTest("a quota limits this machine's processors")
        cpus = sorted(os.sched_getaffinity(0))[:2]
        for ranks in (2, 4):
            code, _, err, _ = self.run_job(ranks, mpi("launch"), "appnum", options=hosts(ranks // 2),
                                           env={**self.env, "TOWLINE_LOG": "debug"}, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
            expected = "spin first" if ranks <= len(cpus) else "give their core away soon"
            told = re.findall(r"\d+ cores? for (\d+) ranks: waits (.*?);", err)
            self.assertEqual((code, told), (0, [(str(ranks), expected)] * ranks), err[:4000])

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
        self.assertIn("name them with --hosts", refused(1, "--ssh", "ssh"))
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

    def test_info_tells_how_hosts_would_be_used(self):
        def info(*words, **settings):
            done = subprocess.run([harness.TOWLINE, "info", "--hosts", "localhost:2,127.0.0.1:2", *words], capture_output=True, text=True,
                                  timeout=60, env={**self.env, **settings})
            return done.returncode, done.stdout, done.stderr
        code, out, err = info()
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"(?m)^\+ host localhost +\d+ cores; reached by 'towline agent'; .*127\.0\.0\.1 \(lo\)")
        if not has_quota():
            self.assertRegex(out, r"(?m)^\+ +cores of localhost +are those of 127\.0\.0\.1, too: their ranks share them$")
        self.assertRegex(out, r"(?m)^\+ on a host +shm: ")
        self.assertRegex(out, r"(?m)^\+ between hosts +datagram: UDP packets, whose first ones prove the job's key$")
        self.assertRegex(out, r"(?m)^\+   ranks of 127\.0\.0\.1 +at [0-9a-f.:]+$")
        self.assertIn("UDP packets, encrypted", info(TOWLINE_SECURITY="encrypt")[1])
        code, out, err = info(TOWLINE_TRANSPORT="^datagram")
        self.assertEqual((code, err), (125, ""))
        self.assertRegex(out, r"(?m)^- between hosts +datagram: TOWLINE_TRANSPORT leaves it out, and nothing else reaches another host$")
        code, out, err = info("--ssh", "false")
        self.assertEqual((code, out), (125, ""))
        self.assertRegex(err, "host (localhost|127.0.0.1): no agent could be started there: 'false (localhost|127.0.0.1)' ended")

    def test_counters_of_all_nodes(self):
        code, _, err, _ = self.run_job(2, mpi("paths"), "messages", options=(*hosts(), "--stats"))
        rows = [line.split() for line in err.splitlines() if re.match(r"\s+[01]\s", line)]
        self.assertEqual([row[0] for row in rows], ["0", "1"], err)

    def test_counters_of_packets(self):
        file = os.path.join(self.temporary, "stats")
        for loss in ("0", "0.05"):
            code, _, err, _ = self.run_job(2, mpi("point_to_point"), "order", options=(*hosts(), f"--stats={file}"),
                                           env={**self.env, "TOWLINE_TEST_DATAGRAM_FAULTS": f"loss={loss},seed=3"})
            self.assertEqual(code, 0, err)
            with open(file) as f:
                ranks = json.load(f)["ranks"]
            for rank in ranks:
                self.assertGreater(rank["packets_sent"], 100)
                self.assertGreater(rank["packets_received"], 100)
            self.assertEqual(sum(rank["packets_resent"] for rank in ranks) > 0, loss != "0")
        os.unlink(file)


class Tree(JobTest):
    """More hosts than the front starts agents on: others start the rest."""

    HOSTS = 20

    def setUp(self):
        super().setUp()
        self.shell = os.path.join(self.temporary, "shell")
        self.addCleanup(os.unlink, self.shell)
        self.write_shell("")
        self.options = ("--hosts", ",".join(f"h{i}:1" for i in range(self.HOSTS)), "--ssh", self.shell)

    def write_shell(self, special):
        with open(self.shell, "w") as file:
            file.write(f"#!/bin/sh\nexport TEST_HOST=$1\nshift\n{special}\nexec \"$@\"\n")
        os.chmod(self.shell, stat.S_IRWXU)

    def agents(self):
        """Of each host, its agent and that one's parent. (A keeper looks like the agent that has forked it.)"""
        found = {}
        for pid in harness.processes_with(self.mark):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file, open(f"/proc/{pid}/environ", "rb") as names, \
                        open(f"/proc/{pid}/stat") as about:
                    if file.read().endswith(b"towline\0agent\0"):
                        host = [name[10:].decode() for name in names.read().split(b"\0") if name.startswith(b"TEST_HOST=")]
                        found[pid] = (host[-1], int(about.read().rpartition(")")[2].split()[1]))
            except OSError:
                pass
        return {host: (pid, parent) for pid, (host, parent) in found.items() if parent not in found or found[parent][0] != host}

    def test_output_input_and_exit(self):
        script = 'echo "$TOWLINE_RANK of $TOWLINE_SIZE"; exit $((TOWLINE_RANK == 19 ? 7 : 0))'
        code, out, err, _ = self.run_job(self.HOSTS, "sh", "-c", script, options=(*self.options, "--keep-going"), timeout=120)
        self.assertEqual(sorted(out.splitlines()), sorted(f"{r} of {self.HOSTS}" for r in range(self.HOSTS)))
        self.assertEqual(code, 7)
        self.assertRegex(err, r"^towline: rank 19 \(pid \d+ on h19\) ended with exit code 7; the others go on\n$")
        text = "".join(f"line {i}\n" for i in range(100_000))
        done = subprocess.run([MPIEXEC, "-n", str(self.HOSTS), "-hosts", self.options[1], "-launcher-exec", self.shell, "-stdin", "18",
                               "sh", "-c", "test $TOWLINE_RANK = 18 && cat; true"],
                              input=text, capture_output=True, text=True, timeout=120, env=self.env)
        self.assertEqual((done.returncode, done.stderr, done.stdout == text), (0, "", True))

    def test_messages(self):
        code, out, err, _ = self.run_job(self.HOSTS, mpi("nodes"), options=self.options, timeout=240)
        self.assertEqual((code, err), (0, ""), out)

    def test_fewer_ranks_than_hosts(self):
        for ranks in (3, 17):
            code, out, err, _ = self.run_job(ranks, "echo", "here", options=self.options, timeout=120)
            self.assertEqual((code, out, err), (0, "here\n" * ranks, ""))

    def test_hosts_that_are_lost(self):
        for victim, told in (("h18", r"\(its agent ended, or the way to it\), and with it rank 18; the job is ended\n"),
                             ("h1", r"\(.*\), and the way to h17, and with it ranks 1, 17; the job is ended\n")):
            with self.subTest(victim), self.start(self.HOSTS, "sh", "-c", "echo up; sleep 100", options=self.options) as job:
                for _ in range(self.HOSTS):
                    self.assertEqual(job.stdout.readline(), "up\n")
                agents = self.agents()
                self.assertEqual(len(agents), self.HOSTS)
                self.assertEqual(sum(parent == job.pid for _, parent in agents.values()), 16)
                self.assertEqual(agents["h18"][1], agents["h2"][0])
                begin = time.monotonic()
                os.kill(agents[victim][0], signal.SIGKILL)
                _, err = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 125)
            self.assertRegex(err, f"towline: host {victim} is lost " + told)
            self.assertLess(time.monotonic() - begin, 30 if SANITIZED else 8)

    def test_a_host_that_is_not_there(self):
        self.write_shell('test $TEST_HOST = h18 && exit 1')
        code, out, err, _ = self.run_job(self.HOSTS, "echo", "started", options=self.options, timeout=120)
        self.assertEqual((code, out), (125, ""))
        self.assertIn(f"host h18: no agent could be started there by host h2: '{self.shell} h18' ended", err)


class Waiting(JobTest):
    """What the ranks of all nodes wait for: told by `towline where` on any of them, by the watchdog, and at the end of the time."""

    def where(self, which):
        done = subprocess.run([harness.TOWLINE, "where", str(which)], capture_output=True, text=True, timeout=60, env=self.env)
        return done.returncode, done.stdout + done.stderr

    def seen(self, which, *patterns, seconds=60):
        """Asks until the answer has all of them; the answer."""
        answer = [""]

        def there():
            code, answer[0] = self.where(which)
            return code == 0 and all(re.search(pattern, answer[0], re.MULTILINE) for pattern in patterns)
        self.assertTrue(wait_until(there, seconds), answer[0])
        return answer[0]

    def pids(self, job, name):
        """Processes of the job whose command line has the name."""
        found = []
        for pid in harness.processes_with(self.mark):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if name.encode() in file.read() and pid != job.pid:
                        found.append(pid)
            except OSError:
                pass
        return sorted(found)

    @staticmethod
    def parent(pid):
        with open(f"/proc/{pid}/stat") as about:
            return int(about.read().rpartition(")")[2].split()[1])

    def test_a_cycle_across_nodes(self):
        with self.start(4, mpi("stuck"), "ring", options=hosts(2)) as job:
            lines = [rf"^  rank {r} waits in MPI_Ssend for rank {(r + 1) % 4}, tag 3 \(MPI_COMM_WORLD\), for [0-9.]+ s" for r in range(4)]
            answer = self.seen(job.pid, *lines, r"^  they wait for each other: rank 0 .*; rank 1 .*; rank 2 .*; rank 3 ",
                               r"^  localhost: ranks 0 and 1; 127\.0\.0\.1: ranks 2 and 3$")
            name = re.match(r"job ([0-9]+-[0-9a-f]+): 4 ranks, ", answer)[1]
            code, everything = self.where("")
            mine = [line.split() for line in everything.splitlines() if name in line]
            self.assertEqual([(line[0], line[1]) for line in mine], [(str(job.pid), "4")], everything)  # once, though there are two nodes
            for pid in self.pids(job, "mpi_stuck"):
                self.assertIn(f"job {name}: ", self.where(pid)[1])
            job.terminate()
            job.communicate(timeout=30)

    def test_ranks_elsewhere_that_compute_sleep_or_are_stopped(self):
        # The highest ranks wait for rank 1, or rank 1 is elsewhere, by turns.
        for scenario, told in (("computes", r"computes, outside the library, for [0-9.]+ s$"),
                               ("sleeps", r"sleeps outside the library( \(in nanosleep\))?, for [0-9.]+ s$")):
            with self.subTest(scenario), self.start(2, mpi("stuck"), scenario, options=hosts()) as job:
                self.seen(job.pid, "^  rank 1 " + told, r"^  rank 0 waits in MPI_Recv for rank 1, tag 2 ")
                ranks = self.pids(job, "mpi_stuck")
                os.kill(ranks[-1], signal.SIGSTOP)  # started last or first: either is worth a look
                self.seen(job.pid, r"is stopped \(SIGSTOP\)$")
                os.kill(ranks[-1], signal.SIGCONT)
                job.kill()
                job.communicate(timeout=30)

    def test_a_node_that_does_not_answer(self):
        with self.start(2, mpi("stuck"), "computes", options=hosts()) as job:
            self.seen(job.pid, r"^  rank 1 computes, outside the library")
            agents = self.pids(job, "agent")
            front = [pid for pid in agents if self.parent(pid) == job.pid]
            self.assertEqual(len(front), 2)
            os.kill(max(front), signal.SIGSTOP)
            self.seen(min(self.pids(job, "mpi_stuck")), r"^  rank [01] is on a node that does not answer$", seconds=9)
            os.kill(max(front), signal.SIGCONT)
            self.seen(job.pid, r"^  rank 1 computes, outside the library", r"^  rank 0 waits in MPI_Recv")
            self.assertIsNone(job.poll())  # short silences are no loss
            job.kill()
            job.communicate(timeout=30)

    def test_the_watchdog_sees_all_nodes(self):
        env = {**self.env, "TOWLINE_WATCHDOG": "1"}
        with self.start(2, mpi("stuck"), "cycle", options=hosts(), env=env) as job:
            text = ""
            while "they wait for each other" not in text:
                line = job.stderr.readline()
                self.assertNotEqual(line, "", text)
                text += line
            job.terminate()
            job.communicate(timeout=30)
        self.assertRegex(text, r"towline\[0\]: watchdog: nothing has moved for 1 s, and every rank that runs waits in a call:\n")
        self.assertIn("rank 1 waits in MPI_Recv for rank 0, tag 9", text)

    def test_the_watchdog_is_silent_while_a_rank_elsewhere_computes(self):
        env = {**self.env, "TOWLINE_WATCHDOG": "0.5"}
        with self.start(2, mpi("stuck"), "computes", options=hosts(), env=env) as job:
            self.seen(job.pid, r"^  rank 0 waits in MPI_Recv for rank 1, tag 2 .*, for ([3-9]|\d\d)[.0-9]* s")
            job.terminate()
            self.assertEqual(job.communicate(timeout=30)[1], "")

    def test_the_timeout_explains_all_nodes(self):
        code, _, err, _ = self.run_job(2, mpi("stuck"), "cycle", options=(*hosts(), "--timeout", "2"))
        self.assertEqual(code, 124)
        self.assertIn("towline:   they wait for each other: rank 0 waits in MPI_Recv for rank 1, tag 7; rank 1 waits in MPI_Recv for "
                      "rank 0, tag 9\n", err)
        self.assertEqual(err.count("they wait for each other"), 1)


class Ends(JobTest):
    """How ranks end on one node, and what that is on the others."""

    LIMIT = 20 if SANITIZED else 4  # seconds; 2 where nobody else uses the machine

    def test_abort(self):
        code, out, err, seconds = self.run_job(3, mpi("life"), "abort", options=hosts(2))  # rank 2 is the one elsewhere
        self.assertEqual(code, 7)
        self.assertIn("towline[2]: MPI_Abort was called on MPI_COMM_WORLD, with error code 7.", err)
        self.assertLess(seconds, self.LIMIT)

    def test_a_killed_rank(self):
        code, _, err, seconds = self.run_job(3, mpi("life"), "killed", options=hosts(2))
        self.assertEqual(code, 137)
        self.assertRegex(err, r"towline: rank 2 \(pid \d+ on 127\.0\.0\.1\) was killed by signal 9 .*; the job is ended\n")
        self.assertLess(seconds, self.LIMIT)

    def test_the_others_go_on(self):
        code, out, err, _ = self.member(4, "join fence @2 signal 9 survive fence say on", options=(*hosts(2), "--keep-going"))
        self.assertEqual(code, 137)
        self.assertEqual(sorted(out.splitlines()), ["fence: rank 2 has died"] * 3 + ["on"] * 3)
        self.assertRegex(err, r"^towline: rank 2 \(pid \d+ on 127\.0\.0\.1\) was killed by signal 9 .*; the others go on\n$")
        code, _, err, _ = self.run_job(4, program("remote_deaths"), options=(*hosts(2), "--keep-going"))
        self.assertEqual(code, 128 + signal.SIGKILL, err)

    def test_a_lost_host_is_a_death_of_its_ranks(self):
        with self.start(4, program("member"), *"join fence @2 sleep 60000 @3 sleep 60000 survive survive say on".split(),
                        options=(*hosts(2), "--keep-going")) as job:
            self.assertTrue(wait_until(lambda: sum("member" in name for name in self.names()) == 4, 20))
            time.sleep(0.5)
            agents = [pid for pid, parent in self.agents() if parent == job.pid]
            self.assertEqual(len(agents), 2)
            os.kill(max(agents), signal.SIGKILL)
            out, err = job.communicate(timeout=30)
        self.assertRegex(err, r"towline: host (localhost|127\.0\.0\.1) is lost \(.*\), and with it ranks (0, 1|2, 3); the others go on\n")
        if "ranks 2, 3" in err:
            self.assertEqual(out.splitlines().count("on"), 2, out)
            self.assertRegex(out, r"fence: rank [23] has died\n")
        self.assertEqual(job.returncode, 125)

    def names(self):
        found = []
        for pid in harness.processes_with(self.mark):
            try:
                with open(f"/proc/{pid}/comm") as file:
                    found.append(file.read())
            except OSError:
                pass
        return found

    def agents(self):
        for pid in harness.processes_with(self.mark):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file, open(f"/proc/{pid}/stat") as about:
                    if file.read().endswith(b"agent\0"):
                        yield pid, int(about.read().rpartition(")")[2].split()[1])
            except OSError:
                pass

    def test_bindings_count_within_each_node(self):
        allowed = sorted(os.sched_getaffinity(0))
        script = "import os; print(os.environ['MPI_LOCALRANKID'], *sorted(os.sched_getaffinity(0)))"
        code, out, err, _ = self.run_job(4, "python3", "-c", script, options=(*hosts(2), "--bind", "core"))
        self.assertEqual((code, err), (0, ""))
        if len(allowed) > 1:
            bound = sorted(tuple(line.split()) for line in out.splitlines())
            self.assertEqual(bound[0], bound[1])
            self.assertEqual(bound[2], bound[3])
            self.assertNotEqual(bound[0][1], bound[2][1])


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
        for options in ((), hosts()):
            code, _, err, _ = self.run_job(2, mpi("nodes"), options=options)
            self.assertEqual(code, 0, err)


if __name__ == "__main__":
    harness.main()
