"""Manual pages: the macros of man(7), and the little of Markdown that docs/ uses as them."""

from __future__ import annotations

import re


def escaped(text: str) -> str:
    names = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}
    text = "".join(names.get(c, c) for c in text)
    return re.sub(r"^(?=\.)", r"\\&", text)


def inline(text: str) -> str:
    """Code and strong words become bold, stressed words and links plain; everything else is as it is."""
    out = []
    for part in re.split(r"(`[^`]+`|\*\*[^*]+\*\*|(?<!\w)\*[^* ][^*]*\*(?!\w)|\[[^]]+\]\([^)]+\))", text):
        if part.startswith("`") and part.endswith("`") and len(part) > 1:
            out.append(f"\\fB{escaped(part[1:-1])}\\fR")
        elif part.startswith("**") and len(part) > 4:
            out.append(f"\\fB{escaped(part[2:-2])}\\fR")
        elif part.startswith("*") and part.endswith("*") and len(part) > 2:
            out.append(f"\\fI{escaped(part[1:-1])}\\fR")
        elif link := re.fullmatch(r"\[([^]]+)\]\([^)]+\)", part):
            out.append(escaped(link[1].strip("`")))
        else:
            out.append(escaped(part))
    return re.sub(r"^(?=[.'])", r"\\&", "".join(out))


def heading(name: str, section: int, title: str, version: str) -> list[str]:
    return [f".TH {name.upper().replace('-', chr(92) + '-')} {section} \"\" \"Towline {version}\" \"Towline\"", ".nh", ".ad l",
            ".SH NAME", f"{escaped(name)} \\- {escaped(title)}"]


def paragraphs(texts: list[str]) -> list[str]:
    return [line for text in texts for line in (".PP", inline(text))]


def entries(pairs: list[tuple[str, str]]) -> list[str]:
    """A list of terms, which are Markdown, and what they mean."""
    return [line for term, text in pairs for line in (".TP", inline(term), inline(text) if text else "\\&")]


def example(text: str) -> list[str]:
    return [".PP", ".in +4n", ".nf", *(inline(line) or "" for line in text.splitlines()), ".fi", ".in"]


# ---- Markdown ----

def table(markdown: str, head: str) -> list[list[str]]:
    """The rows of the table whose head row begins so."""
    rows = []
    found = False
    for line in markdown.splitlines():
        if line.startswith(head):
            found = True
        elif found and not line.startswith("|"):
            break
        elif found and not re.fullmatch(r"[|: -]+", line):
            rows.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])])
    if not rows:
        raise ValueError(f"there is no table that begins with '{head}'")
    return rows


def section(markdown: str, title: str) -> str:
    """The text below a heading, up to the next of its level."""
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^\1 |\Z)", markdown, re.M | re.S)
    if not found:
        raise ValueError(f"there is no heading '{title}'")
    return found[2]


def text(markdown: str) -> list[str]:
    """Paragraphs, examples that are indented by four, and tables of two columns or three."""
    out: list[str] = []
    for block in re.split(r"\n\s*\n", markdown.strip("\n")):
        lines = block.splitlines()
        if all(line.startswith("    ") for line in lines):
            out += example("\n".join(line[4:] for line in lines))
        elif lines[0].startswith("|"):
            rows = table(block, lines[0])
            out += entries([(row[0], "; ".join(cell for cell in row[1:] if cell)) for row in rows])
        elif lines[0].startswith("- "):
            for item in re.split(r"^- ", block, flags=re.M)[1:]:
                out += [".IP \\(bu 2", inline(" ".join(item.split()))]
        elif lines[0].startswith("#"):
            out += [f".SS {escaped(lines[0].lstrip('# '))}"]
        else:
            out += paragraphs([" ".join(block.split())])
    return out
