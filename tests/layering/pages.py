#!/usr/bin/env python3
"""Checks that what the pages on the house name is there: each `path/file.ext`, and each `function` or `class::function`.

Usage: pages.py ROOT               exit 1 and one line per name that is nowhere
       pages.py ROOT --self-test   proves that the check can fail

A name in backticks is a path if it has a slash and an ending; it is looked for from the root and beside the page. It is code if it is made
of small letters and underscores, with `::` between them: its last part must be declared or defined somewhere in src/, include/ or tools/, in
a file that also has the parts before it as words. Names of one word are looked up only where they have an underscore (others are prose).
"""

import pathlib
import re
import sys

PAGES = ("docs/architecture.md", "docs/paths.md", "docs/glossary.md")
CODE = re.compile(r"[a-z_][a-z0-9_]*(::[a-z_][a-z0-9_]*)*")
PATH = re.compile(r"[\w./-]+/[\w.-]*\.\w+|[\w./-]+/")


def names_of(text: str) -> list[str]:
    text = re.sub(r"^(    .*|```[\s\S]*?```)$", "", text, flags=re.M)
    return re.findall(r"`([^`\n]+)`", text)


def links_of(text: str) -> list[str]:
    return [t.split("#")[0] for t in re.findall(r"\]\(([^)]+)\)", text) if "://" not in t and not t.startswith("#")]


class tree:
    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        folders = [root / f for f in ("src", "include", "tools")]
        self.words = {p: set(re.findall(r"\w+", p.read_text(errors="replace")))
                      for f in folders for p in f.rglob("*") if p.suffix in {".hpp", ".cpp", ".h", ".in", ".py"}}
        self.counters = set(re.findall(r"X\((\w+),", (root / "src/job/counters.hpp").read_text()))

    def has_path(self, page: pathlib.Path, name: str) -> bool:
        return (self.root / name).exists() or (page.parent / name).exists()

    def has_code(self, name: str) -> bool:
        parts = name.split("::")
        declared = re.compile(rf"\b{parts[-1]}\b\s*(\(|\{{|;|=|final|:)|\b(struct|class|enum class|namespace) (\w+\(\d+\) )?{parts[-1]}\b")
        return any(all(p in words for p in parts) and declared.search(path.read_text(errors="replace"))
                   for path, words in self.words.items())


def offences(there: tree, page: pathlib.Path, text: str) -> list[str]:
    found = [f"{page.name}: there is no {link}" for link in links_of(text) if not (page.parent / link).exists()]
    for name in sorted(set(names_of(text))):
        if PATH.fullmatch(name):
            if not there.has_path(page, name):
                found.append(f"{page.name}: there is no {name}")
        elif CODE.fullmatch(name) and ("_" in name or "::" in name) and name not in there.counters:
            if not name.startswith(("std::", "towline::", "program_")) and not there.has_code(name):
                found.append(f"{page.name}: nothing in src/, include/ or tools/ is called {name}")
    return found


def self_test(there: tree) -> list[str]:
    page = there.root / PAGES[0]
    bad = ["`src/engine/pulls.cpp`", "`engine::impl::no_such`", "`base::idle_strategy`", "[x](nowhere.md)", "`no_such_function`"]
    good = ["`src/engine/send.cpp`", "`engine::try_send_tiny`", "`copy_together`", "[x](wire.md)", "`nonsense`", "`bytes_inline`"]
    return [f"self-test: {t} was not caught" for t in bad if not offences(there, page, t)] + \
           [f"self-test: {t} was refused" for t in good if offences(there, page, t)]


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    there = tree(root)
    if "--self-test" in sys.argv:
        found = self_test(there)
    else:
        found = [line for name in PAGES for line in offences(there, root / name, (root / name).read_text())]
    print("\n".join(found) if found else "pages: all that they name is there")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
