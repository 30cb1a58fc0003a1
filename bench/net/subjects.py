"""The MPI libraries that are measured between hosts, and how each is started there."""
from __future__ import annotations

import dataclasses
import os
import pathlib

from mpi.subjects import Places, Settings, on_path
from net.hosts import Hosts


RXD = "mpich5-rxd"


@dataclasses.dataclass(frozen=True)
class Subject:
    name: str
    build: str                     # which build of the programs: abi or openmpi
    launcher: pathlib.Path
    library: pathlib.Path          # a file without which it is not there
    host_option: str
    options: tuple[str, ...]       # {shell}, {address}, {interfaces}: of the hosts; in the environment, too
    alone: tuple[str, ...] = ()    # where each rank has a processor
    crowded: tuple[str, ...] = ()  # where not
    environment: Settings = ()
    why: str = ""

    def missing(self) -> str | None:
        return next((str(path) for path in (self.launcher, self.library) if not path.exists()), None)

    def command(self, hosts: Hosts, each: int, program: pathlib.Path) -> list[str]:
        """Runs on the first host. `each`: ranks of a host."""
        count = len(hosts.names)
        options = [o.format(shell=hosts.shell, address=hosts.addresses[0], interfaces=",".join(hosts.interfaces)) for o in self.options]
        more = self.alone if each == 1 and count <= len(os.sched_getaffinity(0)) else self.crowded
        listed = ",".join(f"{address}:{each}" for address in hosts.addresses)
        return hosts.inside(0, [str(self.launcher), "-n", str(count * each), self.host_option, listed, *options, *more, str(program)])

    def surroundings(self, hosts: Hosts) -> dict[str, str]:
        return {**os.environ, **{name: value.format(interfaces=",".join(hosts.interfaces)) for name, value in self.environment}}

    def settings(self) -> str:
        words = [f"{name}={value}" for name, value in self.environment] + [self.launcher.name, *self.options]
        return " ".join(words + ["|", *self.alone, "|", *self.crowded]).replace(str(Places.peers) + "/", "")


def subjects(places: Places) -> list[Subject]:
    """All of them, Towline first. Whatever shares memory between these hosts would not on real ones: UCX is told to use TCP."""
    mpich, openmpi = places.peers / "mpich", places.peers / "openmpi"
    root = (("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"))
    hydra = ("-launcher", "ssh", "-launcher-exec", "{shell}", "-localhost", "{address}", "-iface", "host0")
    spinning = ("-genv", "LD_PRELOAD", str(places.programs / "noyield.so"))
    tcp = "--mca pml ob1 --mca btl tcp,sm,self --mca btl_tcp_if_include {interfaces} --map-by :OVERSUBSCRIBE --bind-to none".split()
    ucx = (("UCX_TLS", "tcp"), ("UCX_NET_DEVICES", "{interfaces}"))
    ofi = (("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", "tcp"))
    rxd = (("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", "udp;ofi_rxd"), ("FI_UDP_IFACE", "host0"))

    def of_mpich(name: str, settings: Settings, why: str) -> Subject:
        return Subject(name, "abi", mpich / "bin/mpiexec", mpich / "lib/libmpi_abi.so.1", "-hosts", hydra, spinning, (),
                       (*on_path(mpich), *settings), why)

    return [
        Subject("towline", "abi", places.towline / "bin/mpiexec", places.towline / "lib/libmpi_abi.so.1", "-hosts",
                ("-launcher-exec", "{shell}"), environment=(("TOWLINE_INTERFACES", "{interfaces}"),), why="default settings"),
        of_mpich("mpich5-ucx", ucx, "UCX over TCP"),
        of_mpich("mpich5-ofi", ofi, "libfabric over TCP"),
        of_mpich(RXD, rxd, "libfabric's reliable datagrams over UDP"),
        Subject("ompi5", "openmpi", openmpi / "bin/mpirun", openmpi / "lib/libmpi.so.40", "--host",
                ("--prtemca", "plm_ssh_agent", "{shell}", *tcp), (), ("--mca", "mpi_yield_when_idle", "1"), root, "TCP"),
    ]
