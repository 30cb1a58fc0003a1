"""Settings: checked before any rank starts, and by programs without a launcher; the manual's table; what TOWLINE_LOG=debug tells."""

import json
import os
import pathlib
import re
import subprocess

import harness
from harness import JobTest, TOWLINE, program

MPIEXEC = os.path.join(os.path.dirname(TOWLINE), "mpiexec")
STUCK = os.path.join(harness.PROGRAMS, "mpi_stuck")
CALLS = program("remote_stuck")
MANUAL = pathlib.Path(__file__).resolve().parents[2] / "docs" / "settings.md"
WRONG = {"TOWLINE_STACK": "64Q", "TOWLINE_LOG": "loud", "TOWLINE_ONLOAD": "99999", "TOWLINE_LANES": "x", "TOWLINE_WORKERS": "none",
         "TOWLINE_WATCHDOG": "soon", "TOWLINE_CHECK": "all", "TOWLINE_SEGMENT": "24M"}


class SettingsTest(JobTest):
    def command(self, *words, **settings):
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=dict(self.env, **settings), stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr


class Wrong(SettingsTest):
    def test_before_any_rank_starts(self):
        for name, value in WRONG.items():
            for launcher in ([TOWLINE, "run", "-n", "2"], [MPIEXEC, "-n", "2"]):
                code, out, err = self.command(*launcher, "echo", "started", **{name: value})
                self.assertEqual((code, out), (2, ""), err)
                self.assertIn(f"{name}='{value}' is not ", err)

    def test_all_at_once(self):
        code, _, err = self.command(TOWLINE, "run", "-n", "1", "echo", TOWLINE_LANES="x", TOWLINE_LOG="loud")
        self.assertEqual(code, 2)
        self.assertIn("TOWLINE_LANES='x' is not on, off or first", err)
        self.assertIn("TOWLINE_LOG='loud' is not one of off, error, warning, info, debug", err)

    def test_that_only_one_program_is_given(self):
        code, out, err = self.command(MPIEXEC, "-n", "1", "echo", "started", ":", "-n", "1", "-env", "TOWLINE_LANES", "x", "echo", "started")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("TOWLINE_LANES='x' is not on, off or first", err)
        code, out, err = self.command(MPIEXEC, "-n", "2", "-genv", "TOWLINE_LANES", "off", "echo", "started", TOWLINE_LANES="x")
        self.assertEqual((code, out, err), (0, "started\nstarted\n", ""))

    def test_without_a_launcher(self):
        for name, value in WRONG.items():
            code, _, err = self.command(STUCK, "none", **{name: value})
            self.assertNotEqual(code, 0)
            self.assertIn(f"{name}='{value}' is not ", err)
            code, _, err = self.command(CALLS, "none", **{name: value})
            self.assertNotEqual(code, 0)
            self.assertIn(f"{name}='{value}' is not ", err)

    def test_by_a_wrapper(self):
        code, _, err = self.command(MPIEXEC, "-n", "2", "env", "TOWLINE_LANES=x", STUCK, "none")
        self.assertNotEqual(code, 0)
        self.assertIn("TOWLINE_LANES='x' is not on, off or first", err)

    def test_info(self):
        code, out, err = self.command(TOWLINE, "info", TOWLINE_LANES="x")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("TOWLINE_LANES='x' is not on, off or first", err)


class Right(SettingsTest):
    def test_stacks_with_units(self):
        for value in ("64", "64K", "1M"):
            code, _, err = self.command(TOWLINE, "run", "-n", "2", CALLS, "gives", TOWLINE_STACK=value)
            self.assertEqual((code, err), (0, ""), value)


class Unknown(SettingsTest):
    LINE = "TOWLINE_LANE is set, and is no setting of Towline; the nearest is TOWLINE_LANES"

    def test_is_told_of_once(self):
        code, _, err = self.command(MPIEXEC, "-n", "3", STUCK, "none", TOWLINE_LANE="off")
        self.assertEqual((code, err), (0, f"towline: {self.LINE}\n"))
        code, _, err = self.command(STUCK, "none", TOWLINE_LANE="off")
        self.assertEqual((code, err), (0, f"towline: {self.LINE}\n"))

    def test_is_not_told_of_where_that_is_not_wanted(self):
        code, _, err = self.command(MPIEXEC, "-n", "2", STUCK, "none", TOWLINE_LANE="off", TOWLINE_LOG="error")
        self.assertEqual((code, err), (0, ""))

    def test_in_info(self):
        _, out, _ = self.command(TOWLINE, "info", TOWLINE_LANE="off")
        self.assertIn(self.LINE, out)


class Manual(SettingsTest):
    def test_has_the_same_table(self):
        rows = re.findall(r"^\| `(TOWLINE_[A-Z_]+)` \| ([^|]*) \| ([^|]*) \|$", MANUAL.read_text(), re.MULTILINE)
        env = {name: value for name, value in self.env.items() if not name.startswith("TOWLINE_")}
        known = json.loads(subprocess.run([TOWLINE, "info", "--json"], capture_output=True, text=True, env=env, timeout=60).stdout)["settings"]
        self.assertEqual([name for name, _, _ in rows], list(known))
        for name, default, text in rows:
            self.assertEqual(default.strip("`"), known[name]["value"], name)
            self.assertGreater(len(text), 10, name)

    def test_what_is_set_is_shown(self):
        code, out, _ = self.command(TOWLINE, "info", TOWLINE_LANES="off")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"(?m)^  \+ TOWLINE_LANES +off ")
        self.assertRegex(out, r"(?m)^    TOWLINE_STACK +256K ")


class Debug(SettingsTest):
    LINE = re.compile(r"towline\[(\d)\] \d\d:\d\d:\d\d\.\d{6}: (.*)$")

    def lines(self, *words, **settings):
        code, _, err = self.command(*words, TOWLINE_LOG="debug", **settings)
        self.assertEqual(code, 0, err)
        said = {}
        for line in err.splitlines():
            found = self.LINE.match(line)
            self.assertIsNotNone(found, line)
            said.setdefault(int(found[1]), []).append(found[2])
        return said

    def one(self, lines, pattern):
        found = [line for line in lines if re.search(pattern, line)]
        self.assertEqual(len(found), 1, f"{pattern} in {lines}")
        return found[0]

    def test_calls(self):
        said = self.lines(TOWLINE, "run", "-n", "2", CALLS, "gives", TOWLINE_LANES="on")
        self.assertEqual(sorted(said), [0, 1])
        for rank, lines in said.items():
            self.one(lines, rf"^Towline \d+\.\d+\.\d+, job file \d+; rank {rank} of 2 of job \d+-[0-9a-f]+, pid \d+; Linux ")
            self.assertIn("TOWLINE_LANES=on", self.one(lines, "^settings: "))
            self.one(lines, r"^\d+ cores? for 2 ranks: waits ")
            self.one(lines, r"^memory: \d+ .iB of address space a rank, .*; cross-memory attach ")
            self.assertIn("hand_over ", self.one(lines, r"^thresholds in bytes \(as shipped\): "))
            self.one(lines, rf"^rank {1 - rank} is reached by shm: messages of \d+ bytes, big blocks are read where they are; not by self: ")
            self.one(lines, rf"^from rank {1 - rank}, first block that is handed over: \d+ bytes$")

    def test_collective_operations(self):
        for lanes, way in (("first", "over shared memory"), ("off", None)):
            said = self.lines(MPIEXEC, "-n", "3", STUCK, "together", TOWLINE_LANES=lanes)
            for lines in said.values():
                if way is None:
                    self.assertFalse([line for line in lines if line.startswith("collective operations")])
                else:
                    self.assertTrue(self.one(lines, r"^collective operations of 3 ranks \(context \d+\) go ").endswith(way))

    def test_without_a_launcher(self):
        self.assertEqual(list(self.lines(STUCK, "none")), [0])


if __name__ == "__main__":
    harness.main()
