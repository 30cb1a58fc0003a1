"""Tools that look into programs, under `towline run`: sanitizers, valgrind, gdb. docs/settings.md, "Debugging", says how."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import JobTest, program

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv)
{
    char* big = calloc(1 << 20, 1);   /* from 64 KiB on the launcher's allocator would serve it */
    big[argc > 1 ? atoi(argv[1]) : 0] = 1;
    printf("done %d\\n", big[0] + 1);
    free(big);
    return 0;
}
"""
SCRIPT = "import os; print(open('/proc/self/maps').read().count('libtowline-malloc') > 0)"


@unittest.skipIf(harness.SANITIZED, "the launcher itself has sanitizers in it")
class Sanitizers(JobTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory(prefix="sanitizers ")
        self.addCleanup(self.folder.cleanup)
        self.env.pop("LD_PRELOAD", None)

    def built(self, compiler, *options):
        if shutil.which(compiler) is None:
            self.skipTest(f"there is no {compiler}")
        source = os.path.join(self.folder.name, "program.c")
        with open(source, "w") as file:
            file.write(PROGRAM)
        target = os.path.join(self.folder.name, "program")
        done = subprocess.run([compiler, "-g", *options, source, "-o", target], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest(f"{compiler} {' '.join(options)} has no runtime here: {done.stderr[-300:]}")
        return target

    def check(self, target, name, fails):
        command = [target, "1"]
        # TSan's runtime may need a smaller address space layout.
        wrapped = ["setarch", "-R"] if "thread" in name else []
        for words in ([], ["env"], ["nice", "-n", "1"]):
            code, out, err, _ = self.run_job(2, *wrapped, *words, *command, env=dict(self.env, TOWLINE_LOG="info"))
            self.assertEqual((code, sorted(out.splitlines())), (0, ["done 1"] * 2), err)
            self.assertEqual(err.count("is built with " + name), 1, err)
        if fails:
            code, _, err, _ = self.run_job(1, target, str((1 << 20) + 1))
            self.assertNotEqual(code, 0)
            self.assertIn("heap-buffer-overflow", err)

    def test_address_of_gcc(self):
        self.check(self.built("gcc", "-fsanitize=address"), "the address sanitizer", True)

    def test_thread_of_gcc(self):
        target = self.built("gcc", "-fsanitize=thread")
        if subprocess.run(["setarch", "-R", target, "1"], capture_output=True).returncode != 0:
            self.skipTest("the thread sanitizer does not run here")
        self.check(target, "the thread sanitizer", False)

    def test_leak_of_gcc(self):
        self.check(self.built("gcc", "-fsanitize=leak"), "the leak sanitizer", False)

    def test_runtime_inside_the_program(self):
        self.check(self.built("gcc", "-fsanitize=address", "-static-libasan"), "the address sanitizer", True)

    def test_address_of_clang(self):
        self.check(self.built("clang-16", "-fsanitize=address"), "the address sanitizer", True)

    def test_a_runtime_that_is_preloaded(self):
        path = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
        if not os.path.isabs(path):
            self.skipTest("gcc has no libasan here")
        path = os.path.realpath(path)
        env = dict(self.env, LD_PRELOAD=path, ASAN_OPTIONS="detect_leaks=0", TOWLINE_LOG="info")
        code, out, err, _ = self.run_job(2, sys.executable, "-c", SCRIPT, env=env)
        self.assertEqual((code, out), (0, "False\nFalse\n"), err)
        self.assertEqual(err.count("is preloaded: " + path), 1, err)

    def test_a_script_for_a_program_with_a_sanitizer(self):
        target = self.built("gcc", "-fsanitize=address")
        if " " in target:
            os.rename(target, "/tmp/" + os.path.basename(self.folder.name).replace(" ", "-"))
            target = "/tmp/" + os.path.basename(self.folder.name).replace(" ", "-")
            self.addCleanup(os.unlink, target)
        script = os.path.join(self.folder.name, "script")
        with open(script, "w") as file:
            file.write(f"#!{target} 1\n")
        os.chmod(script, 0o755)
        code, out, err, _ = self.run_job(2, script)
        self.assertEqual((code, out.count("done")), (0, 2), err)

    def test_others_are_preloaded_still(self):
        code, out, err, _ = self.run_job(2, sys.executable, "-c", SCRIPT, env=dict(self.env, TOWLINE_LOG="info"))
        self.assertEqual((code, out, err), (0, "True\nTrue\n", ""))

    def test_files_that_are_no_programs(self):
        """Damaged ones are looked at, and are not understood."""
        path = os.path.join(self.folder.name, "damaged")
        with open(sys.executable, "rb") as file:
            good = file.read(1 << 20)
        for length in (3, 16, 63, 64, 200, 900, 5000):
            with open(path, "wb") as file:
                file.write(good[:length])
            os.chmod(path, 0o755)
            code, out, err, _ = self.run_job(1, "echo", path)
            self.assertEqual((code, out), (0, path + "\n"), err)


@unittest.skipIf(harness.SANITIZED, "valgrind cannot run programs with sanitizers")
class Tools(JobTest):
    def test_valgrind(self):
        if shutil.which("valgrind") is None:
            self.skipTest("there is no valgrind (apt-get install valgrind)")
        code, out, err, _ = self.run_job(2, "valgrind", "-q", "--error-exitcode=9", program("member"), "put", "k", "v", "fence", "show", "1", "k",
                                         timeout=240, env=dict(self.env, TOWLINE_LOG="info"))
        self.assertEqual((code, out), (0, "v\nv\n"), err[-3000:])
        self.assertIn("valgrind has little address space: segments are small", err)

    def test_gdb(self):
        if shutil.which("gdb") is None:
            self.skipTest("there is no gdb (apt-get install gdb)")
        code, out, err, _ = self.run_job(2, "gdb", "-q", "-batch", "-ex", "set startup-with-shell off", "-ex", "run", "--args", program("member"),
                                         "put", "k", "v", "fence", "show", "1", "k", timeout=240)
        if "ptrace" in err or "Operation not permitted" in err:
            self.skipTest("processes cannot be traced here")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(out.splitlines().count("v"), 2, out + err)
        self.assertEqual(out.count("exited normally"), 2, out + err)


if __name__ == "__main__":
    harness.main()
