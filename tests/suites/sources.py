"""The sources of the suites: fetched by the ordinary clients (apt-get, pip) in the pinned version, checked, kept in build/suites."""

import dataclasses
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

from place import HERE, WORK


class Unavailable(Exception):
    """What could not be fetched; says what to do."""


@dataclasses.dataclass(frozen=True)
class Source:
    kind: str     # "debian" or "pypi"
    name: str
    version: str
    file: str
    sha256: str


def pinned() -> dict[str, Source]:
    """What sources.txt lists, by name."""
    rows = (line.split() for line in (HERE / "sources.txt").read_text().splitlines() if line and not line.startswith("#"))
    return {row[1]: Source(*row) for row in rows}


def run(*command: str | pathlib.Path, cwd: pathlib.Path) -> None:
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Unavailable(f"{' '.join(map(str, command[:6]))} ... failed:\n{done.stdout[-1500:]}")


def has(file: pathlib.Path, source: Source) -> bool:
    return file.exists() and hashlib.sha256(file.read_bytes()).hexdigest() == source.sha256


def from_debian(source: Source, folder: pathlib.Path) -> None:
    """By apt-get source, from where this machine gets its packages; with lists of our own, so that the machine's stay as they are."""
    sites = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)", "Created-By: Packages"], capture_output=True,
                           text=True, check=True).stdout.split("\n")
    own = WORK / "apt"
    (own / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (own / "cache").mkdir(exist_ok=True)
    key = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    signed = f"[signed-by={key}] " if key.exists() else ""
    release = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    wanted = sorted({site for site in sites if site.endswith(" " + release.get("VERSION_CODENAME", "").strip('"'))})
    (own / "sources.list").write_text("".join(f"deb-src {signed}{site} main\n" for site in wanted))
    options = [f"-oDir::Etc::SourceList={own}/sources.list", "-oDir::Etc::SourceParts=/dev/null", f"-oDir::State::Lists={own}/lists",
               f"-oDir::Cache={own}/cache", "-oAPT::Sandbox::User="]
    if not list((own / "lists").glob("*_Sources*")):
        run("apt-get", "update", "-q", *options, cwd=folder)
    run("apt-get", "source", "-q", "--download-only", "--tar-only", *options, f"{source.name}={source.version}", cwd=folder)


def from_pypi(source: Source, folder: pathlib.Path) -> None:
    # pip asks a source distribution for its name; what that takes is in the suites' environment (python_environment.py).
    own = WORK / "python" / "bin" / "python"
    run(own if own.exists() else sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
        "--no-build-isolation", "--no-binary", ":all:", f"{source.name}=={source.version}", cwd=folder)


def unpacked(name: str) -> pathlib.Path:
    """The folder with the source in it; fetched and unpacked where it is not there yet."""
    source = pinned()[name]
    place = WORK / "sources" / f"{name}-{source.version}"
    mark = place / ".complete"
    if mark.exists() and mark.read_text() == source.sha256:
        return place
    files = WORK / "sources" / "files"
    files.mkdir(parents=True, exist_ok=True)
    file = files / source.file
    if not has(file, source):
        print(f"fetching {name} {source.version}", flush=True)
        try:
            (from_debian if source.kind == "debian" else from_pypi)(source, files)
        except (OSError, Unavailable) as error:
            raise Unavailable(f"{name} {source.version} could not be fetched; is this machine offline? "
                              f"The suites need it once; it is kept in {WORK}/sources.\n{error}") from error
    if not has(file, source):
        raise Unavailable(f"{file} is not what sources.txt says (SHA-256); remove it and try again")
    shutil.rmtree(place, ignore_errors=True)
    half = place.with_suffix(f".{os.getpid()}")
    with tarfile.open(file) as archive:
        archive.extractall(half, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    inner, = half.iterdir()
    inner.rename(place)
    half.rmdir()
    mark.write_text(source.sha256)
    return place
