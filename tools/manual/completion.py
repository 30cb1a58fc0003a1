"""The completion of bash for towline, mpiexec and mpirun: what the tools' help says."""

from __future__ import annotations

import pathlib
import re

import help_text

SHARED = r"""# Completion of bash. Written when Towline was built, from what the tools' --help says.

# Files, and names of commands where a command is wanted.
_towline_files()
{
    compopt -o filenames 2>/dev/null
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$1")
}

# What may stand behind an option: words, @file, or anything.
_towline_value()
{
    local current=$1
    shift
    if [[ ${1-} == @file ]]; then
        _towline_files "$current"
    else
        mapfile -t COMPREPLY < <(compgen -W "$*" -- "$current")
    fi
}

# Options from word $1 on, then PROGRAM if $3 is not empty, then its arguments. $2 names a function: of an option it tells how many values
# it has and which; without one it tells all options.
_towline_options()
{
    local at=$1 about=$2 program=$3 current=${COMP_WORDS[COMP_CWORD]} facts i
    while ((at < COMP_CWORD)); do
        if [[ ${COMP_WORDS[at]} == -- ]]; then
            ((++at))
            break
        elif [[ ${COMP_WORDS[at]} != -?* ]]; then
            break
        fi
        read -r -a facts < <("$about" "${COMP_WORDS[at]}")
        if [[ ${COMP_WORDS[at + 1]-} == = ]]; then  # bash makes three words of --stats=FILE
            if ((COMP_CWORD <= at + 2)); then
                _towline_value "${current#=}" "${facts[@]:1}"
                return
            fi
            ((at += 3))
        elif ((COMP_CWORD <= at + facts[0])); then
            _towline_value "$current" "${facts[@]:1}"
            return
        else
            ((at += 1 + facts[0]))
        fi
    done
    if ((at == COMP_CWORD)); then
        if [[ $current == -* || -z $current ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$("$about")" -- "$current")
        fi
        if [[ $current != -* && -n $program ]]; then
            [[ -z $current || $current == */* ]] || mapfile -t COMPREPLY < <(compgen -c -- "$current" | sort -u)
            _towline_files "$current"
        fi
        return
    fi
    [[ -n $program ]] || return
    for ((i = COMP_CWORD - 1; i > at; --i)); do
        if [[ $program == several && ${COMP_WORDS[i]} == : && $COMP_LINE == *" : "* ]]; then  # another program beside it
            _towline_options $((i + 1)) "$about" "$program"
            return
        fi
    done
    if declare -F _command_offset >/dev/null; then  # the program's own, where bash-completion is installed
        _command_offset "$at"
    else
        _towline_files "$current"
    fi
}
"""

TOWLINE = r"""
_towline()
{
    COMPREPLY=()
    local current=${COMP_WORDS[COMP_CWORD]}
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "@COMMANDS@ --help --version" -- "$current")
        return
    fi
    case ${COMP_WORDS[1]} in
    run) _towline_options 2 _towline_run one ;;
    help) ((COMP_CWORD > 2)) || mapfile -t COMPREPLY < <(compgen -W "@COMMANDS@" -- "$current") ;;
    where)
        _towline_options 2 _towline_where ""
        if [[ $current != -* ]]; then
            local pids  # of the launchers of jobs that run
            pids=$("${COMP_WORDS[0]}" where 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { print $1 }')
            mapfile -t COMPREPLY < <(compgen -W "$pids" -- "$current")
        fi ;;
@OTHERS@
    esac
}
complete -F _towline towline
"""

MPIEXEC = r"""
_towline_mpi()
{
    COMPREPLY=()
    _towline_options 1 _towline_mpiexec several
}
complete -F _towline_mpi mpiexec mpirun
"""


def values(option: help_text.Option) -> str:
    """The words that may stand behind it, as the function tells them."""
    value = option.value.split()[-1] if option.value else ""
    if re.search(r"FILE|FOLDER", value):
        return " @file"
    words = [word for word in value.split("|") if re.fullmatch(r"[a-z][a-z0-9-]*", word)]
    return "".join(f" {word}" for word in words)


def function(name: str, cases: list[tuple[str, str]], words: list[str], dashes: bool) -> str:
    """A function of bash that knows the options; `dashes`: their names in `cases` have theirs."""
    lines = [f"_towline_{name}()", "{"]
    lines += ["    case ${1-} in"] if dashes else ["    local name=${1-}", "    name=${name#-}", "    case ${name#-} in"]
    lines += [f"    {names}) echo \"{told}\" ;;" for names, told in cases]
    lines += [f"    '') echo \"{' '.join(words)}\" ;;", "    *) echo 0 ;;", "    esac", "}"]
    return "\n".join(lines) + "\n"


def of_command(name: str, about: help_text.Help) -> str:
    options = [o for o in about.options if o.names and o.spelling.startswith("-")]
    # A flag that may have a value has it behind '=' only.
    cases = [(" | ".join(o.names), f"{0 if not o.value or o.value.startswith('[=') else len(o.value.split())}{values(o)}") for o in options]
    return function(name, cases, [n for o in options for n in o.names if n.startswith("--") or n == "-n"], True)


def of_mpiexec(about: help_text.Help, counts: dict[str, int]) -> str:
    told = {name.lstrip("-"): values(option) for option in about.options for name in option.names}
    paragraphs = " ".join(p for s in about.sections for p in s.paragraphs)
    for names, words in re.findall(r"((?:-[a-z][\w-]*(?:, | and )?)+) ([a-z]+(?:\|[a-z]+)+|FILE)", paragraphs):
        told.update({name: " @file" if words == "FILE" else " " + words.replace("|", " ") for name in re.findall(r"-([a-z][\w-]*)", names)})
    cases = [(name, f"{count}{told.get(name, '') if count else ''}") for name, count in counts.items()]
    words = [f"-{name}" for name in counts if len(name) > 1 or name == "n"]
    return function("mpiexec", cases, words, False)


def scripts(folder: pathlib.Path) -> dict[str, str]:
    towline, mpiexec = str(folder / "towline"), str(folder / "mpiexec")
    overview = help_text.of(towline)
    commands = [o.spelling for o in overview.options if not o.spelling.startswith("-")]
    functions = "".join("\n" + of_command(c, help_text.of(towline, c)) for c in commands if c != "help")
    others = "\n".join(f"    {c}) _towline_options 2 _towline_{c} \"\" ;;" for c in commands if c not in ("run", "help", "where"))
    mpi = SHARED + "\n" + of_mpiexec(help_text.of(mpiexec), help_text.of_listed(mpiexec)) + MPIEXEC
    return {"towline": SHARED + functions + TOWLINE.replace("@COMMANDS@", " ".join(commands)).replace("@OTHERS@", others),
            "mpiexec": mpi, "mpirun": mpi}
