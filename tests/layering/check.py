#!/usr/bin/env python3
"""Checks the house's rules on includes: a folder includes from the floors below it and from itself only.

Usage: check.py ROOT            exit 1 and one line per offence
       check.py ROOT --self-test   proves that the check can fail
"""

import pathlib
import re
import sys

# Floors, as in CONTRIBUTING.md: folder under src/ (or tools) -> floor. Same floor: only the pairs in NEIGHBOURS.
FLOOR = {"base": 1, "layout": 2, "archive": 2, "job": 2, "heap": 2, "transport": 3, "onload": 3, "engine": 4,
         "matching": 5, "collective": 6, "remote": 7, "mpi": 7, "tools": 8}
NEIGHBOURS = {("heap", "job")}  # the heap lives in the job's file
# Public headers belong to a floor too; the longest matching prefix counts. Everything else is of the remote-call face.
PUBLIC = {"error": "base", "version": "base", "archive": "archive", "serialize_buffer": "archive", "borrow": "archive",
          "detail/archive": "archive", "detail/member": "archive", "detail/language": "base", "rma_allocator": "heap"}
PURE = {"archive", "layout"}  # no I/O, no globals: these headers are not for them
IMPURE = re.compile(r"<(fstream|iostream|cstdio|filesystem>.*ifstream|thread|mutex|unistd\.h|sys/.*|fcntl\.h)>")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)


def room_of_public(name: str) -> str:
    best = max((p for p in PUBLIC if name.startswith(p)), key=len, default=None)
    return PUBLIC[best] if best else "remote"


def room_of_file(path: pathlib.Path, root: pathlib.Path) -> str | None:
    parts = path.relative_to(root).parts
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[0] == "tools":
        return "tools"
    if parts[:2] == ("include", "towline"):
        return room_of_public("/".join(parts[2:]))
    return None


def room_of_include(quote: str, name: str) -> str | None:
    if name.startswith("towline/"):
        return room_of_public(name.removeprefix("towline/"))
    first = name.split("/")[0]
    return first if quote == '"' and "/" in name and first in FLOOR else None


def offences(root: pathlib.Path, files: dict[pathlib.Path, str]) -> list[str]:
    found = []
    for path, text in sorted(files.items()):
        room = room_of_file(path, root)
        if room is None:
            continue
        where = path.relative_to(root)
        if room not in FLOOR:
            found.append(f"{where}: folder '{room}' stands on no floor; add it to FLOOR")
            continue
        public = where.parts[0] == "include"
        if public and len(text.splitlines()) > 300:
            found.append(f"{where}: a public header of {len(text.splitlines())} lines; at most 300, one idea each")
        for quote, name in INCLUDE.findall(text):
            other = room_of_include(quote, name)
            if public and quote == '"':
                found.append(f"{where}: a public header includes \"{name}\"; it must be self-contained: <towline/...>")
            if other is None or other == room or (room, other) in NEIGHBOURS:
                continue
            if FLOOR[other] >= FLOOR[room]:
                found.append(f"{where}: '{room}' (floor {FLOOR[room]}) includes {name} of '{other}' (floor {FLOOR[other]})")
        if room in PURE:
            for match in IMPURE.finditer(text):
                found.append(f"{where}: '{room}' is pure and includes {match.group(0)}")
    return found


def read(root: pathlib.Path) -> dict[pathlib.Path, str]:
    folders = [root / "src", root / "include", root / "tools"]
    return {p: p.read_text() for f in folders for p in f.rglob("*") if p.suffix in {".hpp", ".cpp", ".h", ".c"}}


def self_test(root: pathlib.Path) -> list[str]:
    bad = {"src/base/a.cpp": '#include "engine/engine.hpp"\n', "src/heap/a.cpp": '#include "archive/a.hpp"\n',
           "include/towline/archive_x.hpp": "#include <towline/world.hpp>\n", "include/towline/y.hpp": "\n" * 301,
           "src/archive/b.cpp": "#include <thread>\n", "include/towline/z.hpp": '#include "base/log.hpp"\n'}
    missed = [name for name, text in bad.items() if not offences(root, {root / name: text})]
    good = {"src/heap/a.cpp": '#include "job/job.hpp"\n', "src/engine/b.cpp": '#include "transport/transport.hpp"\n'}
    wrong = [name for name, text in good.items() if offences(root, {root / name: text})]
    return [f"self-test: {n} was not caught" for n in missed] + [f"self-test: {n} was refused" for n in wrong]


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    found = self_test(root) if "--self-test" in sys.argv else offences(root, read(root))
    print("\n".join(found) if found else "layering: every include goes down")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
