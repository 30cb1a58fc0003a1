"""What of MPI is built, by functions.table: the table in docs/mpi.md and a sentence in README.md, between marks that readers do not see."""

from __future__ import annotations

import pathlib
import re
import textwrap

import table

BEGIN, END = "<!-- written by src/mpi/generate.py: begin -->", "<!-- end -->"


def sentence(chapters: list[table.Chapter]) -> str:
    functions = [f for c in chapters for f in c.functions]
    lacks = []  # chapters of which nothing is there, and parts of the others
    for chapter in chapters:
        parts = [(re.sub(r"^\d+ ", "", chapter.title).lower(), chapter.functions)]
        if any(f.built for f in chapter.functions):
            parts = [(title, part) for title, part in chapter.sections if title]
        lacks += [title for title, part in parts if not any(f.built for f in part)]
    text = (f"{sum(f.built for f in functions)} of the {len(functions)} functions of the MPI 5.0 ABI are implemented"
            f"{'. Not yet: ' if lacks else ''}{'; '.join(lacks)}.")
    return textwrap.fill(text, 140)


def rows(chapters: list[table.Chapter]) -> str:
    """A row a chapter, then those functions that are missing. A function and its large-count form count as one."""
    out = ["| chapter of the standard | functions | implemented | not yet |", "|---|---:|---:|---:|"]
    counts = [(c.title, len(c.functions), sum(f.built for f in c.functions)) for c in chapters]
    counts.append(("all", sum(n for _, n, _ in counts), sum(n for _, _, n in counts)))
    out += [f"| {title} | {there + missing} | {there} | {missing or ''} |" for title, there, missing in
            ((title, built, total - built) for title, total, built in counts)]
    for chapter in chapters:
        lacks = [(title, [f"`MPI_{f.name}`" for f in functions if not f.built]) for title, functions in chapter.sections]
        if any(names for _, names in lacks):
            out += ["", f"Not yet of {chapter.title}:", ""]
            out += [f"- {f'{title}: ' if title else ''}{', '.join(names)}" for title, names in lacks if names]
    return "\n".join(out)


def filled(text: str, path: pathlib.Path, content: str) -> str:
    """The text with other content between its marks."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise table.TableError(f"{path}: '{BEGIN}' and '{END}' are expected, once each")
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n{content}\n{END}{rest.partition(END)[2]}"


def files(root: pathlib.Path, chapters: list[table.Chapter]) -> dict[str, str]:
    """The two files as they should be."""
    contents = {"README.md": sentence(chapters), "docs/mpi.md": rows(chapters)}
    return {name: filled((root / name).read_text(encoding="utf-8"), root / name, content) for name, content in contents.items()}
