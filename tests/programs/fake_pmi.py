"""A launcher that speaks PMI-1 as its users' manual says, or wrongly where a test wants it: no process of a job is ended by it."""

import os
import socket
import subprocess
import threading


class Launcher:
    """Starts ranks, each with a PMI_FD. `mapping`: PMI_process_mapping, None: the key is unknown. `spoil(rank, command)`: what to answer to
    a line instead; None: the right thing; "": nothing."""

    def __init__(self, size, mapping="", spoil=lambda rank, command: None, value_length=1024):
        self.size, self.mapping, self.spoil, self.value_length = size, mapping or f"(vector,(0,1,{size}))", spoil, value_length
        if mapping is None:
            self.mapping = None
        self.lock = threading.Lock()
        self.values, self.waiting, self.aborts, self.finalized, self.lines = {}, [], [], [], []
        self.ends, self.threads, self.processes = [], [], []

    def start(self, command, env, ranks=None, each=lambda rank: {}):
        for rank in range(self.size) if ranks is None else ranks:
            ours, theirs = socket.socketpair()
            own = {**env, "PMI_FD": str(theirs.fileno()), "PMI_RANK": str(rank), "PMI_SIZE": str(self.size), **each(rank)}
            self.processes.append(subprocess.Popen(command, env=own, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL,
                                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            theirs.close()
            self.ends.append(ours)
            self.threads.append(threading.Thread(target=self.serve, args=(rank, ours), daemon=True))
            self.threads[-1].start()
        return self

    def serve(self, rank, end):
        with end, end.makefile("r") as lines:
            try:
                for line in lines:
                    self.answer(rank, end, line.strip())
            except OSError:
                pass  # the rank has ended

    def answer(self, rank, end, line):
        words = dict(word.split("=", 1) for word in line.split())
        command = words["cmd"]
        with self.lock:
            self.lines.append((rank, line))
        wrong = self.spoil(rank, command)
        if wrong is not None:
            if wrong == "close":
                end.shutdown(socket.SHUT_RDWR)
            else:
                end.sendall(wrong.encode())
            return
        if command == "init":
            reply = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
        elif command == "get_maxes":
            reply = f"cmd=maxes kvsname_max=256 keylen_max=64 vallen_max={self.value_length}"
        elif command == "get_my_kvsname":
            reply = "cmd=my_kvsname kvsname=kvs_fake_0"
        elif command == "get_appnum":
            reply = "cmd=appnum appnum=0"
        elif command == "put":
            with self.lock:
                known = words["key"] in self.values
                fits = len(words["value"]) < self.value_length and len(words["key"]) < 64
                self.values[words["key"]] = words["value"]
            reply = f"cmd=put_result rc={-1 if known or not fits else 0} msg=x"
        elif command == "get":
            value = self.mapping if words["key"] == "PMI_process_mapping" else self.values.get(words["key"])
            reply = "cmd=get_result rc=-1 msg=unknown" if value is None else f"cmd=get_result rc=0 msg=success value={value}"
        elif command == "barrier_in":
            with self.lock:
                self.waiting.append(end)
                if len(self.waiting) == self.size:
                    for one in self.waiting:
                        one.sendall(b"cmd=barrier_out rc=0\n")
                    self.waiting = []
            return
        elif command == "abort":
            with self.lock:
                self.aborts.append((rank, int(words["exitcode"])))
            return
        elif command == "finalize":
            with self.lock:
                self.finalized.append(rank)
            reply = "cmd=finalize_ack rc=0"
        else:
            reply = f"cmd={command} rc=-1 msg=unknown"
        end.sendall((reply + "\n").encode())

    def wait(self, seconds):
        """(exit code, output, errors) of each rank, in the order in which they were started; None where it has not ended in that time."""
        results = []
        for process in self.processes:
            try:
                out, err = process.communicate(timeout=seconds)
                results.append((process.returncode, out, err))
            except subprocess.TimeoutExpired:
                results.append(None)
        for process in self.processes:
            if process.returncode is None:
                process.kill()
                process.communicate()
        for thread in self.threads:
            thread.join(seconds)
        return results
