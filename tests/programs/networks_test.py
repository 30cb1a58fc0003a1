"""Jobs of two nodes with a network between them: two network namespaces, which a pair of virtual Ethernet devices joins. Needs root."""

import os
import shlex
import shutil
import signal
import stat
import subprocess
import time
import unittest

import harness
from harness import JobTest, program, wait_until

ADDRESSES = ("198.18.77.1", "198.18.77.2")  # of the range for tests of networks (RFC 2544)
SECOND = ("198.18.78.1", "198.18.78.2")


def ip(*words):
    return subprocess.run(("ip", *words), stdin=subprocess.DEVNULL, capture_output=True, text=True)


def answer():
    """Why there can be no network of our own; empty: there can."""
    name = f"towline-{os.getpid()}"
    try:
        made = ip("netns", "add", name)
    except FileNotFoundError:
        return "the package iproute2 is not installed"
    ip("netns", "del", name)
    return made.stderr.strip()


WHY_NOT = answer()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class TwoNetworks(JobTest):
    def setUp(self):
        super().setUp()
        self.names = [f"towline-{os.getpid()}-{i}" for i in (0, 1)]
        self.devices = [f"tl{os.getpid() % 10 ** 8}{end}" for end in "ab"]
        for name in self.names:
            self.done("netns", "add", name)
            self.addCleanup(ip, "netns", "del", name)
        self.done("link", "add", self.devices[0], "netns", self.names[0], "type", "veth", "peer", "name", self.devices[1], "netns",
                  self.names[1])
        for name, device, address in zip(self.names, self.devices, ADDRESSES):
            self.done("-n", name, "address", "add", f"{address}/30", "dev", device)
            for one in ("lo", device):
                self.done("-n", name, "link", "set", one, "up")
        self.shell = os.path.join(self.temporary, "shell")
        with open(self.shell, "w") as file:
            file.write(f"#!/bin/sh\ncase $1 in {ADDRESSES[0]}) at={self.names[0]};; *) at={self.names[1]};; esac\nshift\n"
                       "exec ip netns exec $at \"$@\"\n")
        os.chmod(self.shell, stat.S_IRWXU)
        self.addCleanup(os.unlink, self.shell)  # before the look at what stays
        self.named_shell = self.shell + "-of-launchers"  # hosts differ by name, too, as other launchers expect; options may come first
        with open(self.named_shell, "w") as file:
            file.write("#!/bin/sh\nwhile case $1 in -*) true;; *) false;; esac; do shift; done\n"
                       f"case $1 in {ADDRESSES[0]}) at={self.names[0]} as=towline-a;; *) at={self.names[1]} as=towline-b;; esac\nshift\n"
                       "exec ip netns exec $at unshare --uts sh -c 'hostname \"$0\"; eval \"$1\"' $as \"$*\"\n")
        os.chmod(self.named_shell, stat.S_IRWXU)
        self.addCleanup(os.unlink, self.named_shell)

    def done(self, *words):
        done = ip(*words)
        self.assertEqual(done.returncode, 0, (words, done.stderr))

    def options(self, each):
        return ("--hosts", ",".join(f"{address}:{each}" for address in ADDRESSES), "--ssh", self.shell)

    def sent(self, node, device=None):
        """Bytes that a node has sent to the other one."""
        path = f"/sys/class/net/{device or self.devices[node]}/statistics/tx_bytes"
        shown = subprocess.run(("ip", "netns", "exec", self.names[node], "cat", path), capture_output=True, text=True, check=True)
        return int(shown.stdout)

    def test_messages_cross_the_network(self):
        for each, command in ((1, (os.path.join(harness.PROGRAMS, "mpi_point_to_point"), "order")),
                              (2, (os.path.join(harness.PROGRAMS, "mpi_collectives_reductions"), "01", "7")), (2, (program("remote_calls"),))):
            for env in ({}, {"TOWLINE_SECURITY": "encrypt"}):
                with self.subTest(command=command, env=env):
                    before = self.sent(0), self.sent(1)
                    code, out, err, _ = self.run_job(2 * each, *command, options=self.options(each), env={**self.env, **env})
                    self.assertEqual((code, err), (0, ""), out)
                    for node in (0, 1):
                        self.assertGreater(self.sent(node) - before[node], 10_000)

    def by_other_launchers(self, *command, env=()):
        """What each launcher that is there makes of the command with a rank on each host: its name, and the finished process."""
        places = ",".join(f"{address}:1" for address in ADDRESSES)
        launchers = {
            "mpiexec.hydra": ("-n", "2", "-hosts", places, "-launcher", "ssh", "-launcher-exec", self.named_shell, "-localhost", ADDRESSES[0]),
            "mpirun.openmpi": ("--allow-run-as-root", "-n", "2", "--host", places, "--mca", "plm_rsh_agent", self.named_shell, "--bind-to",
                               "none", "--mca", "oob_tcp_if_include", f"{ADDRESSES[0]}/30")}
        there = {name for name in launchers if shutil.which(name)} - (set() if harness.has_pmix() else {"mpirun.openmpi"})
        if not there:
            self.skipTest("no other launcher is installed (packages mpich, openmpi-bin)")
        for name in sorted(there):
            inside = " ".join(shlex.quote(word) for word in (name, *launchers[name], *command))
            yield name, subprocess.run((self.named_shell, ADDRESSES[0], inside), env={**self.env, **dict(env)}, stdin=subprocess.DEVNULL,
                                       capture_output=True, text=True, timeout=60)

    def test_other_launchers(self):
        for command in ((os.path.join(harness.PROGRAMS, "mpi_point_to_point"), "order"), (program("remote_calls"),)):
            for env in ({}, {"TOWLINE_SECURITY": "encrypt"}, {"TOWLINE_INTERFACES": f"{ADDRESSES[1]}/30"}):
                before = self.sent(1)
                for name, ran in self.by_other_launchers(*command, env=env):
                    with self.subTest(launcher=name, command=command, env=env):
                        self.assertEqual(ran.returncode, 0, (ran.stdout, ran.stderr))
                        self.assertGreater(self.sent(1) - before, 10_000)
                        before = self.sent(1)

    def test_an_interface_that_is_not_there_under_other_launchers(self):
        for name, ran in self.by_other_launchers(program("remote_calls"), env={"TOWLINE_INTERFACES": "none0"}):
            with self.subTest(launcher=name):
                self.assertNotEqual(ran.returncode, 0)
                if name != "mpiexec.hydra":  # which loses what ranks say last
                    self.assertRegex(ran.stderr, r"host towline-[ab]: no address .*\(TOWLINE_INTERFACES=none0\); it has tl")

    def test_a_link_that_comes_back(self):
        """What was sent while no packet came through arrives later; the job notices nothing."""
        with self.start(2, program("storm"), "0", options=self.options(1), stdout=subprocess.DEVNULL) as job:
            self.assertTrue(wait_until(lambda: self.sent(0) > 1_000_000, 20))
            for _ in range(2):
                self.done("-n", self.names[0], "link", "set", self.devices[0], "down")
                time.sleep(1)
                self.assertIsNone(job.poll())
                self.done("-n", self.names[0], "link", "set", self.devices[0], "up")
                already = self.sent(0)
                self.assertTrue(wait_until(lambda: self.sent(0) > already + 1_000_000, 20), "nothing goes on")
            self.assertIsNone(job.poll())
            job.terminate()
            _, err = job.communicate(timeout=20)
        self.assertNotIn("lost", err)
        self.assertNotIn("corrupt", err)

    def test_a_link_that_does_not_come_back(self):
        """Who answers nothing for long is given up, and the job ends with a line that says what may be wrong."""
        env = {**self.env, "TOWLINE_LINK_TIMEOUT": "2"}
        with self.start(2, program("storm"), "0", options=self.options(1), stdout=subprocess.DEVNULL, env=env) as job:
            self.assertTrue(wait_until(lambda: self.sent(0) > 1_000_000, 20))
            self.done("-n", self.names[0], "link", "set", self.devices[0], "down")
            _, err = job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0)
        self.assertRegex(err, r"rank [01] gives up rank [01]: it has answered no packet for 2 s: its machine or the network is down")

    def add_network(self):
        """A second one between the hosts; its device on each."""
        devices = [f"{device}2" for device in self.devices]
        self.done("link", "add", devices[0], "netns", self.names[0], "type", "veth", "peer", "name", devices[1], "netns", self.names[1])
        for name, device, address in zip(self.names, devices, SECOND):
            self.done("-n", name, "address", "add", f"{address}/30", "dev", device)
            self.done("-n", name, "link", "set", device, "up")
        return devices

    def test_two_networks(self):
        """Long messages go by both; when either fails, the other one carries all, and later both do again."""
        second = self.add_network()
        networks = f"{ADDRESSES[0]}/30,{SECOND[0]}/30"
        for encrypted in (False, True):
            with self.subTest(encrypted=encrypted):
                env = {**self.env, "TOWLINE_INTERFACES": networks, "TOWLINE_SECURITY": "encrypt" if encrypted else "authenticate"}
                with self.start(2, program("storm"), "0", options=self.options(1), stdout=subprocess.DEVNULL, env=env) as job:
                    def carries(devices):
                        already = [self.sent(0, device) for device in devices]
                        return wait_until(lambda: all(self.sent(0, device) > before + 1_000_000 for device, before in zip(devices, already)),
                                          20)
                    both = (self.devices[0], second[0])
                    self.assertTrue(carries(both))
                    for dies, lives in (both, both[::-1]):
                        self.done("-n", self.names[0], "link", "set", dies, "down")
                        self.assertTrue(carries((lives,)), "nothing goes on")
                        self.assertIsNone(job.poll())
                        self.done("-n", self.names[0], "link", "set", dies, "up")
                        self.assertTrue(carries(both), "one is not used again")
                    job.terminate()
                    _, err = job.communicate(timeout=20)
                self.assertNotIn("gives up", err)
                self.assertNotIn("corrupt", err)

    def test_every_byte_over_networks_that_fail_by_turns(self):
        second = self.add_network()
        env = {**self.env, "TOWLINE_INTERFACES": f"{ADDRESSES[0]}/30,{SECOND[0]}/30",
               "TOWLINE_TEST_DATAGRAM_FAULTS": f"loss=0.02,duplicate=0.02,reorder=0.05,seed={os.getpid()}"}
        command = (os.path.join(harness.PROGRAMS, "mpi_soak"), "4", str(os.getpid()))
        with self.subTest(seed=os.getpid()), self.start(4, *command, options=self.options(2), env=env) as job:
            for dies in (self.devices[0], second[0]) * 3:
                time.sleep(0.3)
                self.done("-n", self.names[0], "link", "set", dies, "down")
                time.sleep(0.3)
                self.done("-n", self.names[0], "link", "set", dies, "up")
            out, err = job.communicate(timeout=120)
            self.assertEqual((job.returncode, err), (0, ""), out)

    def test_first_contact_by_the_second_network(self):
        second = self.add_network()
        for device, name in zip(self.devices, self.names):  # up, and nothing comes through
            self.done("-n", name, "neighbour", "replace", ADDRESSES[1 - self.names.index(name)], "lladdr", "02:00:00:00:00:01", "dev", device)
        env = {**self.env, "TOWLINE_INTERFACES": f"{ADDRESSES[0]}/30,{SECOND[0]}/30"}
        before = self.sent(0, second[0])
        code, out, err, _ = self.run_job(4, program("remote_calls"), options=self.options(2), env=env)
        self.assertEqual((code, err), (0, ""), out)
        self.assertGreater(self.sent(0, second[0]) - before, 10_000)

    def test_a_rank_that_is_stopped(self):
        """Silence that is shorter than the time-out, of a process that the system does not run: nothing is lost."""
        def ranks():
            found = []
            for pid in harness.processes_with(self.mark):
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if file.read().startswith(program("storm").encode()):
                        found.append(pid)
            return found
        with self.start(2, program("storm"), "0", options=self.options(1), stdout=subprocess.DEVNULL) as job:
            self.assertTrue(wait_until(lambda: self.sent(0) > 1_000_000 and len(ranks()) == 2, 20))
            for pid in ranks():
                os.kill(pid, signal.SIGSTOP)
                time.sleep(1.5)
                self.assertIsNone(job.poll())
                os.kill(pid, signal.SIGCONT)
                already = self.sent(0)
                self.assertTrue(wait_until(lambda: self.sent(0) > already + 1_000_000, 20), "nothing goes on")
            job.terminate()
            _, err = job.communicate(timeout=20)
        self.assertNotIn("gives up", err)

    def test_paths_of_other_widths(self):
        """Packets are as large as the interface, and the path there, let through; a path that gets narrower loses nothing."""
        soak = os.path.join(harness.PROGRAMS, "mpi_soak")
        for mtu, encrypted in ((1280, True), (1500, False), (9000, True), (65535, False)):
            with self.subTest(mtu=mtu):
                for name, device in zip(self.names, self.devices):
                    self.done("-n", name, "link", "set", device, "mtu", str(mtu))
                env = {**self.env, "TOWLINE_SECURITY": "encrypt" if encrypted else "authenticate"}
                code, out, err, _ = self.run_job(2, soak, "0.5", str(mtu), options=self.options(1), env=env)
                self.assertEqual((code, err), (0, ""), out)
        for route in (1000, 700):
            with self.subTest(route=route):  # what the interface takes does not pass
                for i, name in enumerate(self.names):
                    self.done("-n", name, "route", "replace", f"{ADDRESSES[1 - i]}/32", "dev", self.devices[i], "mtu", str(route))
                code, out, err, _ = self.run_job(2, soak, "0.5", str(route), options=self.options(1))
                self.assertEqual((code, err), (0, ""), out)
        for i, name in enumerate(self.names):
            self.done("-n", name, "route", "del", f"{ADDRESSES[1 - i]}/32", "dev", self.devices[i])
        with self.start(2, soak, "2", "1", options=self.options(1)) as job:
            time.sleep(0.7)
            for name, device in zip(self.names, self.devices):
                self.done("-n", name, "link", "set", device, "mtu", "1400")
            out, err = job.communicate(timeout=60)
        self.assertEqual((job.returncode, err), (0, ""), out)

    def test_hosts_without_a_common_network(self):
        """Named, and the job ends before the program starts."""
        self.done("-n", self.names[1], "address", "flush", "dev", self.devices[1])
        code, out, err, seconds = self.run_job(2, "echo", "started", options=self.options(1), timeout=100)
        self.assertNotEqual(code, 0, out)
        self.assertRegex(err, "network|address")
        self.assertLess(seconds, 60)


if __name__ == "__main__":
    harness.main()
