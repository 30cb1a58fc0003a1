"""Reads functions.table: every function of the MPI standard ABI with its parameters. The file's head describes the format."""

from __future__ import annotations

import dataclasses
import pathlib
import re

TABLE = pathlib.Path(__file__).with_name("functions.table")


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    ctype: str
    large: str | None  # its type in the _c form, where it differs
    null: str | None   # what an output gets where the function is not built

    @property
    def is_callback(self) -> bool:
        return self.name[0].isupper()


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    kind: Kind
    direction: str  # "", ">" (out) or "=" (in and out)
    array: bool

    def declaration(self, large: bool) -> str:
        """As in C."""
        base = self.kind.large if large and self.kind.large else self.kind.ctype
        if self.kind.name in ("argv", "argvs", "triples"):
            head, brackets = re.fullmatch(r"(.*?) ?((?:\[\d*\])+)", base).groups()
            return f"{head} {self.name}{brackets}".replace("*" + " ", "*")
        if base.endswith("*"):  # callbacks, and pointers that are values
            return f"{base.replace(' *', '*')} {self.name}"
        const = "" if self.direction else "const "
        if self.array:
            return f"{const}{base} {self.name}[]"
        if self.direction or self.kind.name in ("buffer", "string", "status", "f08_status"):
            return f"{const}{base}* {self.name}"
        return f"{base} {self.name}"


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    parameters: tuple[Parameter, ...]
    returns: str
    built: bool
    anytime: bool          # before MPI_Init and after MPI_Finalize, too
    told_form: bool        # the call gets to know whether this is the _c form
    variadic: bool
    deprecated: str | None
    large: bool = False    # this is the _c form

    @property
    def polymorphic(self) -> bool:
        return any(p.kind.large for p in self.parameters)

    @property
    def cname(self) -> str:
        return f"MPI_{self.name}{'_c' if self.large else ''}"

    @property
    def call(self) -> str:
        """The name of what is built by hand, in towline::mpi::calls."""
        return self.name.lower()

    def prototype(self, prefix: str = "") -> str:
        arguments = [p.declaration(self.large) for p in self.parameters] + ["..."] * self.variadic
        return f"{self.returns} {prefix}{self.cname}({', '.join(arguments) or 'void'})"


@dataclasses.dataclass
class Chapter:
    name: str
    title: str
    sections: list[tuple[str, list[Function]]]

    @property
    def functions(self) -> list[Function]:
        return [f for _, functions in self.sections for f in functions]


BEYOND_THE_ABI = ("removed", "fortran")  # chapters


class TableError(Exception):
    pass


def forms(function: Function) -> list[Function]:
    """The function, and its _c form where it has one."""
    return [function, dataclasses.replace(function, large=True)] if function.polymorphic else [function]


def _parameter(text: str, kinds: dict[str, Kind]) -> Parameter:
    match = re.fullmatch(r"([>=]?)(\w+)(?::(\w+))?(\[\])?", text)
    if not match:
        raise TableError(f"'{text}' is no parameter")
    direction, name, kind, array = match.groups()
    kind = kind or name
    if kind not in kinds:
        raise TableError(f"'{text}': there is no kind '{kind}'")
    return Parameter(name, kinds[kind], direction, bool(array))


def _function(line: str, kinds: dict[str, Kind]) -> Function:
    line, _, comment = line.partition("#")
    since = re.fullmatch(r"\s*since (MPI-\d\.\d)\s*", comment) if comment else None
    if comment and not since:
        raise TableError(f"'#{comment}' is not '# since MPI-n.n'")
    body, _, returns = line.partition("->")
    marks, (name, *parameters) = body[:3], body[3:].split()
    if not re.fullmatch(r"[+.][!2 ] ", marks):
        raise TableError(f"the first columns are '{marks}'")
    variadic = parameters[-1:] == ["..."]
    return Function(name, tuple(_parameter(p, kinds) for p in parameters[:len(parameters) - variadic]), returns.strip() or "int",
                    marks[0] == "+", marks[1] == "!", marks[1] == "2", variadic, since and since[1])


def parse(text: str) -> tuple[dict[str, Kind], list[Chapter]]:
    kinds: dict[str, Kind] = {}
    chapters: list[Chapter] = []
    joined: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.rstrip()
        if line.startswith(" ") and joined:
            joined[-1] = (joined[-1][0], f"{joined[-1][1]} {line.strip()}")
        elif line and not line.startswith("#"):
            joined.append((number, line))
    in_kinds = False
    for number, line in joined:
        try:
            if line.startswith("["):
                match = re.fullmatch(r"\[(\w+)\] ?(.*)", line)
                if not match:
                    raise TableError(f"'{line}' is no heading")
                in_kinds = match[1] == "kinds"
                if not in_kinds:
                    chapters.append(Chapter(match[1], match[2], []))
            elif in_kinds:
                name, ctype, large, *null = re.split(r"\s{2,}", re.sub(r"^(\S+) ", r"\1  ", line))
                kinds[name] = Kind(name, ctype, None if large == "-" else large, null[0] if null else None)
            elif line.startswith("--"):
                chapters[-1].sections.append((line.strip("- "), []))
            else:
                if not chapters[-1].sections:
                    chapters[-1].sections.append(("", []))
                chapters[-1].sections[-1][1].append(_function(line, kinds))
        except (TableError, AttributeError, IndexError, ValueError) as error:
            raise TableError(f"{TABLE.name}:{number}: {error}") from error
    names = [f.cname for c in chapters for g in c.functions for f in forms(g)]
    if len(names) != len(set(names)):
        raise TableError(f"{TABLE.name}: named twice: {sorted({n for n in names if names.count(n) > 1})}")
    return kinds, chapters


def read() -> tuple[dict[str, Kind], list[Chapter]]:
    return parse(TABLE.read_text())
