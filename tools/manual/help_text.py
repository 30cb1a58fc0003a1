"""Reads what `towline COMMAND --help` and `mpiexec --help` print: manual pages and the completion of the shell say what the help says."""

from __future__ import annotations

import dataclasses
import re
import subprocess


@dataclasses.dataclass
class Option:
    spelling: str  # as the help writes it: "-n,--ranks N", "-n, -np, -c N", "JOB TEXT"
    text: str = ""

    @property
    def names(self) -> list[str]:
        return re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", self.spelling)

    @property
    def value(self) -> str:
        """What stands behind the names: "N", "core|none", "NAME VALUE", "[=FILE]"; empty if nothing does."""
        return re.sub(r"^.*(?<![\w-])--?[A-Za-z][\w-]*(\[=\w+\])?", r"\1", self.spelling).strip()


@dataclasses.dataclass
class Section:
    title: str  # "Options", "Of the whole job"; empty for paragraphs
    options: list[Option] = dataclasses.field(default_factory=list)
    paragraphs: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Help:
    usage: str
    sections: list[Section]

    @property
    def options(self) -> list[Option]:
        return [o for s in self.sections for o in s.options]

    @property
    def paragraphs(self) -> list[str]:
        """What stands outside of lists of options."""
        return [p for s in self.sections if not s.title for p in s.paragraphs]


def parse(text: str) -> Help:
    usage = ""
    sections = [Section("")]
    ends_paragraph = True
    for line in text.splitlines():
        section = sections[-1]
        entry = re.match(r"  (\S(?:\S| (?! ))*)(?:  +(.*))?$", line)
        if not line.strip():
            if section.title or section.paragraphs:
                sections.append(Section(""))
            ends_paragraph = True
        elif line.startswith("Usage: "):
            usage = line.removeprefix("Usage: ")
            ends_paragraph = True
        elif line.endswith(":") and not line.startswith(" "):
            sections.append(Section(line[:-1]))
        elif entry and section.title and not section.paragraphs:
            section.options.append(Option(entry[1], entry[2] or ""))
        elif line.startswith("   ") and section.options:
            section.options[-1].text = f"{section.options[-1].text} {line.strip()}".strip()
        else:
            if ends_paragraph or not section.paragraphs:
                section.paragraphs.append(line.strip())
            else:
                section.paragraphs[-1] += f" {line.strip()}"
            ends_paragraph = False
    return Help(usage, [s for s in sections if s.options or s.paragraphs])


def of(*command: str) -> Help:
    """The help of a command, which this runs."""
    return parse(subprocess.run([*command, "--help"], check=True, capture_output=True, text=True).stdout)


def of_listed(mpiexec: str) -> dict[str, int]:
    """Every option that mpiexec accepts, without dashes, and how many values it has."""
    listed = subprocess.run([mpiexec, "--list-options"], check=True, capture_output=True, text=True).stdout
    return {name: int(count) for name, count in (line.split() for line in listed.splitlines())}
