"""mpiexec and mpirun: options, programs beside each other, how jobs end."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

import harness
from harness import JobTest, Job, TOWLINE, program, processes_with, wait_until

MPIEXEC = os.path.join(os.path.dirname(TOWLINE), "mpiexec")
MPIRUN = os.path.join(os.path.dirname(TOWLINE), "mpirun")
LAUNCH = os.path.join(harness.PROGRAMS, "mpi_launch")


class MpiexecTest(JobTest):
    def mpiexec(self, *words, name=MPIEXEC, input=None, timeout=60, **rest):
        """(exit code, standard output, standard error)"""
        rest.setdefault("env", self.env)
        if input is None:
            rest.setdefault("stdin", subprocess.DEVNULL)
        done = subprocess.run([name, *words], input=input, capture_output=True, text=True, timeout=timeout, **rest)
        return done.returncode, done.stdout, done.stderr

    def refused(self, *words):
        """The line by which a command is refused; nothing was started."""
        code, out, err = self.mpiexec(*words)
        self.assertEqual((code, out), (2, ""), words)
        line, hint, rest = err.split("\n")
        self.assertEqual((hint, rest), ("Try 'mpiexec --help'.", ""))
        self.assertTrue(line.startswith("mpiexec: "), line)
        return line.removeprefix("mpiexec: ")

    def sh(self, *options, script, **rest):
        code, out, err = self.mpiexec(*options, "sh", "-c", script, **rest)
        self.assertEqual((code, err), (0, ""))
        return sorted(out.splitlines())


class Ranks(MpiexecTest):
    def test_ways_to_say_how_many(self):
        for words in (["-n", "3"], ["-np", "3"], ["-c", "3"], ["--np", "3"], ["--n=3"], ["-N", "3"], ["-npernode", "3"],
                      ["-N", "7", "-n", "3"], ["-ppn", "2", "-n", "3"]):
            self.assertEqual(self.sh(*words, script="echo $TOWLINE_RANK of $TOWLINE_SIZE"), [f"{r} of 3" for r in range(3)], words)
        self.assertEqual(self.sh(script="echo $TOWLINE_SIZE"), ["1"])
        self.assertEqual(self.mpiexec("-n", "2", "echo", "-x", "4", ":x", name=MPIRUN), (0, "-x 4 :x\n" * 2, ""))

    def test_ranks_know_their_place(self):
        self.assertEqual(self.sh("-n", "3", script="echo $MPI_LOCALRANKID of $MPI_LOCALNRANKS"), [f"{r} of 3" for r in range(3)])

    def test_what_is_refused(self):
        self.assertEqual(self.refused("-n", "0", "true"), "-n 0: a number from 1 to 16384 is expected")
        self.assertEqual(self.refused("-n", "two", "true"), "-n two: a number from 1 to 16384 is expected")
        self.assertEqual(self.refused("-n", "16384", "true", ":", "true"), "16385 ranks: a job has at most 16384")
        self.assertEqual(self.refused("-n"), "-n: a value is missing")
        self.assertEqual(self.refused("-n", "2"), "no program is named: write it behind the options")
        self.assertEqual(self.refused(), "no program is named: write it behind the options")
        self.assertEqual(self.refused("-n", "2", "true", ":"), "a program is expected behind the last ':'")
        self.assertEqual(self.refused("-n", "2", ":", "true"), "a program is missing beside a ':'")
        self.assertEqual(self.refused("-frobnicate", "true"), "there is no option -frobnicate")
        self.assertEqual(self.refused("-hostfle", "x", "true"), "there is no option -hostfle; did you mean -hostfile?")
        self.assertEqual(self.refused("--oversubcribe", "true"), "there is no option --oversubcribe; did you mean --oversubscribe?")
        self.assertEqual(self.refused("--bindto", "core", "true"), "there is no option --bindto; did you mean --bind-to?")
        self.assertEqual(self.refused("--l=3", "true"), "--l=3: --l takes no value")

    def test_programs_that_cannot_be_run(self):
        self.assertEqual(self.mpiexec("-n", "2", "there-is-no-such-program"),
                         (127, "", "mpiexec: there-is-no-such-program: not found in PATH\n"))
        code, out, err = self.mpiexec("-n", "1", "echo", "begun", ":", "-n", "1", "/etc/passwd")
        self.assertEqual((code, out, err), (126, "", "mpiexec: /etc/passwd: not executable\n"))

    def test_help_and_version(self):
        code, out, err = self.mpiexec("--help")
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(out.startswith("Usage: mpiexec "))
        self.assertLessEqual(max(map(len, out.splitlines())), 140)
        for word in ("-V", "--version", "-info"):
            self.assertRegex(self.mpiexec(word, name=MPIRUN)[1], r"^mpirun \(Towline\) \d+\.\d+\.\d+\n$")


class Programs(MpiexecTest):
    def test_several_programs(self):
        code, out, err = self.mpiexec("-n", "2", LAUNCH, "appnum", "one", ":", "-n", "1", LAUNCH, "appnum", "two", ":", LAUNCH, "appnum", "three")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), ["rank 0 of 4: program 0, one", "rank 1 of 4: program 0, one",
                                                    "rank 2 of 4: program 1, two", "rank 3 of 4: program 2, three"])

    def test_without_a_launcher_there_is_no_number(self):
        done = subprocess.run([LAUNCH, "appnum"], capture_output=True, text=True, timeout=60, env=self.env)
        self.assertEqual(done.stdout, "rank 0 of 1: program -1, \n")

    def test_options_belong_to_their_program(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.realpath(folder)
            script = "echo $TOWLINE_RANK $(pwd) $PWD $A $B"
            here = os.getcwd()
            self.env["PWD"] = here  # ours may be that of whoever started the tests
            code, out, err = self.mpiexec("-genv", "B", "b", "-wdir", folder, "-env", "A", "a c", "sh", "-c", script, ":", "sh", "-c", script)
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()), [f"0 {folder} {folder} a c b", f"1 {here} {here} b"])
            _, out, _ = self.mpiexec("-gwdir", folder, "-wd", "/", "pwd", ":", "pwd")
            self.assertEqual(sorted(out.splitlines()), sorted(["/", folder]))

    def test_a_program_in_its_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tool")
            with open(path, "w") as file:
                file.write("#!/bin/sh\necho found by $0\n")
            os.chmod(path, 0o755)
            self.assertEqual(self.mpiexec("-wdir", folder, "./tool"), (0, "found by ./tool\n", ""))
            self.assertEqual(self.mpiexec("-path", "/nowhere:" + folder, "-n", "2", "tool"), (0, f"found by {path}\n" * 2, ""))
            self.assertEqual(self.mpiexec("./tool")[0], 127)
            code, out, err = self.mpiexec("-wdir", folder + "/not", "true")
            self.assertEqual((code, out, err), (125, "", f"mpiexec: working directory {folder}/not: No such file or directory\n"))

    def test_a_file_of_programs(self):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write("# two programs\n\n-n 2 -env A 'x y' sh -c \\\n  'echo $A $B'\n-n 1 echo \"a \\\" b\" # c\n")
            file.flush()
            code, out, err = self.mpiexec("-genv", "B", "b", "-configfile", file.name)
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()), ["a \" b", "x y b", "x y b"])
            self.assertIn("nothing may follow", self.refused("-configfile", file.name, "true"))
        self.assertIn("cannot be read", self.refused("-configfile", "/no/such/file"))
        self.assertEqual(self.refused("-f", "/no/such/file"), "-f /no/such/file: the file cannot be read")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("echo 'open\n")
            file.flush()
            self.assertEqual(self.refused("-configfile", file.name), "-configfile: a ' has no partner")


class Surroundings(MpiexecTest):
    def test_variables(self):
        self.env["TOWLINE_TEST_GIVEN"] = "given"
        script = "echo $TOWLINE_TEST_GIVEN $OWN"
        self.assertEqual(self.sh("-x", "OWN=1=2", script=script), ["given 1=2"])
        self.assertEqual(self.sh("-x", "TOWLINE_TEST_GIVEN", "-env", "OWN", "", script=script), ["given"])
        self.assertIn("no such variable", self.refused("-x", "TOWLINE_TEST_ABSENT", "true"))
        self.env["PLAIN"] = "plain"
        script = "echo ${PLAIN-none} ${HOME-none} $TOWLINE_SIZE"
        home = os.environ.get("HOME", "none")
        mark = f"{harness.MARK}"
        self.assertEqual(self.sh("-envnone", script=script), ["none none 1"])
        self.assertEqual(self.sh("-genvnone", script=script), ["none none 1"])
        self.assertEqual(self.sh("-envlist", "PLAIN,OTHER", script=script), ["plain none 1"])
        self.assertEqual(self.sh("-genvlist", "HOME," + mark, script=script), [f"none {home} 1"])
        self.assertEqual(self.sh("-envall", script=script), [f"plain {home} 1"])
        self.assertIn("no name of a variable", self.refused("-env", "A=B", "c", "true"))

    def test_hosts(self):
        own = socket.gethostname()
        for host in ("localhost", "127.0.0.1", "::1", own, own.split(".")[0].upper(), "localhost:4", own + ":2", f"localhost,{own}"):
            for option in ("-host", "-hosts", "-H", "--host", "-hostlist", "-machine", "-machines", "-machinelist"):
                self.assertEqual(self.mpiexec(option, host, "-n", "2", "true"), (0, "", ""), host)
        self.assertEqual(self.mpiexec("-localhost", own, "-n", "2", "echo", "x"), (0, "x\nx\n", ""))
        self.assertIn("host 'a:0' is not of the form NAME or NAME:SLOTS", self.refused("-hosts", "localhost,a:0", "true"))
        self.assertIn("a number of slots is expected", self.refused("-hosts", "elsewhere.example:", "true"))
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(f"# us\n{own}:2 # again\nlocalhost slots=4\n")
            file.flush()
            for option in ("-f", "-hostfile", "-machinefile"):
                self.assertEqual(self.mpiexec(option, file.name, "-n", "3", "true"), (0, "", ""))
            file.write("node17 slots=many\n")
            file.flush()
            self.assertIn(f"-f {file.name}: host 'node17' is not", self.refused("-f", file.name, "true"))

    def test_binding(self):
        cores = sorted(os.sched_getaffinity(0))
        script = "import os; print(os.environ['TOWLINE_RANK'], len(os.sched_getaffinity(0)))"
        for words in (["-bind-to", "core"], ["--bind-to", "core:overload-allowed"], ["--bind", "core"]):
            code, out, err = self.mpiexec(*words, "-n", "3", sys.executable, "-c", script)
            self.assertEqual((code, err), (0, ""))
            self.assertTrue(all(int(line.split()[1]) <= max(1, len(cores) - 1) for line in out.splitlines()) or len(cores) == 1, out)
        self.assertEqual(self.mpiexec("-bind-to", "none", sys.executable, "-c", script)[1], f"0 {len(cores)}\n")
        self.assertIn("core, hwthread, numa, socket or none is expected", self.refused("-bind-to", "moon", "true"))
        self.assertIn("slot, core, hwthread, numa, socket or node is expected", self.refused("-map-by", "moon", "true"))

    def test_wider_and_narrower_binding(self):
        cores = sorted(os.sched_getaffinity(0))
        script = "import os; print(os.environ['TOWLINE_RANK'], *sorted(os.sched_getaffinity(0)))"

        def masks(*words, ranks=4):
            code, out, err = self.mpiexec(*words, "-n", str(ranks), sys.executable, "-c", script)
            self.assertEqual((code, err), (0, ""), words)
            rows = {int(line.split()[0]): [int(cpu) for cpu in line.split()[1:]] for line in out.splitlines()}
            self.assertEqual(sorted(rows), list(range(ranks)))
            self.assertTrue(all(mask and set(mask) <= set(cores) for mask in rows.values()), rows)
            return [rows[r] for r in range(ranks)]
        threads = masks("-bind-to", "hwthread", ranks=len(cores) + 1)
        self.assertEqual(sorted(mask[0] for mask in threads[:-1]), cores)
        self.assertEqual(threads[-1], threads[0])
        self.assertEqual(masks("-binding", "rr", ranks=2), masks("-bind-to", "hwthread", ranks=2))
        self.assertEqual(masks("-bind-to", "l1dcache:1", ranks=2), masks("-bind-to", "core", ranks=2))
        self.assertEqual(masks("-bind-to", "machine", ranks=1), [cores])
        self.assertIn("is expected", self.refused("-bind-to", "l1xcache", "true"))
        for unit in ("socket", "numa", "package", "l3cache", "l3ucache"):
            wide = masks("-bind-to", unit)
            self.assertTrue(all(len(mask) >= len(threads[0]) for mask in wide), wide)
        self.assertEqual(masks("--bind-to", "core", "--map-by", "socket", ranks=1), masks("--bind-to", "core", ranks=1))
        self.assertEqual({cpu for mask in masks("--bind-to", "socket", "--map-by", "core", ranks=len(cores)) for cpu in mask}, set(cores))
        self.assertEqual(masks("--bind-to-none"), [cores] * 4)
        code, out, err = self.mpiexec("-report-bindings", "-bind-to", "hwthread", "-n", "2", "true")
        self.assertEqual((code, out), (0, ""))
        self.assertEqual(err, "".join(f"mpiexec: rank {r} is bound to cpu {threads[r][0]}\n" for r in range(2)))
        self.assertEqual(self.mpiexec("-report-bindings", "true")[2], "mpiexec: rank 0 is not bound\n")

    def test_what_changes_nothing(self):
        words = ["--oversubscribe", "--allow-run-as-root", "-map-by", "slot", "--map-by", ":OVERSUBSCRIBE", "-rank-by", "core",
                 "-launcher", "ssh", "-bootstrap", "fork", "-enable-hostname-propagation", "-disable-hostname-propagation"]
        self.assertEqual(self.mpiexec(*words, "-n", "5", "true"), (0, "", ""))
        self.assertIn("fork or ssh is expected", self.refused("-launcher", "rsh", "true"))

    def test_what_means_nothing_here(self):
        words = ["--mca", "btl", "self,vader", "--prtemca", "a", "b", "--mca", "btl", "tcp", "-use-hwthread-cpus", "--map-by", "ppr:2:node",
                 "--cpus-per-proc", "2", "--prefix", "/opt"]
        self.assertEqual(self.mpiexec(*words, "-n", "2", "true"),
                         (0, "", "mpiexec: accepted, and means nothing here: --mca btl, --prtemca a, -use-hwthread-cpus, --map-by ppr:2:node, "
                                 "--cpus-per-proc, --prefix\n"))
        self.assertEqual(self.mpiexec(*words, "-q", "true"), (0, "", ""))


class Streams(MpiexecTest):
    def test_tags(self):
        for option in ("-l", "-prepend-rank", "--tag-output"):
            code, out, _ = self.mpiexec(option, "-n", "2", "echo", "text")
            self.assertEqual((code, sorted(out.splitlines())), (0, ["[0] text", "[1] text"]))

    def test_patterns_in_front_of_lines(self):
        code, out, err = self.mpiexec("-prepend-pattern", "%r of %h, %%x%: ", "-n", "2", "sh", "-c", "echo out; echo err >&2")
        host = socket.gethostname()
        lines = [f"{r} of {host}, %%x%: " for r in range(2)]
        self.assertEqual((code, sorted(out.splitlines())), (0, [line + "out" for line in lines]))
        self.assertEqual(sorted(err.splitlines()), [line + "err" for line in lines])

    def test_files_of_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            for words in (("-outfile-pattern", "-errfile-pattern"), ("--outfile", "--errfile")):
                code, out, err = self.mpiexec(words[0], f"{folder}/o %r", words[1], f"{folder}/all", "-n", "3", "sh", "-c",
                                              "echo out $TOWLINE_RANK; echo err $TOWLINE_RANK >&2")
                self.assertEqual((code, out, err), (0, "", ""))
                self.assertEqual(sorted(os.listdir(folder)), ["all", "o 0", "o 1", "o 2"])
                for r in range(3):
                    with open(f"{folder}/o {r}") as file:
                        self.assertEqual(file.read(), f"out {r}\n")
                with open(f"{folder}/all") as file:  # several write into one, and the last job's lines are gone
                    self.assertEqual(sorted(file.read().splitlines()), [f"err {r}" for r in range(3)])
            code, out, err = self.mpiexec("-outfile", f"{folder}/no/%r", "echo", "x")
            self.assertEqual((code, out, err), (125, "", f"mpiexec: -outfile-pattern {folder}/no/0: No such file or directory\n"))

    def test_output_from_one_rank(self):
        self.assertEqual(self.mpiexec("-output-from", "1", "-n", "3", "sh", "-c", "echo $TOWLINE_RANK; echo e$TOWLINE_RANK >&2"),
                         (0, "1\n", "e1\n"))
        self.assertEqual(self.refused("-output-from", "2", "-n", "2", "true"), "-output-from 2: the job has 2 ranks")

    def test_input(self):
        script = "n=$(wc -c); echo $TOWLINE_RANK read $n"
        def read(*options):
            return self.sh(*options, "-n", "3", script=script, input="five\n")
        self.assertEqual(read(), ["0 read 5", "1 read 0", "2 read 0"])
        self.assertEqual(read("-stdin", "2"), ["0 read 0", "1 read 0", "2 read 5"])
        self.assertEqual(read("-s", "none"), ["0 read 0", "1 read 0", "2 read 0"])
        self.assertIn("one rank can read", self.refused("-stdin", "all", "true"))
        self.assertIn("the job has 2 ranks", self.refused("-stdin", "2", "-n", "2", "true"))

    def test_telling_more_and_less(self):
        code, out, err = self.mpiexec("-v", "-n", "2", "echo", "a", "b")
        self.assertEqual((code, out), (0, "a b\na b\n"))
        self.assertRegex(err, r"^mpiexec: rank 0 is pid \d+: echo a b\nmpiexec: rank 1 is pid \d+: echo a b\n$")
        self.assertEqual(self.mpiexec("-q", "-n", "2", "sh", "-c", "exit 3"), (3, "", ""))


class Stats(MpiexecTest):
    def test_table_and_file(self):
        for word in ("--stats", "-stats"):
            code, out, err = self.mpiexec(word, "-n", "2", "echo", "x")
            self.assertEqual((code, out), (0, "x\nx\n"))
            self.assertIn("towline: 2 ranks, ", err)
            self.assertIn("  all ", err)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.mpiexec(f"--stats={folder}/a b.json", "-n", "2", "true"), (0, "", ""))
            with open(f"{folder}/a b.json") as file:
                self.assertEqual(len(json.load(file)["ranks"]), 2)
        self.assertEqual(self.mpiexec("--stats=/no/such/x.json", "echo", "begun"),
                         (125, "", "mpiexec: --stats=/no/such/x.json: No such file or directory; nothing was started\n"))


class Ends(MpiexecTest):
    def test_timeout(self):
        begin = time.monotonic()
        code, _, err = self.mpiexec("--timeout", "0.5", "-n", "2", "sleep", "30")
        self.assertEqual(code, 124)
        self.assertIn("did not end within 0.5 s", err)
        self.env["MPIEXEC_TIMEOUT"] = "1"
        self.assertEqual(self.mpiexec("-n", "2", "sleep", "30")[0], 124)
        self.assertLess(time.monotonic() - begin, 20)
        self.env["MPIEXEC_TIMEOUT"] = "soon"
        self.assertIn("MPIEXEC_TIMEOUT soon", self.refused("true"))

    def test_abort(self):
        for asked, given in (("5", 5), ("0", 1), ("256", 1), ("-1", 255)):
            code, out, err = self.mpiexec("-n", "3", LAUNCH, "abort", asked)
            self.assertEqual((code, out), (given, ""), err)
            self.assertEqual(err, f"towline[2]: MPI_Abort was called on MPI_COMM_WORLD, with error code {asked}. The job ends here.\n")

    def test_an_end_without_finalize(self):
        for asked, given in (("7", 7), ("0", 1)):
            for ranks in (1, 3):
                code, out, err = self.mpiexec("-n", str(ranks), LAUNCH, "exit", asked)
                self.assertEqual((code, out), (given, ""), err)
                self.assertRegex(err, rf"^towline: rank {ranks - 1} \(pid \d+ on [^ ]+\) ended with exit code {asked}, and has not called "
                                      r"MPI_Finalize; the job is ended\n$")

    def test_ranks_that_may_end(self):
        script = 'if [ $TOWLINE_RANK = 0 ]; then kill -KILL $$; fi; sleep 0.5; echo $TOWLINE_RANK went on'
        for words in (["-dac"], ["-disable-auto-cleanup"], ["-enable-auto-cleanup", "-dac"]):
            code, out, err = self.mpiexec(*words, "-q", "-n", "2", "sh", "-c", script)
            self.assertEqual((code, out, err), (137, "1 went on\n", ""))
        self.assertEqual(self.mpiexec("-dac", "-enable-auto-cleanup", "-q", "-n", "2", "sh", "-c", script)[:2], (137, ""))

    def test_an_exit_code_after_finalize(self):
        code, out, err = self.mpiexec("-n", "3", LAUNCH, "late", "9")
        self.assertEqual((code, out), (9, ""))
        self.assertEqual(err.count("\n"), 1)
        self.assertIn("rank 2", err)

    def test_the_launcher_killed(self):
        with Job([MPIEXEC, "-n", "4", program("member"), "join", "fence", "say", "up", "spin"], stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE, text=True, env=self.env, stdin=subprocess.DEVNULL) as process:
            for _ in range(4):
                self.assertEqual(process.stdout.readline(), "up\n")
            process.send_signal(signal.SIGKILL)
            process.wait(10)
            self.assertTrue(wait_until(lambda: not processes_with(self.mark), 3))


if __name__ == "__main__":
    harness.main()
