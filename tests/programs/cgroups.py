"""Cgroups of a test's own: made below the one that it runs in, and removed."""

import os
import subprocess
import time


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def make(controller):
    """A new cgroup below ours that can limit it, or None."""
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split() for line in file]
    with open("/proc/self/cgroup") as file:
        ours = {name: path for _, names, path in (line.rstrip("\n").split(":", 2) for line in file) for name in names.split(",")}
    for words in mounts:
        rest = words[words.index("-") + 1:]
        name = controller if rest[0] == "cgroup" and controller in rest[2].split(",") else "" if rest[0] == "cgroup2" else None
        if name is None or name not in ours:
            continue
        for parent in (words[4] + ours[name], words[4]):
            folder = f"{parent.rstrip('/')}/job-test-{os.getpid()}"
            try:
                os.mkdir(folder)
            except OSError:
                continue
            if any(os.access(folder + file, os.W_OK) for file in (f"/{controller}.max", f"/{controller}.limit_in_bytes")):
                return folder
            os.rmdir(folder)
    return None


def limit_memory(folder, size):
    """Swap is not to be had either, where that can be limited."""
    write(folder + ("/memory.max" if os.path.exists(folder + "/memory.max") else "/memory.limit_in_bytes"), str(size))
    for swap in ("/memory.swap.max", "/memory.memsw.limit_in_bytes"):
        try:
            write(folder + swap, "0" if "max" in swap else str(size))
        except OSError:
            pass


def run_in(folder, command, env):
    return subprocess.run(["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', folder, *command], env=env,
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


def remove(folder):
    for _ in range(100):
        try:
            return os.rmdir(folder)
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"{folder}: a process is still in it")
