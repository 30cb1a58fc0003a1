"""The runner of the suites: how lists are read, and how a job's end is judged."""

import sys
import time
import unittest

import jobs
from mpich import corrections, known, run, testlist


class Lists(unittest.TestCase):
    def test_a_line(self):
        test = testlist.parse("coll", "allred 7 arg=-count=10 arg=x env=A=b timeLimit=30 mem=1.5")
        self.assertEqual((test.name, test.ranks, test.limit, test.memory, test.expects_failure),
                         ("coll/allred 7 -count=10 x A=b", 7, 30.0, 1.5, False))
        self.assertTrue(testlist.parse("init", "exitst1 2 resultTest=TestStatus").expects_failure)
        self.assertEqual(testlist.parse("datatype", "@largetest@large_vec 3 mem=9.8").program, "large_vec")
        test = testlist.parse("errors/comm", "abort 4 mpiexecarg=-disable-auto-cleanup strict=false resultTest=TestStatus")
        self.assertEqual((test.launcher, test.expects_failure, test.own), (("-disable-auto-cleanup",), True, True))
        test = testlist.parse("errors/faults", "pt2ptf1 4 env=MPIEXEC_ALLOW_FAULT=YES")
        self.assertEqual((test.name, test.launcher, test.own), ("errors/faults/pt2ptf1 4", ("-disable-auto-cleanup",), True))
        self.assertEqual((test.expects_failure, test.expects_survivors), (True, True))
        test = testlist.parse("ft", "die 4 mpiexecarg=-disable-auto-cleanup strict=false resultTest=TestStatusNoErrors")
        self.assertEqual((test.expects_failure, test.expects_survivors, test.own), (True, True, True))
        for nothing in ("", "  ", "# allred 4"):
            self.assertIsNone(testlist.parse("coll", nothing))

    def test_reasons_are_for_whole_names(self):
        self.assertEqual(known.reason("pt2pt/scancel2 2"), "")
        self.assertNotEqual(known.reason("pt2pt/scancel 2"), "")


class Judgement(unittest.TestCase):
    plain = testlist.Test("pt2pt", "x", 2)
    failing = testlist.Test("init", "x", 2, expects_failure=True)
    surviving = testlist.Test("ft", "x", 2, expects_failure=True, expects_survivors=True)

    def how(self, test, code, output, hung=False):
        return run.judge(test, jobs.Outcome(code, hung, 0.1, output))[0]

    def test_plain(self):
        self.assertEqual(self.how(self.plain, 0, " No Errors\n"), "passed")
        self.assertEqual(self.how(self.plain, 0, ""), "failed")
        self.assertEqual(self.how(self.plain, 1, " No Errors\n"), "failed")
        self.assertEqual(self.how(self.plain, 0, " No Errors\nand more\n"), "failed")
        self.assertEqual(self.how(self.plain, 0, " Found 3 errors\n"), "failed")
        self.assertEqual(self.how(self.plain, run.TIMED_OUT, ""), "hung")
        self.assertEqual(self.how(self.plain, -11, ""), "crashed")
        self.assertEqual(self.how(self.plain, -9, "", hung=True), "crashed")
        self.assertEqual(self.how(self.plain, 52, "towline[0]: MPI_Win_create failed: MPI_Win_create is not built yet\n"), "later")

    def test_one_that_has_to_fail(self):
        self.assertEqual(self.how(self.failing, 1, "anything"), "passed")
        self.assertEqual(self.how(self.failing, 0, " No Errors\n"), "failed")
        self.assertEqual(self.how(self.failing, -11, ""), "crashed")

    def test_one_whose_survivors_have_to_pass(self):
        ended = "towline: rank 1 (pid 7 on node) ended with exit code 1, and has not called MPI_Finalize; the others go on\n"
        for code, output, how in ((1, ended + " No Errors\n" + ended, "passed"), (0, ended + " No Errors\n", "failed"), (1, ended, "failed"),
                                  (1, ended + " No Errors\nReduce gave 1\n", "failed"), (1, " Found 1 errors\n", "failed"),
                                  (1, ended.replace("the others go on", "the job is ended") + " No Errors\n", "failed"),
                                  (run.TIMED_OUT, ended, "hung"), (-11, "", "crashed")):
            self.assertEqual(self.how(self.surviving, code, output), how, output)

    def test_why_it_does_not_compile(self):
        self.assertEqual(run.build_reason("a.c:3: error: unknown type name ‘MPI_Fint’; did you mean ‘x’"), "not in the ABI: MPI_Fint")


class Corrections(unittest.TestCase):
    def test_another_suite_is_noticed(self):
        correction = corrections.Correction("a.c", "why", (("x", "y", 2),))
        self.assertEqual(corrections.corrected("x + x", correction), "y + y")
        for text in ("x", "x x x", ""):
            with self.assertRaisesRegex(RuntimeError, "a.c of the suite"):
                corrections.corrected(text, correction)
        self.assertIsNone(corrections.of("a.c"))


class Jobs(unittest.TestCase):
    def test_time_limit_and_output(self):
        done = jobs.run([sys.executable, "-c", "print('a' * 10); import sys; sys.exit(3)"], 60)
        self.assertEqual((done.code, done.hung, done.output), (3, False, "a" * 10 + "\n"))
        begin = time.monotonic()
        done = jobs.run(["sh", "-c", "sleep 100 & sleep 100"], 0.2)
        self.assertTrue(done.hung)
        self.assertLess(time.monotonic() - begin, 60)
        done = jobs.run([sys.executable, "-c", "print('x' * 5000)"], 60, keep=100)
        self.assertIn("[...]", done.output)

    def test_results_are_in_order(self):
        self.assertEqual(jobs.each(range(20), lambda n: n * n, 4, lambda done, of, result: None), [n * n for n in range(20)])


if __name__ == "__main__":
    unittest.main()
