#!/usr/bin/env python3
"""Writes the manual pages and the completion of bash: pages.py BIN OUT VERSION

BIN has the built tools; their --help, docs/settings.md and docs/stats.md are all that the pages say, but for the examples here. OUT gets
man1/*.1 and completions/*.
"""

from __future__ import annotations

import pathlib
import re
import sys

import completion
import help_text
import roff

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = ("run", "where", "info", "tune", "layout")
EXAMPLES = {
    "towline": """\
$ towline run -n 4 ./first              # four processes
$ towline where                         # the jobs that run here
$ towline info                          # what is used of this machine, and why the rest is not""",
    "towline-run": """\
$ towline run -n 4 ./first
$ towline run -n 8 --tag --timeout 30s ./first 100 < input
$ towline run -n 2 --bind core --stats=job.json ./first
$ TOWLINE_ONLOAD=auto towline run -n 4 python3 program.py""",
    "towline-where": """\
$ towline where
$ towline where 4711                    # what each rank of this job waits for""",
    "towline-info": """\
$ towline info
$ towline info --json | jq .kernel""",
    "towline-tune": """\
$ towline tune                          # measures this machine, in under 30 s
$ towline tune --show""",
    "towline-layout": """\
$ towline layout 'vector(512,1,4,double)'
$ towline layout 'subarray([128,128,128],[128,128,1],[0,0,127],double)' 'contiguous(128*128,double)'
$ towline layout --no-measure '100*resized(struct([1,3],[0,8],[int,double]),0,40)'""",
    "mpiexec": """\
$ mpiexec -n 4 ./hello
$ mpiexec -n 1 ./ocean : -n 3 -wdir /data ./atmosphere 100
$ mpiexec -n 4 -genv TOWLINE_LANES off -tag-output ./hello""",
    "mpicc": """\
$ mpicc -O2 hello.c -o hello
$ mpicxx -c part.cpp
$ mpicc -show -c part.c                 # the command that would run""",
}
MACHINE_FILE = ("`~/.config/towline/machine.toml`",
                "sizes that **towline tune** measured on this machine; in `$XDG_CONFIG_HOME`, where that is set, or where `TOWLINE_TUNING` "
                "says")
PRELOADED = ("`libtowline-malloc.so`", "preloaded into the ranks, unless the heap is off: big blocks of `malloc` lie in shared memory then")
DONE = [("0", "success"), ("2", "wrong usage"), ("125", "it could not be done, and a line says why")]
ALIASES = {"mpirun": "mpiexec", "mpicxx": "mpicc", "mpicc_abi": "mpicc", "mpicxx_abi": "mpicc"}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def bold_usage(usage: str, command: str) -> str:
    return f"\\fB{roff.escaped(command)}\\fR{roff.escaped(usage.removeprefix(command))}"


def spelled(option: help_text.Option) -> str:
    """An option as in the help, its names bold."""
    return re.sub(r"(?<![\w-])(--?[A-Za-z][\w-]*)", r"**\1**", option.spelling.replace(",-", ", -"))


def options(about: help_text.Help) -> list[str]:
    out = [".SH OPTIONS"]
    for part in about.sections:
        if part.options and not part.title.startswith(("Options", "Subcommands", "Positionals")):
            out.append(f".SS {roff.escaped(part.title)}")
        if part.options and part.title != "Subcommands":
            out += roff.entries([(spelled(o), o.text) for o in part.options])
        if part.title:
            out += roff.paragraphs(([f"{part.title}:"] if not part.options else []) + part.paragraphs)
    return out


def environment(names: str | None = None) -> list[str]:
    """The settings, or those whose names match."""
    rows = roff.table(read("docs/settings.md"), "| variable | default |")
    return roff.entries([(f"{name} (default: {default})", text) for name, default, text in rows if not names or re.search(names, name)])


def exit_status() -> list[str]:
    return roff.entries([tuple(row) for row in roff.table(read("docs/settings.md"), "| exit code |")])


def part_of_settings(title: str) -> list[str]:
    """A section of docs/settings.md as one of a page, where there is one."""
    settings = read("docs/settings.md")
    if not re.search(rf"^## {re.escape(title)}$", settings, re.M):
        return []
    return [f".SH {title.upper()}", *roff.text(roff.section(settings, title))]


def see_also(name: str) -> list[str]:
    others = ["towline", *(f"towline-{c}" for c in COMMANDS), "mpiexec", "mpicc"]
    return [".SH SEE ALSO", ", ".join(f"\\fB{roff.escaped(o)}\\fR(1)" for o in others if o != name)]


def page(name: str, title: str, usage: list[str], about: list[str], version: str, *more: list[str]) -> str:
    lines = roff.heading(name, 1, title, version) + [".SH SYNOPSIS"]
    lines += [line for one in usage for line in (one, ".br")][:-1]
    lines += [".SH DESCRIPTION", *about]
    for part in more:
        lines += part
    lines += [".SH EXAMPLES", *roff.example(EXAMPLES[name]), *see_also(name)]
    return "\n".join(lines) + "\n"


def towline_page(towline: str, version: str) -> str:
    about = help_text.of(towline)
    commands = [(f"**towline {o.spelling}**", o.text) for o in about.options if not o.spelling.startswith("-")]
    first, *rest = about.paragraphs
    own = [".SH OPTIONS", *roff.entries([(spelled(o), o.text) for o in about.options if o.spelling.startswith("-")])]
    return page("towline", "starts jobs of communicating processes, and looks at them", [bold_usage(about.usage, "towline")],
                [*roff.paragraphs([first]), *roff.entries(commands), *roff.paragraphs(rest)], version, own,
                [".SH EXIT STATUS", *roff.entries(DONE), *roff.paragraphs(["Those of **towline run** are in its page."])],
                [".SH FILES", *roff.entries([MACHINE_FILE, PRELOADED])])


def run_page(towline: str, version: str) -> str:
    about = help_text.of(towline, "run")
    title, *paragraphs = about.paragraphs
    statistics = [(f"`{name}`, {unit}", text) for name, unit, text in
                  ((row[0].strip("`"), row[1], row[2]) for row in roff.table(read("docs/stats.md"), "| counter |"))]
    body = roff.text(roff.section(read("docs/stats.md"), "Counters of a job").partition("| counter |")[0])
    return page("towline-run", title, [bold_usage(about.usage, "towline run")], roff.paragraphs(paragraphs), version, options(about),
                [".SH STATISTICS", *body, *roff.entries(statistics)], [".SH EXIT STATUS", *exit_status()],
                [".SH ENVIRONMENT", *roff.paragraphs(["A value that cannot be used is an error that names the variable."]), *environment()],
                part_of_settings("Debugging"), part_of_settings("Settings in full"),
                [".SH FILES", *roff.entries([MACHINE_FILE, PRELOADED])])


def small_page(towline: str, command: str, version: str, *more: list[str]) -> str:
    about = help_text.of(towline, command)
    title, *paragraphs = about.paragraphs
    described = part_of_settings(f"`towline {command}`")[1:]
    if paragraphs and described:
        more = (*more, [".SH NOTES", *described])
    if paragraphs or not described:
        described = roff.paragraphs(paragraphs or [f"{title[0].upper()}{title[1:]}."])
    return page(f"towline-{command}", title, [bold_usage(about.usage, f"towline {command}")], described, version, options(about),
                [".SH EXIT STATUS", *roff.entries(DONE)], *more)


def mpiexec_page(mpiexec: str, version: str) -> str:
    about = help_text.of(mpiexec)
    told = help_text.of_listed(mpiexec)
    text = " ".join([*(f"{o.spelling} {o.text}" for o in about.options), *(p for s in about.sections for p in s.paragraphs)])
    rest = [f"-{name}" for name in told if not re.search(rf"-{re.escape(name)}(?![\w-])", text) and name != "list-options"]
    also = roff.paragraphs([f"Also accepted, as in other launchers: {', '.join(rest)}."] if rest else [])
    return page("mpiexec", "starts a job of a program that uses MPI", [bold_usage(about.usage, "mpiexec")],
                roff.paragraphs([*about.paragraphs, "It is the launcher of **towline run**, by the options of the MPI standard and those "
                                 "of MPICH and Open MPI; **mpirun** is the same."]), version, options(about) + also,
                [".SH EXIT STATUS", *exit_status()],
                [".SH ENVIRONMENT", *roff.entries([("`MPIEXEC_TIMEOUT`", "as -timeout")]),
                 *roff.paragraphs(["All settings of **towline-run**(1), and what a rank finds:"]),
                 *roff.entries([("`MPI_LOCALRANKID`, `MPI_LOCALNRANKS`", "its rank and how many there are"),
                                ("`MPI_APPNUM`", "the number of its program among those that a ':' separates")])],
                [".SH FILES", *roff.entries([MACHINE_FILE, PRELOADED])])


def mpicc_page(folder: pathlib.Path, version: str) -> str:
    about = help_text.of(str(folder / "mpicc"))
    usages = [about.usage, help_text.of(str(folder / "mpicxx")).usage]
    return page("mpicc", "compiles and links programs that use MPI", [bold_usage(u, u.split()[0]) for u in usages],
                roff.paragraphs(about.paragraphs + ["**mpicc_abi** and **mpicxx_abi** are the same."]), version, options(about),
                [".SH EXIT STATUS", "That of the compiler."],
                [".SH ENVIRONMENT", *roff.entries([("`MPICC_CC`, `MPICXX_CXX`", "the compiler, not the one that Towline was built with"),
                                                   ("`LD_LIBRARY_PATH`", "of a program: where another library of the MPI standard ABI is "
                                                    "looked for before ours")])],
                [".SH FILES", *roff.entries([("`libmpi_abi.so.1`", "the library: the MPI standard ABI"), ("`mpi.h`", "its header"),
                                             ("`towline-mpi.pc`", "the same flags for **pkg-config**")])])


def pages(folder: pathlib.Path, version: str) -> dict[str, str]:
    towline, mpiexec = str(folder / "towline"), str(folder / "mpiexec")
    machine = [".SH FILES", *roff.entries([MACHINE_FILE])]
    all_pages = {
        "towline": towline_page(towline, version),
        "towline-run": run_page(towline, version),
        "towline-where": small_page(towline, "where", version),
        "towline-info": small_page(towline, "info", version, machine),
        "towline-tune": small_page(towline, "tune", version, [".SH ENVIRONMENT", *environment("TOWLINE_TUNING|XPMEM")], machine),
        "towline-layout": small_page(towline, "layout", version, [".SH ENVIRONMENT", *environment("TOWLINE_LAYOUT")]),
        "mpiexec": mpiexec_page(mpiexec, version),
        "mpicc": mpicc_page(folder, version),
    }
    all_pages.update({alias: f".so man1/{name}.1\n" for alias, name in ALIASES.items()})
    return all_pages


def main(arguments: list[str]) -> int:
    if len(arguments) != 3:
        print(__doc__)
        return 2
    folder, out, version = pathlib.Path(arguments[0]), pathlib.Path(arguments[1]), arguments[2]
    files = {out / "man1" / f"{name}.1": text for name, text in pages(folder, version).items()}
    files.update({out / "completions" / name: text for name, text in completion.scripts(folder).items()})
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
