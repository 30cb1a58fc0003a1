"""Remote calls between the ranks of a job."""

import signal

import harness
from harness import JobTest, SANITIZED, program


class Remote(JobTest):
    def passes(self, ranks, name, *words, options=(), timeout=120, code=0, env=None):
        got, out, err, _ = self.run_job(ranks, program(name), *words, options=options, timeout=timeout, env={**self.env, **(env or {})})
        self.assertEqual(got, code, f"{name} {words} on {ranks}: {err[-2000:]}")
        return out, err

    def test_calls_of_every_kind(self):
        for ranks in (1, 2, 4):
            self.passes(ranks, "remote_calls")

    def test_without_the_launcher(self):
        import subprocess
        done = subprocess.run([program("remote_calls")], env=self.env, timeout=120, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_where_a_function_runs(self):
        for ranks in (1, 2, 3):
            for _ in range(5):
                self.passes(ranks, "remote_here")

    def test_futures(self):
        for ranks in (1, 2):
            self.passes(ranks, "remote_futures", env={"TOWLINE_WORKERS": "1"})
        self.passes(2, "remote_futures", "leaves")

    def test_threads_that_the_system_refuses(self):
        if SANITIZED:  # their address space has no limit
            self.skipTest("address space is the sanitizer's")
        for how in ("none", "some"):
            out, _ = self.passes(1, "remote_threads", how, options=("--heap", "off"), env={"TOWLINE_SEGMENT": "16M"})
            self.assertIn("worker" if how == "some" else "thread", out)

    def test_nesting(self):
        # The thread sanitizer knows 8128 threads, and every suspended handler is one to it.
        depth = 1500 if SANITIZED else 10000
        self.passes(2, "remote_nest", str(depth))
        self.passes(1, "remote_nest", str(depth))

    def test_packed_values(self):
        for ranks in (1, 2, 3):
            self.passes(ranks, "remote_packed")

    def test_nothing_is_copied_that_need_not_be(self):
        self.passes(2, "remote_counters")
        if not SANITIZED:  # there the heap of malloc is off anyway
            self.passes(2, "remote_counters", options=("--heap", "off"))

    def test_vectors_that_own_blocks_of_peers(self):
        adopted = "no" if SANITIZED else "yes"
        self.passes(2, "remote_adopts", adopted)
        self.passes(2, "remote_adopts", adopted, "dies", options=("--keep-going",), code=128 + signal.SIGKILL)
        if not SANITIZED:  # they have an allocator and operators themselves
            self.passes(2, "remote_adopts", "no", options=("--heap", "off"))
            self.passes(2, "remote_replaced")  # operators of its own, which could not release what they did not make

    def test_blocks_in_the_arena_of_a_third_rank(self):
        for lanes in ("off", "on"):
            for ranks in (3, 4):
                self.passes(ranks, "remote_third_arena", env={"TOWLINE_LANES": lanes})
            self.passes(3, "remote_third_arena", "dies", options=("--keep-going",), code=128 + signal.SIGKILL, env={"TOWLINE_LANES": lanes})

    def test_messages_above_the_limit(self):
        for ranks in (1, 2, 3):
            code, _, err, _ = self.run_job(ranks, "env", "TOWLINE_MAX_MESSAGE=1M", program("remote_limit"))
            self.assertEqual(code, 0, err)

    def test_objects(self):
        for ranks in (1, 2, 3):
            self.passes(ranks, "remote_objects")

    def test_strided_views(self):
        for ranks in (1, 2, 3):
            self.passes(ranks, "remote_views")
        self.passes(3, "remote_views", env={"TOWLINE_LANES": "off"})
        self.passes(2, "remote_views", options=("--heap", "off"))
        for ranks in (1, 3):
            self.passes(ranks, "remote_views", "wrong")

    def test_teams(self):
        for ranks in (1, 2, 3, 5):
            self.passes(ranks, "remote_teams")
            self.passes(ranks, "remote_teams", "wrong")
            self.passes(ranks, "remote_teams", "inside")
            self.passes(ranks, "remote_teams", "ways")
            self.passes(ranks, "remote_teams", "ways", "messages", env={"TOWLINE_LANES": "off"})
        # By messages, where nobody reaches the others' memory.
        for ranks in (2, 4):
            self.passes(ranks, "remote_teams", env={"TOWLINE_LANES": "off"})
        self.passes(3, "remote_teams", env={"TOWLINE_DETERMINISTIC": "1"})

    def test_teams_whose_members_end(self):
        for _ in range(3):
            for lanes in ("on", "off"):
                env = {"TOWLINE_LANES": lanes}
                self.passes(4, "remote_teams", "dies", options=("--keep-going",), code=128 + signal.SIGKILL, env=env)
                self.passes(3, "remote_teams", "leaves", env=env)

    def test_deaths(self):
        for _ in range(3):
            self.passes(4, "remote_deaths", options=("--keep-going",), code=128 + signal.SIGKILL)

    def test_leaving_by_an_exception(self):
        self.passes(3, "remote_leaves")
        for _ in range(3):
            self.passes(3, "remote_leaves", "late")

    def test_serve_and_stop(self):
        for ranks in (1, 2, 4):
            self.passes(ranks, "remote_leaves", "serve")

    def test_two_programs(self):
        a, b = program("remote_table_a"), program("remote_table_b")
        for ranks in (2, 4):
            choice = f'case "${{TOWLINE_JOB##*:}}" in *[02468]) exec "{a}";; *) exec "{b}";; esac'
            self.assertEqual(self.run_job(ranks, "sh", "-c", choice)[0:3], (0, "", ""))

    def test_two_functions_with_one_name(self):
        for ranks in (1, 2):
            code, _, err, _ = self.run_job(ranks, program("remote_collision"))
            self.assertNotEqual(code, 0)
            self.assertIn("two different callable functions have the same name", err)
            self.assertIn("same_name", err)


if __name__ == "__main__":
    harness.main()
