#!/usr/bin/env python3
"""Makes C of functions.table.

generate.py headers DIR          writes mpi_functions.h and mpi_profiling.h (committed, in include/)
generate.py headers DIR --check  exit 1 if those in DIR are not what it would write
"""

from __future__ import annotations

import pathlib
import sys
import textwrap

import table

WIDTH = 140


def wrapped(text: str) -> str:
    """Breaks a prototype or a call between its arguments; what continues stands under the first."""
    if len(text) <= WIDTH:
        return text
    head, _, arguments = text.partition("(")
    words = [argument.replace(" ", "\0") for argument in arguments.split(", ")]
    return textwrap.fill(f"{head.replace(' ', chr(0))}({', '.join(words)}", WIDTH, subsequent_indent=" " * (len(head) + 1),
                         break_long_words=False, break_on_hyphens=False).replace("\0", " ")


# ---- headers ----

def header(chapters: list[table.Chapter], prefix: str, guard: str, about: str) -> str:
    out = [f"/* {about}\n * Written by src/mpi/generate.py from src/mpi/functions.table; included by mpi.h. */",
           f"#ifndef {guard}\n#define {guard}\n", "#ifdef __cplusplus\nextern \"C\" {\n#endif"]
    for chapter in chapters:
        out.append(f"\n/* ---- {chapter.title} */")
        for title, functions in chapter.sections:
            out.append(f"\n/* {title} */" if title else "")
            for function in functions:
                for form in table.forms(function):
                    note = f"  /* since {form.deprecated} */" if form.deprecated else ""
                    out.append(wrapped(form.prototype(prefix) + ";") + note)
    out.append("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
    return "\n".join(out)


def headers(chapters: list[table.Chapter]) -> dict[str, str]:
    return {"mpi_functions.h": header(chapters, "", "MPI_FUNCTIONS_H_TOWLINE", "The functions of MPI, chapter by chapter."),
            "mpi_profiling.h": header(chapters, "P", "MPI_PROFILING_H_TOWLINE",
                                      "The twins of MPI's functions (15.2): a tool that defines MPI_X calls PMPI_X.")}


# ---- the command ----

def write(folder: pathlib.Path, files: dict[str, str]) -> None:
    """Leaves alone what is the same, so that nothing is compiled again for it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def main(arguments: list[str]) -> int:
    _, chapters = table.read()
    what, folder, *options = arguments
    if what == "headers":
        files = headers(chapters)
        if "--check" not in options:
            write(pathlib.Path(folder), files)
            return 0
        stale = [name for name, text in files.items() if (pathlib.Path(folder) / name).read_text() != text]
        if stale:
            print(f"{', '.join(stale)}: not what functions.table says; run src/mpi/generate.py headers include")
        return 1 if stale else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
