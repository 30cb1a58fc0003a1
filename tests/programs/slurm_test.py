"""Jobs that Slurm starts on two nodes, which are network namespaces; its daemons end with the test. Needs root, slurm-wlm and munge."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import unittest

import harness
from harness import JobTest, program, wait_until
from networks_test import WHY_NOT, ip

ADDRESSES = ("198.18.77.9", "198.18.77.10")  # of the range for tests of networks (RFC 2544)
SECOND = "towline-second"
TOOLS = ("munged", "slurmctld", "slurmd", "srun", "setpriv")
MISSING = [tool for tool in TOOLS if not shutil.which(tool)]


@unittest.skipIf(WHY_NOT, WHY_NOT)
@unittest.skipIf(MISSING, f"not installed (packages slurm-wlm, munge): {', '.join(MISSING)}")
class Slurm(JobTest):
    def setUp(self):
        super().setUp()
        self.networks = [f"towline-{os.getpid()}-slurm{i}" for i in (0, 1)]
        for network in self.networks:
            self.done(ip("netns", "add", network))
            self.addCleanup(ip, "netns", "del", network)
        self.done(ip("link", "add", "veth0", "netns", self.networks[0], "type", "veth", "peer", "name", "veth0", "netns", self.networks[1]))
        for network, address in zip(self.networks, ADDRESSES):
            self.done(ip("-n", network, "address", "add", f"{address}/30", "dev", "veth0"))
            for device in ("lo", "veth0"):
                self.done(ip("-n", network, "link", "set", device, "up"))
        os.chmod(self.temporary, 0o755)
        self.place = os.path.join(self.temporary, "slurm")
        host = socket.gethostname().split(".")[0]
        for name in ("", "spool", "state", "munge", "tmp", f"tmp/{host}", f"tmp/{SECOND}"):
            os.mkdir(os.path.join(self.place, name), 0o755)
        self.addCleanup(shutil.rmtree, self.place)
        self.addCleanup(self.end_daemons)
        munge = os.path.join(self.place, "munge")
        with open(os.path.join(munge, "key"), "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(file.name, 0o400)
        user = pwd.getpwnam("munge")
        for path in (munge, file.name):
            os.chown(path, user.pw_uid, user.pw_gid)
        with open(os.path.join(self.place, "slurm.conf"), "w") as file:
            file.write(f"""ClusterName=towline
SlurmctldHost={host}({ADDRESSES[0]})
AuthType=auth/munge
AuthInfo=socket={munge}/socket
CredType=cred/munge
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
StateSaveLocation={self.place}/state
SlurmdSpoolDir={self.place}/spool/%n
SlurmctldPidFile={self.place}/slurmctld.pid
SlurmdPidFile={self.place}/slurmd-%n.pid
SlurmctldLogFile={self.place}/slurmctld.log
SlurmdLogFile={self.place}/slurmd-%n.log
TmpFS={self.place}/tmp/%n
ReturnToService=2
NodeName={host} NodeAddr={ADDRESSES[0]} CPUs={os.cpu_count()} State=UNKNOWN
NodeName={SECOND} NodeAddr={ADDRESSES[1]} CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes={host},{SECOND} Default=YES MaxTime=INFINITE State=UP
""")
        self.env["SLURM_CONF"] = file.name
        with open(os.path.join(self.place, "cgroup.conf"), "w") as file:
            file.write("CgroupPlugin=cgroup/v1\n")
        self.done(self.inside("setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged", f"--key-file={munge}/key",
                              f"--socket={munge}/socket", f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed"))
        self.done(self.inside("slurmctld"))
        self.done(self.inside("slurmd"))
        self.done(self.inside("unshare", "--uts", "sh", "-c", f"hostname {SECOND}; exec slurmd", node=1))  # a node is known by its name
        self.assertTrue(wait_until(lambda: self.inside("sinfo", "-h", "-N", "-o", "%t").stdout.split() == ["idle"] * 2, 60),
                        "the nodes of Slurm are not ready")

    def inside(self, *command, node=0, seconds=100):
        return subprocess.run(("ip", "netns", "exec", self.networks[node], *command), env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=seconds)

    def done(self, result):
        self.assertEqual(result.returncode, 0, (result.args, result.stdout, result.stderr))

    def end_daemons(self):
        slurmd = [name for name in os.listdir(self.place) if name.startswith("slurmd-") and name.endswith(".pid")]
        for name in (*slurmd, "slurmctld.pid", "munge/pid"):
            path = os.path.join(self.place, name)
            if not os.path.exists(path):
                continue
            with open(path) as file:
                pid = int(file.read())
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 20)

    def test_both_ways(self):
        launch = os.path.join(harness.PROGRAMS, "mpi_launch")
        for way in ("pmi2", "pmix"):
            srun = ("srun", "-N", "1", "-n", "3", "-O", f"--mpi={way}")
            with self.subTest(way=way):
                result = self.inside(*srun, launch, "appnum", "x")
                self.done(result)
                self.assertEqual([line.split(":")[0] for line in sorted(result.stdout.splitlines())], [f"rank {r} of 3" for r in range(3)])
                self.done(self.inside(*srun, program("remote_calls")))
                for how in ("abort", "exit"):
                    result = self.inside(*srun, launch, how, "7")
                    self.assertNotEqual(result.returncode, 0)
                    self.assertIn("task 2: Exited with exit code 7", result.stderr)

    def test_two_nodes(self):
        sent = "/sys/class/net/veth0/statistics/tx_bytes"
        for way in ("pmi2", "pmix"):
            for each, command in ((1, (os.path.join(harness.PROGRAMS, "mpi_point_to_point"), "order")),
                                  (2, (os.path.join(harness.PROGRAMS, "mpi_collectives_reductions"), "01", "7")),
                                  (2, (program("remote_calls"),))):
                with self.subTest(way=way, command=command):
                    before = int(self.inside("cat", sent, node=1).stdout)
                    self.done(self.inside("srun", "-N", "2", "-n", str(2 * each), f"--ntasks-per-node={each}", "-O", f"--mpi={way}", *command))
                    self.assertGreater(int(self.inside("cat", sent, node=1).stdout) - before, 20_000)


if __name__ == "__main__":
    harness.main()
