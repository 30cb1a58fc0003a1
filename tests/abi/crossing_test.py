"""Binaries cross over: built with our header or with the wheel's, a program runs on our library and on the wheel's, and sees the same."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from headers import CC

HERE = pathlib.Path(__file__).parent
LIBRARIES = {"ours": pathlib.Path(os.environ["LIBRARY"]).parent, "wheel": pathlib.Path(os.environ["WHEELS"]) / "lib"}
HEADERS = {"ours": [f"-I{os.environ['INCLUDE']}"], "wheel": [f"-I{os.environ['WHEELS']}/include", "-DWHEEL", "-w"]}


@unittest.skipIf(os.environ.get("TOWLINE_SANITIZE"), "a plain program cannot load a library with sanitizers")
class Crossing(unittest.TestCase):
    def test_all_four_see_the_same(self):
        seen = {}
        with tempfile.TemporaryDirectory() as folder:
            for header, options in HEADERS.items():
                program = pathlib.Path(folder) / f"cross_{header}"
                done = subprocess.run([CC, "-Wall", "-Wextra", *options, HERE / "cross.c", "-o", program, f"-L{LIBRARIES[header]}",
                                       "-l:libmpi_abi.so.1"], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                for library, place in LIBRARIES.items():
                    done = subprocess.run([program], capture_output=True, text=True, timeout=60,
                                          env={**os.environ, "LD_LIBRARY_PATH": str(place)})
                    self.assertEqual((done.returncode, done.stderr), (0, ""), f"{header} on {library}")
                    seen[header, library] = done.stdout
        self.assertEqual(seen["ours", "ours"].splitlines()[-1], "finalized 1")
        for pair, text in seen.items():
            self.assertEqual(text, seen["ours", "ours"], pair)


if __name__ == "__main__":
    unittest.main()
