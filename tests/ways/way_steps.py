# SPDX-License-Identifier: BSD-3-Clause
"""gdb runs this beside each rank of way_work: it steps through the parts of a way, one instruction
at a time, and writes a line of JSON for each into stays.RANK in this folder: the name of the part,
and its stays in order. A stay is a function and its file, and those that it was entered from. AQ_SRC
is the folder of the sources; defined.json in this folder has the functions of each file."""
import json
import os

import gdb

SOURCES = os.path.realpath(os.environ["AQ_SRC"]) + os.sep
LIBC = ("clock_gettime", "recv", "recvmsg", "recvmmsg")  # the client has them in its place
SETTINGS = ("breakpoint pending on", "debuginfod enabled off", "startup-with-shell off")

with open("defined.json", encoding="utf-8") as defined:
    DEFINED = json.load(defined)  # the name of a function: the files that define it


def setting(text):
    try:
        gdb.execute(f"set {text}", to_string=True)
    except gdb.error:
        pass  # an older gdb does not have all


# The name of a file below the sources; None: it is no file of ours.
def relative(symtab):
    path = os.path.realpath(symtab.fullname()) if symtab else ""
    return path[len(SOURCES) :] if path.startswith(SOURCES) else None


# A function and its file. Of an inlined one gdb knows only the file that it is inlined in: sources
# tell more, and if several files define the name, the line there.
def named(function, is_inlined, address):
    file = relative(function.symtab)
    if is_inlined:
        here = relative(gdb.find_pc_line(address).symtab)
        defining = DEFINED.get(function.name, [here])
        file = next((name for name in (here, file) if name in defining), defining[0])
    return function.name, file


# The functions of ours at an address, the innermost first: inlined ones, and the one that holds them.
def functions_at(address):
    found, block = [], gdb.block_for_pc(address)
    while block and not block.is_static and not block.is_global:
        if block.function:
            found.append(named(block.function, not block.superblock.is_static, address))
        block = block.superblock
    return [(name, file) for name, file in found if file]


class Place:
    """What is known of an address."""

    known = {}

    def __init__(self, address):
        self.functions = functions_at(address)
        self.is_ours = bool(self.functions) and self.functions[0][0] not in LIBC
        self.begins_line = self.is_ours and gdb.find_pc_line(address).pc == address

    @classmethod
    def now(cls):
        address = gdb.selected_frame().pc()
        if address not in cls.known:
            cls.known[address] = cls(address)
        return cls.known[address]


# The next place in a function of ours: calls of others end.
def step():
    gdb.execute("stepi", to_string=True)
    if not Place.now().is_ours:
        gdb.execute("finish", to_string=True)
    return Place.now()


# Steps to way_end. Returns the stays, each with the function that it was entered from. A stay begins
# where the program first stands at the beginning of a line of a function, or of one inlined in it.
def stays():
    found, called_from, last = {}, {}, None
    while True:
        place = step()
        if not place.functions:
            continue
        if place.functions[0][0] == "way_end":
            return list(found.items())
        callers = [*place.functions[1:], called_from.setdefault(place.functions[-1], last)]
        if place.begins_line:
            for function, caller in reversed(list(zip(place.functions, callers))):
                found.setdefault(function, caller)
        last = place.functions[0]


def main():
    for text in SETTINGS:
        setting(text)
    gdb.Breakpoint("way_begin")
    gdb.execute("run")
    while gdb.selected_inferior().pid:
        part = gdb.parse_and_eval("part").string()
        gdb.execute("finish", to_string=True)
        line = json.dumps([part, stays()])
        with open(f"stays.{int(gdb.parse_and_eval('me'))}", "a", encoding="utf-8") as file:
            file.write(line + "\n")
        gdb.execute("continue", to_string=True)


main()
