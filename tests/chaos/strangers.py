# SPDX-License-Identifier: BSD-3-Clause
"""Strangers at the doors of a job, for the fault "strangers" of tests/chaos/run.

    strangers.py find MARK     prints a line for each socket at which a process with MARK in its
                               environment can be called, once, as soon as it is there:
                               tcp HOST PORT, udp HOST PORT, or local TYPE NAME (@NAME: abstract)
    strangers.py attack SEED   reads such lines, and attacks there until its input ends; then
                               prints what it did

The sockets are found in /proc, so that no list has to know them; "find" has to be in the network
namespace of the job and may read its processes, "attack" is somebody else. SEED decides what is done
where: connections that stay silent, bytes without a meaning, more bytes than anything takes,
datagrams of all lengths. The attacker also takes names: those that the job gives back, those of the
next processes, and the places of socket files.
"""
import collections
import os
import random
import re
import resource
import select
import socket
import sys
import time

PAUSE = 0.05  # seconds between two looks for sockets, and between two attacks at each
KEPT = 150  # silent connections at each socket,
AT_ONCE = 80  # those that come first, more than a job has places for callers,
MORE = 2  # and those that come with each attack
FOLLOWERS = 300  # names of next processes that are taken


# ---- find ----


def lines_of(path):
    try:
        with open(path) as file:
            return [line.split() for line in file][1:]
    except OSError:
        return []


def is_marked(pid, mark):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read()
    except OSError:
        return False


def sockets_of(pid):
    found = set()
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            link = os.readlink(f"/proc/{pid}/fd/{fd}")
            if link.startswith("socket:["):
                found.add(link[8:-1])
    except OSError:
        pass  # it ends
    return found


def place(text):
    """Host and port of ADDRESS:PORT, words of hexadecimal digits in the order of the processor."""
    words, port = text.split(":")
    address = b"".join(int(words[i : i + 8], 16).to_bytes(4, sys.byteorder) for i in range(0, len(words), 8))
    host = socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)
    return f"{ {'0.0.0.0': '127.0.0.1', '::': '::1'}.get(host, host) } {int(port, 16)}"


def doors():
    """Inode and description of every socket of this namespace that can be called."""
    for protocol, state in (("tcp", "0A"), ("udp", "07")):
        for version in ("", "6"):
            for line in lines_of(f"/proc/self/net/{protocol}{version}"):
                if line[3] == state:
                    yield line[9], f"{protocol} {place(line[1])}"
    for line in lines_of("/proc/self/net/unix"):
        listens, kind = int(line[3], 16) & 0x10000, int(line[4], 16)
        if len(line) > 7 and (listens or kind == socket.SOCK_DGRAM):
            yield line[6], f"local {kind} {line[7]}"


def find(mark):
    mark = mark.encode()
    told = set()
    while True:
        own = set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if is_marked(pid, mark):
                own |= sockets_of(pid)
        for inode, text in doors():
            if inode in own and text not in told:
                told.add(text)
                print(text, flush=True)
        time.sleep(PAUSE)


# ---- attack ----


class Attack:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.done = collections.Counter()
        self.doors = []
        self.kept = collections.defaultdict(collections.deque)
        self.names = []  # sockets that hold a name
        self.wanted = []  # names that the job has

    def bytes(self, length):
        """Bytes that start like a length, a small number or nothing that makes sense."""
        starts = (b"", b"\0" * 8, b"\xff" * 8, b"\x10\0\0\0", b"\0\0\0\x10", b"GET / HTTP/1.0\r\n")
        start = self.random.choice(starts)
        return (start + self.random.randbytes(min(length, 65536)) * (length // 65536 + 1))[:length]

    def length(self, most):
        return self.random.choice((0, 1, 4, 8, 60, 500, 1400, 1473, 9000, 16385, 65507, 65536, 300000, most))

    def caller(self, door):
        """A connection, or a socket from which datagrams go there; None if there is none."""
        if door[0] == "local":
            kind, address = int(door[1]), door[2].replace("@", "\0", 1) if door[2][0] == "@" else door[2]
            caller = socket.socket(socket.AF_UNIX, kind)
        else:
            kind = socket.SOCK_STREAM if door[0] == "tcp" else socket.SOCK_DGRAM
            family = socket.AF_INET6 if ":" in door[1] else socket.AF_INET
            caller, address = socket.socket(family, kind), (door[1], int(door[2]))
        caller.setblocking(False)
        try:
            caller.connect(address)
        except BlockingIOError:
            pass
        except OSError:
            caller.close()
            return None
        return caller

    def takes_datagrams(self, door):
        return door[0] == "udp" or door[1] == str(int(socket.SOCK_DGRAM))

    def crowd(self, door, count):
        for caller in filter(None, (self.caller(door) for _ in range(count))):
            self.keep(door, caller)
            self.done["idle"] += 1

    def keep(self, door, caller):
        kept = self.kept[door]
        kept.append(caller)
        if len(kept) > KEPT:
            kept.popleft().close()

    def send(self, caller, data):
        """Sends as much as is taken at once, or in a moment."""
        poll = select.poll()  # its descriptors may be above 1024
        poll.register(caller, select.POLLOUT)
        try:
            while data and poll.poll(20):
                data = data[caller.send(data) :]
        except OSError:
            pass  # it was closed: the best that the job can do

    def datagram(self, door, caller):
        try:
            caller.send(self.bytes(min(self.length(65507), 65507 if door[0] == "udp" else 1 << 20)))
            self.done["datagrams"] += 1
        except OSError:
            self.done["refused datagrams"] += 1
        caller.close()

    def call(self, door, caller):
        what = self.random.choice(("idle", "idle", "junk", "junk and idle", "oversized"))
        if what.startswith("junk"):
            self.send(caller, self.bytes(self.length(2000)))
        elif what == "oversized":
            self.send(caller, self.bytes(3000000))
        if what.endswith("idle"):
            self.keep(door, caller)
        else:
            caller.close()
        self.done[what] += 1

    def take(self, name):
        """Tries to listen at an abstract name, where nobody answers."""
        taker = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            taker.bind("\0" + name[1:])
            taker.listen(0)
            self.names.append(taker)
            self.done["names taken"] += 1
            return True
        except OSError:
            taker.close()
            return False

    def take_followers(self, name):
        """Names that end with a small number are those of processes: takes the next ones."""
        match = re.fullmatch(r"(@.*\D)(\d{1,7})", name)
        for next in range(1, FOLLOWERS if match else 0):
            self.take(match[1] + str(int(match[2]) + next))

    def take_file(self, path):
        """Neither the file of a socket nor a folder above it may go away."""
        while path.count("/") > 2:
            for change, more in ((os.unlink, ()), (os.rename, (path + ".taken",)), (os.chmod, (0o777,))):
                try:
                    change(path, *more)
                    self.done["FILES TAKEN"] += 1
                except OSError:
                    self.done["refused at files"] += 1
            path = os.path.dirname(path)

    def add(self, line):
        door = tuple(line.split(" ", 2))
        self.doors.append(door)
        if not self.takes_datagrams(door):
            self.crowd(door, AT_ONCE)
        if door[0] != "local":
            return
        if door[2][0] == "@":
            self.wanted.append(door[2])
            self.take_followers(door[2])
        else:
            self.take_file(door[2])

    def everywhere(self):
        for door in self.doors:
            caller = self.caller(door)
            if caller is None:
                self.done["not let in"] += 1
            elif self.takes_datagrams(door):
                self.datagram(door, caller)
            else:
                self.call(door, caller)
                self.crowd(door, MORE)
        self.wanted = [name for name in self.wanted if not self.take(name)]

    def told(self):
        places = collections.Counter(door[0] for door in self.doors)
        return ", ".join(f"{count} {what}" for what, count in sorted((places + self.done).items()))


def attack(seed):
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    self = Attack(seed)
    os.set_blocking(0, False)
    rest = b""
    while True:
        if select.select((0,), (), (), PAUSE)[0]:
            new = os.read(0, 65536)
            if not new:
                break
            *lines, rest = (rest + new).split(b"\n")
            for line in lines:
                self.add(line.decode(errors="replace"))
        self.everywhere()
    print(self.told())


{"find": find, "attack": attack}[sys.argv[1]](sys.argv[2])
