"""Hosts that share this machine: network namespaces, two joined by a pair of virtual Ethernet devices, more by a bridge. They and all that
was made for them go when the `with` ends. Needs root and the package iproute2."""
from __future__ import annotations

import contextlib
import os
import pathlib
import shlex
import stat
import subprocess
import tempfile
from types import TracebackType


class Impossible(Exception):
    """There can be no hosts here; says why."""


def run(*words: str) -> None:
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except FileNotFoundError:
        raise Impossible("the package iproute2 is not installed") from None
    if done.returncode != 0:
        raise Impossible(f"{' '.join(words)}: {done.stderr.strip()}")


def ip(*words: str) -> None:
    run("ip", *words)


class Hosts:
    """`count` of them. `addresses`: of each one, of the range for tests of networks (RFC 2544); `interfaces`: of each, one for each
    network."""

    def __init__(self, count: int, bound: bool = False, networks: int = 1, rate: str = "") -> None:
        """`bound`: what a host runs is bound to one processor, the first host's to the first. `networks`: more than one between two hosts
        only. `rate`: at which an interface sends, as tc reads it."""
        self.names = [f"towline-bench-{os.getpid()}-{count}-{i}" for i in range(count)]
        self.addresses = [f"198.18.{70 + count}.{i + 1}" for i in range(count)]
        self.interfaces = [f"host{k}" for k in range(networks)]
        self.rate = rate
        self.switch = f"towline-bench-{os.getpid()}-{count}-switch"
        cpus = sorted(os.sched_getaffinity(0))
        self.bound = [str(cpus[i % len(cpus)]) if bound else ",".join(map(str, cpus)) for i in range(count)]
        self.cleaning = contextlib.ExitStack()
        self.shell = pathlib.Path()

    def __enter__(self) -> Hosts:
        with contextlib.ExitStack() as undo:
            for name in [*self.names, *([self.switch] if len(self.names) > 2 else [])]:
                ip("netns", "add", name)
                undo.callback(subprocess.run, ("ip", "netns", "del", name), capture_output=True)
                ip("-n", name, "link", "set", "lo", "up")
            if len(self.names) == 2:
                for device in self.interfaces:
                    ip("link", "add", device, "netns", self.names[0], "type", "veth", "peer", "name", device, "netns", self.names[1])
            else:
                ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
                ip("-n", self.switch, "link", "set", "bridge", "up")
                for i, name in enumerate(self.names):
                    ip("link", "add", "host0", "netns", name, "type", "veth", "peer", "name", f"port{i}", "netns", self.switch)
                    ip("-n", self.switch, "link", "set", f"port{i}", "master", "bridge")
                    ip("-n", self.switch, "link", "set", f"port{i}", "up")
            for i, (name, address) in enumerate(zip(self.names, self.addresses)):
                for k, device in enumerate(self.interfaces):
                    ip("-n", name, "address", "add", f"{address if k == 0 else f'198.19.{k}.{i + 1}'}/24", "dev", device)
                    ip("-n", name, "link", "set", device, "up")
                    if self.rate:
                        run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate,
                            "burst", "1mb", "latency", "20ms")
            folder = pathlib.Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="towline-bench-")))
            self.shell = folder / "shell"
            self.shell.write_text(self._shell())
            self.shell.chmod(stat.S_IRWXU)
            self.cleaning = undo.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.cleaning.close()

    def _shell(self) -> str:
        """As ssh: options, a host, words that a shell there reads. A host has a name of its own, by which libraries tell hosts apart."""
        cases = "".join(f"  {address}|{self.short(i)}) at={name} as={self.short(i)} cpus={cpus} ;;\n" for i, (address, name, cpus) in
                        enumerate(zip(self.addresses, self.names, self.bound)))
        return ("#!/bin/sh\nwhile case $1 in -*) true;; *) false;; esac; do shift; done\n"
                f"case $1 in\n{cases}  *) echo \"there is no host $1\" >&2; exit 255 ;;\nesac\nshift\n"
                "exec ip netns exec $at unshare --uts taskset -c $cpus sh -c 'hostname \"$0\"; eval \"$1\"' $as \"$*\"\n")

    def short(self, i: int) -> str:
        return f"bench{len(self.names)}{chr(ord('a') + i)}"

    def inside(self, i: int, command: list[str]) -> list[str]:
        """A command that runs `command` on host i."""
        return [str(self.shell), self.addresses[i], "exec", *(shlex.quote(word) for word in command)]

    def sent(self, i: int) -> int:
        """Bytes that host i has sent."""
        path = "/sys/class/net/host0/statistics/tx_bytes"
        shown = subprocess.run(("ip", "netns", "exec", self.names[i], "cat", path), capture_output=True, text=True, check=True)
        return int(shown.stdout)
