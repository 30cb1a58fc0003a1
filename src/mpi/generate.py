#!/usr/bin/env python3
"""Makes C and C++ of functions.table.

generate.py headers DIR          writes mpi_functions.h and mpi_profiling.h (committed, in include/)
generate.py headers DIR --check  exit 1 if those in DIR are not what it would write
generate.py entries DIR          writes mpi/calls.hpp, names.cpp and one entries_CHAPTER.cpp a chapter (built into libmpi_abi)
generate.py entries DIR --list   prints the names of the files it would write, separated by semicolons
generate.py coverage ROOT        writes what is built into ROOT's README.md and docs/mpi.md (committed); --check as above
"""

from __future__ import annotations

import pathlib
import re
import sys
import textwrap

import coverage
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


# ---- entry points ----

GENERATED = "// Written by src/mpi/generate.py from src/mpi/functions.table.\n"


def returns_code(function: table.Function) -> bool:
    return function.returns == "int" and not function.name.endswith("_toint")


def is_tool(function: table.Function) -> bool:
    return function.name.startswith("T_")


def plain(function: table.Function) -> bool:
    """Calls straight through: no error handler."""
    return is_tool(function) or not returns_code(function)


def is_wide(parameter: table.Parameter) -> bool:
    return parameter.array and bool(parameter.kind.large)


def call_declaration(function: table.Function) -> str:
    arguments = [f"wide_array {p.name}" if is_wide(p) else p.declaration(True) for p in function.parameters]
    arguments += ["bool large"] * function.told_form
    returns = function.returns if plain(function) else "void"
    return wrapped(f"{returns} {function.call}({', '.join(arguments)}){' noexcept' if plain(function) else ''};")


def calls_header(kinds: dict[str, table.Kind], chapters: list[table.Chapter]) -> str:
    names = dict.fromkeys(enumerator(k) for k in kinds.values())
    out = ["#pragma once",
           GENERATED + "// What src/mpi/ defines: a function per function of MPI, with the types of its large-count form. It",
           "// throws mpi::failure (mpi/failure.hpp) where MPI's function returns an error.", "", "#include \"mpi/abi.hpp\"",
           "#include \"mpi/wide_array.hpp\"", "", "#include <cstdint>", "", "namespace towline::mpi {", "",
           "/// What a parameter is; [kinds] in the table.",
           textwrap.fill(f"enum class kind : std::uint8_t {{ {', '.join(names)} }};", WIDTH,
                         subsequent_indent="    "), "", "namespace calls {"]
    for chapter in chapters:
        built = [call_declaration(f) for f in chapter.functions if f.built]
        if built:
            out += ["", f"// {chapter.title}", *built]
    out += ["", "} // namespace calls", "} // namespace towline::mpi", ""]
    return "\n".join(out)


def enumerator(kind: table.Kind) -> str:
    return "callback" if kind.is_callback else "integer" if kind.name == "int" else kind.name


def description(function: table.Function) -> str:
    if not function.parameters:
        return ""
    directions = {"": "in", ">": "out", "=": "inout"}
    rows = [f'{{"{p.name}", kind::{enumerator(p.kind)}, direction::{directions[p.direction]}, {str(p.array).lower()}}},'
            for p in function.parameters]
    return "\n".join([f"constexpr parameter {function.call}_parameters[] = {{", *(f"    {row}" for row in rows), "};", ""])


def null_output(p: table.Parameter) -> str | None:
    """The statement that gives an output of a function that is not built its null value; arrays and buffers have none."""
    if p.direction != ">" or p.array or p.kind.null is None:
        return None
    if p.kind.name == "status":
        return f"set_empty({p.name});"
    if p.kind.name in ("attribute", "address"):
        return f"set_null(static_cast<void**>({p.name}), static_cast<void*>(nullptr));"
    return f"set_null({p.name}, {chr(39) + chr(92) + '0' + chr(39) if p.kind.name == 'string' else p.kind.null});"


def is_required(function: table.Function, p: table.Parameter) -> bool:
    """A pointer that may not be null. Arrays may be where they are empty, buffers as MPI_BOTTOM, strings where a length of 0 asks for
    the length."""
    if p.kind.name == "string" and p.direction == ">":
        return not any(other.direction == "=" and other.kind.name == "int" for other in function.parameters)
    if p.array or p.kind.name in ("buffer", "memory", "state", "argv", "argvs", "argcp", "argvp", "triples") or p.kind.is_callback:
        return False
    if p.kind.name == "status":
        return p.direction != ">"
    if p.kind.name == "attribute":
        return bool(p.direction)
    return bool(p.direction) or p.kind.name in ("string", "f08_status")


def body(function: table.Function) -> list[str]:
    """Statements inside the try block of a function that is built."""
    out = [] if function.anytime else ["enter();"]
    out += [f"require({p.name}, \"{p.name}\");" for p in function.parameters if is_required(function, p)]
    # What a call makes is null where the call fails. Not of datatypes: one may lie in the array that it is made of.
    out += [f"*{p.name} = {p.kind.null};" for p in function.parameters
            if p.kind.name in ("comm", "group") and p.direction == ">" and not p.array]
    arguments, after = [], []
    for p in function.parameters:
        converts = p.kind.large and not function.large and p.direction and not p.array
        if converts:
            out.append(f"{p.kind.large} {p.name}_large = {'*' + p.name if p.direction == '=' else '0'};")
            after.append(f"*{p.name} = narrowed<{p.kind.ctype}>({p.name}_large);")
            arguments.append(f"&{p.name}_large")
        else:
            arguments.append(p.name)
    arguments += [str(function.large).lower()] * function.told_form
    return out + [wrapped(f"calls::{function.call}({', '.join(arguments)});")] + after


def entry(function: table.Function) -> str:
    about = f'{{"{function.cname}", {f"{function.call}_parameters" if function.parameters else "{}"}}}'
    words = f"{{{', '.join(p.name for p in function.parameters)}}}"
    alias = wrapped(f"[[gnu::weak, gnu::alias(\"P{function.cname}\")]] {function.prototype()};")
    out = [alias, wrapped(function.prototype("P")), "{"]
    if function.built and plain(function):
        out += [f"    return calls::{function.call}({', '.join(p.name for p in function.parameters)});"]
    elif function.built:
        out += ["    try {", *(textwrap.indent(line, "        ") for line in body(function)), "        return MPI_SUCCESS;",
                "    } catch (...) {", f"        return failed({about}, {words});", "    }"]
    elif is_tool(function) or not returns_code(function):
        raise table.TableError(f"{function.cname} has no error handler to call: build it")
    else:
        nulls = [null for p in function.parameters if (null := null_output(p))]
        out += [f"    {null}" for null in nulls] + [f"    return unsupported({about}, {words});"]
    return "\n".join(out + ["}", ""])


def undefined(chapter: table.Chapter) -> list[str]:
    """Names of the chapter that mpi.h also defines as macros."""
    if chapter.name not in table.BEYOND_THE_ABI:
        return []
    return ["// mpi.h has macros of some of these names.", *(f"#undef {f.cname}" for f in chapter.functions), ""]


def entries(chapter: table.Chapter) -> str:
    out = [GENERATED + f"// {chapter.title}: the entry points.", "", "#include \"mpi/calls.hpp\"", "#include \"mpi/entry.hpp\"", "",
           *undefined(chapter), "namespace {", "", "using namespace towline::mpi;", ""]
    out += [description(f) for f in chapter.functions if not (f.built and plain(f))]
    out += ["} // namespace", "", "extern \"C\" {", ""]
    for function in chapter.functions:
        out += [entry(form) for form in table.forms(function)]
    return "\n".join(out + ["} // extern \"C\"", ""])


# ---- names ----

def names_source(mpi_h: str) -> str:
    """The names of predefined handles and of error classes, from the constants in mpi.h."""
    handles = re.findall(r"#define (MPI_\w+)\s+\(\(MPI_\w+\)(0x[0-9a-f]+)\)", mpi_h)
    classes = re.findall(r"\b(MPI_(?:SUCCESS|(?:T_)?ERR_\w+)) = (\d+)", mpi_h)
    if len(handles) < 80 or len(classes) < 80:
        raise table.TableError("mpi.h does not look as it did: its constants are not found")
    return "\n".join([GENERATED.replace("functions.table", "mpi.h"), '#include "mpi/handles.hpp"', "", "namespace towline::mpi {", "",
                      "char const* predefined_name(std::uint64_t handle) noexcept", "{", "    switch (handle) {",
                      *(f'    case {value}: return "{name}";' for name, value in handles), "    default: return nullptr;", "    }", "}", "",
                      "char const* error_class_name(int error_class) noexcept", "{", "    switch (error_class) {",
                      *(f'    case {value}: return "{name}";' for name, value in classes), "    default: return nullptr;", "    }", "}", "",
                      "} // namespace towline::mpi", ""])


# ---- the command ----

def write(folder: pathlib.Path, files: dict[str, str]) -> None:
    """Leaves alone what is the same, so that nothing is compiled again for it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def main(arguments: list[str]) -> int:
    kinds, chapters = table.read()
    what, folder, *options = arguments
    if what in ("headers", "coverage"):
        files = headers(chapters) if what == "headers" else coverage.files(pathlib.Path(folder), chapters)
        if "--check" not in options:
            write(pathlib.Path(folder), files)
            return 0
        stale = [name for name, text in files.items() if (pathlib.Path(folder) / name).read_text() != text]
        if stale:
            folder = "include" if what == "headers" else "."
            print(f"{', '.join(stale)}: not what functions.table says; run src/mpi/generate.py {what} {folder}")
        return 1 if stale else 0
    if what == "entries":
        names = {f"entries_{c.name}.cpp": c for c in chapters}
        if "--list" in options:
            print(";".join(["mpi/calls.hpp", "names.cpp", *names]), end="")
        else:
            mpi_h = (table.TABLE.parents[2] / "include" / "mpi.h").read_text()
            write(pathlib.Path(folder), {"names.cpp": names_source(mpi_h)})
            write(pathlib.Path(folder) / "mpi", {"calls.hpp": calls_header(kinds, chapters)})
            write(pathlib.Path(folder), {name: entries(c) for name, c in names.items()})
        return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
