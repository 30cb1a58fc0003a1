"""What tells people how to use the tools: --help, `towline help`, manual pages, the completion of bash."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import PROGRAMS, TOWLINE, JobTest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MANUAL = os.path.join(os.path.dirname(os.path.abspath(PROGRAMS)), "manual")
sys.path.insert(0, os.path.join(ROOT, "tools", "manual"))
import help_text  # noqa: E402

PAGES = ("towline", "towline-run", "towline-where", "towline-info", "towline-tune", "towline-layout", "mpiexec", "mpicc")


def output(*command, code=0, stream="stdout", **rest):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **rest)
    assert done.returncode == code, (command, done)
    return getattr(done, stream)


def page(name):
    with open(os.path.join(MANUAL, "man1", f"{name}.1"), encoding="utf-8") as file:
        return file.read()


def plain(roff):
    """The words of a page without its escapes."""
    return re.sub(r"\\f[BIR]|\\&", "", roff).replace("\\-", "-").replace("\\e", "\\").replace("\\(aq", "'").replace("\\(ga", "`")


class Help(unittest.TestCase):
    def test_the_command_help(self):
        self.assertEqual(output(TOWLINE, "help"), output(TOWLINE, "--help"))
        for command in ("run", "where", "info", "tune", "layout", "help"):
            self.assertEqual(output(TOWLINE, "help", command), output(TOWLINE, command, "--help"))
            self.assertIn(f"\n  {command} ", output(TOWLINE, "help"))
        self.assertIn("there is no command 'fly'; there are run, where,", output(TOWLINE, "help", "fly", code=2, stream="stderr"))

    def test_the_compilers_tell_of_themselves(self):
        for name in ("mpicc", "mpicxx", "mpicc_abi", "mpicxx_abi"):
            for option in ("-help", "--help"):
                self.assertTrue(output(os.path.join(PROGRAMS, name), option).startswith(f"Usage: {name} [option] [arguments"))

    def test_help_is_read(self):
        about = help_text.parse("title\nUsage: x [A]\n\nOptions:\n  -a,--all N   how\n     many\n  -b\nWhere: -c\n\nend of\nit\n")
        self.assertEqual((about.usage, about.paragraphs), ("x [A]", ["title", "end of it"]))
        self.assertEqual([(o.names, o.value, o.text) for o in about.options], [(["-a", "--all"], "N", "how many"), (["-b"], "", "")])


@unittest.skipIf(harness.SANITIZED, "not made with sanitizers")
class Pages(unittest.TestCase):
    def test_they_are_well_formed(self):
        names = sorted(os.listdir(os.path.join(MANUAL, "man1")))
        self.assertEqual(names, sorted(f"{n}.1" for n in (*PAGES, "mpirun", "mpicxx", "mpicc_abi", "mpicxx_abi")))
        for name in PAGES:
            sections = re.findall(r"^\.SH (.*)", page(name), re.M)
            for wanted in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
                self.assertEqual(sections.count(wanted), 1, (name, wanted))
            self.assertRegex(plain(page(name)), rf"\.SH NAME\n{name} - \w+")
        for name, target in (("mpirun", "mpiexec"), ("mpicxx", "mpicc")):
            self.assertEqual(page(name), f".so man1/{target}.1\n")

    @unittest.skipUnless(shutil.which("groff"), "groff is not here")
    def test_groff_has_nothing_to_say(self):
        for name in PAGES:
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", os.path.join(MANUAL, "man1", f"{name}.1")],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            text = output("groff", "-man", "-Tutf8", "-P-cbou", os.path.join(MANUAL, "man1", f"{name}.1"))
            self.assertNotRegex(text, r"`\w|\*\*|\]\(", name)  # no Markdown is left

    def test_they_say_what_the_help_says(self):
        for name, command in (("towline", []), ("towline-run", ["run"]), ("towline-where", ["where"]), ("towline-info", ["info"]),
                              ("towline-tune", ["tune"]), ("towline-layout", ["layout"]), ("mpiexec", None), ("mpicc", None)):
            text = " ".join(plain(page(name)).split())
            shown = output(*([os.path.join(PROGRAMS, name)] if command is None else [TOWLINE, *command]), "--help")
            # Each word of the help stands in the page, but for what belongs to the list's form.
            words = set(re.findall(r"[\w|=-]+", shown)) - {"Usage", "Options", "Positionals", "Subcommands"}
            words = {w for word in words for w in (word.split(",") if word.startswith("-") else [word])}
            self.assertEqual({w for w in words if w not in text}, set(), name)

    def test_settings_and_counters(self):
        text = plain(page("towline-run"))
        for file, pattern in (("docs/settings.md", r"^\| `(TOWLINE_\w+)` \|"), ("docs/stats.md", r"^\| `(\w+)` \|")):
            with open(os.path.join(ROOT, file), encoding="utf-8") as content:
                names = re.findall(pattern, content.read(), re.M)
            self.assertGreater(len(names), 10)
            for name in names:
                self.assertRegex(text, rf"\n\.TP\n{name}\b")


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        folder = os.path.join(ROOT, "docs")
        for path in [os.path.join(ROOT, n) for n in ("README.md", "CONTRIBUTING.md")] + [os.path.join(folder, n) for n in os.listdir(folder)]:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for link in re.findall(r"\]\(([^)#\s]+)", text):
                if "://" not in link:
                    self.assertTrue(os.path.exists(os.path.join(os.path.dirname(path), link)), f"{path}: {link}")
            # What is said to be made can be made.
            with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as file:
                targets = re.findall(r"^([a-z-]+)(?= ?[a-z-]*:)", file.read(), re.M) + ["fuzz"]
            for target in re.findall(r"(?:^    |`)make ([a-z-]+)", text, re.M):
                self.assertIn(target, targets, path)
            for example in re.findall(r"examples/(\d\d_\w+(?:/\w+\.\w+)?)", text):
                self.assertTrue(os.path.exists(os.path.join(ROOT, "examples", example)), f"{path}: {example}")


@unittest.skipIf(harness.SANITIZED, "not made with sanitizers")
@unittest.skipUnless(shutil.which("bash"), "bash is not here")
class Completion(JobTest):
    def complete(self, *words):
        """What bash offers for the last word."""
        name = os.path.basename(words[0])
        quoted = " ".join("'" + w.replace("'", "'\\''") + "'" for w in words)
        script = f"""set -u; source "$1"; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; COMP_LINE="${{COMP_WORDS[*]}}"
            COMP_WORDS[0]=$2
            function=$(complete -p {name} | sed 's/.*-F \\([a-z_]*\\) .*/\\1/'); $function; printf '%s\\n' "${{COMPREPLY[@]}}" """
        file = os.path.join(MANUAL, "completions", name)
        tool = TOWLINE if name == "towline" else os.path.join(PROGRAMS, name)
        done = subprocess.run(["bash", "--norc", "-c", script, "bash", file, os.path.abspath(tool)], cwd=self.folder, env=self.env,
                              capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return [line for line in done.stdout.splitlines() if line]

    def setUp(self):
        super().setUp()
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        os.mkdir(os.path.join(self.folder, "folder"))
        for name in ("prog ram", "data.txt"):
            with open(os.path.join(self.folder, name), "w", encoding="ascii"):
                pass

    def test_towline(self):
        self.assertEqual(set(self.complete("towline", "")), {"run", "where", "info", "tune", "layout", "help", "--help", "--version"})
        self.assertEqual(self.complete("towline", "ru"), ["run"])
        self.assertEqual(self.complete("towline", "help", "i"), ["info"])
        self.assertEqual(self.complete("towline", "info", "--js"), ["--json"])
        self.assertEqual(self.complete("towline", "layout", "double", "--no"), [])
        self.assertEqual(self.complete("towline", "layout", "--no"), ["--no-measure"])
        self.assertEqual(self.complete("towline", "tune", "--output", "da"), ["data.txt"])
        about = help_text.of(TOWLINE, "run")
        self.assertEqual(set(self.complete("towline", "run", "--")), {n for o in about.options for n in o.names if n.startswith("--")})

    def test_run(self):
        run = ("towline", "run")
        self.assertEqual(self.complete(*run, "-n", ""), [])
        self.assertEqual(self.complete(*run, "--heap", ""), ["on", "off"])
        self.assertIn("core", self.complete(*run, "-n", "2", "--bind", "c"))
        self.assertEqual(self.complete(*run, "--stats", "=", "da"), ["data.txt"])
        self.assertEqual(set(self.complete(*run, "--stats", "=")), {"data.txt", "prog ram", "folder"})
        self.assertEqual(self.complete(*run, "-n", "2", "./pr"), ["./prog ram"])
        self.assertIn("bash", self.complete(*run, "-n", "2", "bas"))
        self.assertEqual(set(self.complete(*run, "-n", "2", "--tag", "./prog ram", "")), {"data.txt", "prog ram", "folder"})
        self.assertEqual(self.complete(*run, "-n", "2", "./prog ram", "--he"), [])
        self.assertEqual(self.complete(*run, "-n", "2", "--", "./fold"), ["./folder"])

    def test_where(self):
        self.assertEqual(self.complete("towline", "where", "--he"), ["--help"])
        with self.start(2, "sleep", "60") as job:
            self.assertTrue(harness.wait_until(lambda: str(job.pid) in self.complete("towline", "where", ""), 20))
            job.terminate()
            job.communicate(timeout=20)

    def test_mpiexec(self):
        for name in ("mpiexec", "mpirun"):
            self.assertEqual(self.complete(name, "-n", "2", "-prepend-r"), ["-prepend-rank"])
            self.assertIn("core", self.complete(name, "--bind-to", ""))
            self.assertEqual(self.complete(name, "-wdir", "fol"), ["folder"])
            self.assertEqual(self.complete(name, "-hostfile", "da"), ["data.txt"])
            self.assertEqual(self.complete(name, "-genv", "A", ""), [])
            self.assertEqual(self.complete(name, "-genv", "A", "B", "./pr"), ["./prog ram"])
            self.assertEqual(self.complete(name, "-n", "1", "./prog ram", "--np"), [])
            self.assertIn("-npernode", self.complete(name, "-n", "1", "./prog ram", ":", "-np"))


if __name__ == "__main__":
    harness.main()
