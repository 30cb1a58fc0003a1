"""`towline tune`, the file that it writes, and who obeys it."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import JobTest, TOWLINE, program

CORES = len(os.sched_getaffinity(0))


class TuneTest(JobTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="tune-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.env["XDG_CONFIG_HOME"] = self.folder
        self.env.pop("TOWLINE_TUNING", None)
        self.file = os.path.join(self.folder, "towline", "machine.toml")

    def tool(self, *words, **env):
        done = subprocess.run([TOWLINE, *words], capture_output=True, text=True, timeout=240, env={**self.env, **env})
        return done.returncode, done.stdout, done.stderr

    def write(self, lines):
        """A file of this machine: its name is what `towline info` knows."""
        os.makedirs(os.path.dirname(self.file), exist_ok=True)
        with open(self.file, "w") as file:
            file.write(f'[machine]\nprocessor = "{self.processor()}"\ncores = {os.sysconf("SC_NPROCESSORS_ONLN")}\n{lines}')

    def processor(self):
        if not hasattr(TuneTest, "name"):
            with open(os.path.join(self.folder, "none.toml"), "w") as file:
                file.write('[machine]\nprocessor = "none"\n')
            # The launcher says what it compares with when the file is another machine's.
            out = self.tool("info", TOWLINE_TUNING=os.path.join(self.folder, "none.toml"))[1]
            TuneTest.name = re.search(r"measured on none with 0 cores, not on (.*) with \d+ cores?; towline tune", out)[1]
        return TuneTest.name

    def sizes(self, *words, **env):
        code, out, err = self.tool(*words, program("sizes"), **env) if words else self.alone(**env)
        self.assertEqual(code, 0, err)
        return [dict(word.split("=") for word in line.split()[2:]) for line in sorted(out.splitlines())], err

    def alone(self, **env):
        done = subprocess.run([program("sizes")], capture_output=True, text=True, timeout=60, env={**self.env, **env})
        return done.returncode, done.stdout, done.stderr


class Measuring(TuneTest):
    @unittest.skipIf(CORES < 2, "two cores are needed")
    def test_writes_a_file_that_is_used(self):
        code, out, err = self.tool("tune", "--quick")
        self.assertEqual((code, out), (0, ""), err)
        self.assertRegex(err, r"^towline tune: measuring ")
        self.assertRegex(err, rf"differ from what is shipped; written to {re.escape(self.file)} after \d+\.\d s\n$")
        with open(self.file) as file:
            text = file.read()
        for name in ("processor", "cores", "kernel", "when"):
            self.assertRegex(text, rf"(?m)^{name} = ")
        for name in ("map_lent", "attach_lent", "cooperate", "take_alone", "attach_chunk", "share_least", "share_most"):
            self.assertRegex(text, rf"(?m)^(# )?{name} = \d+  # .+$")
            self.assertIn(f"{name}: ", err)
        missing = set(re.findall(r"(\w+): \d+ \(.*not measured", err))
        attach = re.search(r"cross-memory attach +works", self.tool("info")[1])
        self.assertLessEqual(missing, set() if attach else {"attach_lent", "attach_chunk"})
        self.assertEqual(os.listdir(os.path.dirname(self.file)), ["machine.toml"])
        code, out, err = self.tool("info")
        self.assertEqual((code, err), (0, ""))
        self.assertIn(f"measured here", out)
        written = dict(re.findall(r"(?m)^(\w+) = (\d+)  #", text))
        for name, value in written.items():
            self.assertRegex(out, rf"(?m)^    {name} +{value} bytes? +file: ")
        code, out, err = self.tool("tune", "--show")
        self.assertEqual((code, out, err), (0, f"# {self.file}\n{text}", ""))
        (first, second), err = self.sizes("run", "-n", "2")
        self.assertEqual((first, err), (second, ""))
        for name, value in written.items():
            self.assertEqual(first[name], value)

    def test_says_where_it_cannot_write(self):
        code, out, err = self.tool("tune", "--output", "/proc/none/x.toml")
        self.assertEqual((code, out), (125, ""))
        self.assertRegex(err, r"^towline tune: /proc/none/x.toml: .*; nothing was measured\n$")
        code, out, err = self.tool("tune", TOWLINE_TUNING="off")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("write --output FILE", err)

    def test_needs_two_cores(self):
        cpu = min(os.sched_getaffinity(0))
        done = subprocess.run([TOWLINE, "tune"], capture_output=True, text=True, timeout=60, env=self.env,
                              preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("two cores are needed", done.stderr)
        self.assertFalse(os.path.exists(self.file))

    def test_is_no_rank_by_itself(self):
        code, out, err = self.tool("tune", "--as-rank")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("--as-rank is for", err)

    def test_shows_that_there_is_none(self):
        self.assertEqual(self.tool("tune", "--show"),
                         (0, f"no file is used: there is none at {self.file}; the thresholds are those that are shipped\n", ""))


class Obeying(TuneTest):
    def test_all_ranks_have_what_the_launcher_read(self):
        shipped, err = self.sizes("run", "-n", "1")
        self.assertEqual(err, "")
        self.write('[thresholds]\nmap_lent = 12345\nattach_chunk = "8K"\n')
        wanted = {**shipped[0], "map_lent": "12345", "attach_chunk": "8192"}
        self.assertEqual(self.sizes("run", "-n", "3"), ([wanted] * 3, ""))
        self.assertEqual(self.sizes(), ([wanted], ""))
        self.assertEqual(self.sizes("run", "-n", "2", TOWLINE_TUNING="off"), (shipped * 2, ""))
        other = os.path.join(self.folder, "other.toml")
        os.rename(self.file, other)
        self.assertEqual(self.sizes("run", "-n", "2"), (shipped * 2, ""))
        self.assertEqual(self.sizes("run", "-n", "2", TOWLINE_TUNING=other), ([wanted] * 2, ""))

    def test_nonsense_is_told_once_and_the_job_runs(self):
        shipped, _ = self.sizes("run", "-n", "1")
        self.write("[thresholds]\nmap_lent = 1\nspeed = 9\npull_window = 5000\n")
        (first, second), err = self.sizes("run", "-n", "2")
        self.assertEqual(first, {**shipped[0], "pull_window": "5000"})
        self.assertEqual(first, second)
        lines = err.splitlines()
        self.assertEqual(len(lines), 2, err)
        self.assertRegex(lines[0] + lines[1], rf"{re.escape(self.file)}:5: thresholds.map_lent is ignored: it must be a size from 64 to ")
        self.assertRegex(lines[0] + lines[1], rf"{re.escape(self.file)}:6: thresholds.speed is unknown and ignored")
        with open(self.file, "w") as file:
            file.write("nothing of the kind")
        (first,), err = self.sizes("run", "-n", "1")
        self.assertEqual(first, shipped[0])
        self.assertEqual(len(err.splitlines()), 1)
        self.assertIn(f"{self.file}:1: no TOML", err)

    def test_another_machines_is_ignored(self):
        shipped, _ = self.sizes("run", "-n", "1")
        os.makedirs(os.path.dirname(self.file))
        with open(self.file, "w") as file:
            file.write('[machine]\nprocessor = "Abacus"\ncores = 10\n[thresholds]\nmap_lent = 4096\n')
        self.assertEqual(self.sizes("run", "-n", "2"), (shipped * 2, ""))
        _, err = self.sizes("run", "-n", "2", TOWLINE_LOG="info")
        self.assertEqual(len([line for line in err.splitlines() if "another machine (Abacus, 10 cores)" in line]), 1, err)

    def test_a_file_that_was_named_must_be_there(self):
        for words in (["run", "-n", "1", "true"], ["info"]):
            code, out, err = self.tool(*words, TOWLINE_TUNING="/no/such/file")
            self.assertNotEqual(code, 0)
            self.assertIn("TOWLINE_TUNING='/no/such/file' cannot be read: No such file or directory", err)


if __name__ == "__main__":
    harness.main()
