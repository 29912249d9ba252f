# SPDX-License-Identifier: BSD-3-Clause
"""The processes of a test, which descend from the one that watches it."""
import dataclasses
import os


def read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


@dataclasses.dataclass
class Process:
    pid: int
    parent: int
    name: str
    state: str

    def command(self):
        return read(self.pid, "cmdline").replace("\0", " ").strip() or f"({self.name})"

    def signal(self, number):
        try:
            os.kill(self.pid, number)
        except OSError:
            pass  # it has ended, or belongs to another user


# The line of /proc/PID/stat; the name in it may have any characters.
def parse(pid):
    before, _, after = read(pid, "stat").rpartition(") ")
    if not after:
        return None
    state, parent = after.split(" ", 2)[:2]
    return Process(pid, int(parent), before.partition("(")[2], state)


def everything():
    found = (parse(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return [process for process in found if process]


# The descendants of this process that have not ended, parents first.
def descendants():
    children = {}
    for process in everything():
        children.setdefault(process.parent, []).append(process)
    found, parents = [], [os.getpid()]
    for parent in parents:
        found += children.get(parent, [])
        parents += [process.pid for process in children.get(parent, [])]
    return [process for process in found if process.state not in "ZX"]
