#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The functions through which a message and a put go, as a debugger shows them in the build that
users get, compared with the blocks of docs/ARCHITECTURE.md.

    ways.py [--write | --all] [send] [put]

--write    writes the blocks anew, from the build in build/, which it brings up to date.
--all      prints every stay, also those that the blocks leave out.

Two ranks of way_work run in gdb (way_steps.py), instruction by instruction. The program stays in a
function from where it first stands at the beginning of a line of it, inlined or not. These rules
make the list the same in each run:

- A function stands where a part of a way enters it first. So repeated polls of a wait count once.
- Each way is gone several times, and only what every round enters is part of it: not the binding of
  a link, nor what is done now and then.
- The clock stands still, and before each round the ranks have acknowledged all. So timers,
  retransmissions and deferred acknowledgements are not part of a way.
- The C library, other libraries and other/base, which anything may call, are left out.

A block has the functions by which the way enters a file; they stand together where it enters the file
first. What a file does by itself is counted only, and so is a function of a header that leads nowhere
else, but for public headers. A .c and the header of its name are one file here. Behind the first part
the block has only what is new.

Another compiler inlines other functions: where the build is by another one than the fence of the
block says, there is nothing to compare, and the test is skipped.
"""
import argparse
import collections
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap

SOURCE = os.environ.get("AQ_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("AQ_BUILD") or os.path.join(SOURCE, "build")
DOCUMENT = os.path.join(SOURCE, "docs", "ARCHITECTURE.md")
STEPS = os.path.join(SOURCE, "tests", "ways", "way_steps.py")
FOLDERS = ("conduits", "core", "extended", "firehose", "messages", "other", "spawner")
CLIENT = "tests/ways/way_work.c"
WIDTH = 100

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "tests", "static", "tree"))
import c_source

# parts: in their order, which is not that of the ranks.
Way = collections.namedtuple("Way", "conduit settings parts")
WAYS = {
    "send": Way("smp", {}, ("At the sender", "At the receiver", "At the sender again")),
    "put": Way("udp", {"GASNET_SUPERNODE_MAXSIZE": "1"}, ("At the initiator", "At the target")),
}


def fail(sentence):
    print(f"ways: {sentence}")
    sys.exit(1)


def skip(sentence):
    print(sentence)
    sys.exit(77)


def output_of(*command, **options):
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", **options,
    )  # fmt: skip
    return done.returncode, done.stdout


# ---- What is there to record with ----


def check_debugger():
    try:
        _, python = output_of("gdb", "-nx", "-batch", "-ex", "python print(6 * 7)")
    except OSError:
        skip("gdb is not installed (package gdb)")
    if "42" not in python:
        skip("this gdb has no Python")
    _, ran = output_of("gdb", "-nx", "-batch", "-ex", "run", "-ex", "print 100 + $_exitcode", "--args", "true")
    if "= 100" not in ran:
        skip(f"gdb cannot run a program here: {' '.join(ran.split())}")


# By hand, what the ways need is built first; tests/run has built it.
def build():
    if not os.path.exists(os.path.join(BUILD, "Makefile")):
        fail(f"there is no build in {BUILD}; run make first")
    if "AQ_BUILD" not in os.environ:
        launchers = [f"gasnetrun_{way.conduit}" for way in WAYS.values()]
        code, said = output_of("make", "-s", "-C", BUILD, "way_work", *launchers)
        if code:
            fail(f"the build failed:\n{said}")


def built(name, pattern):
    with open(os.path.join(BUILD, name), encoding="utf-8") as file:
        return (re.findall(pattern, file.read(), re.M) or [""])[0]


# The processor, the compiler and its options; whether the build checks arguments and invariants.
def build_kind():
    compiler = built("Makefile", "^CC = (.*)").split()
    machine, version = (output_of(*compiler, word)[1].strip() for word in ("-dumpmachine", "-dumpfullversion"))
    name = "clang" if "clang" in output_of(*compiler, "--version")[1] else "gcc"
    options = built("Makefile", "^CFLAGS = (.*)"), built("Makefile", r"^AQ_CFLAGS = .*(-fsanitize=\S+)")
    words = machine.split("-")[0], name, version, *options, built("config.h", "^#define (AQ_DEBUG)")
    return " ".join(word for word in words if word)


# ---- Recording ----


def sources():
    yield CLIENT
    for top in FOLDERS:
        for at, _, names in os.walk(os.path.join(SOURCE, top)):
            paths = (os.path.relpath(os.path.join(at, name), SOURCE) for name in names)
            yield from (path for path in paths if path.endswith((".c", ".h")))


# The name of each function, with the files that define it, in defined.json.
def write_defined(folder):
    defined = collections.defaultdict(list)
    for path in sorted(sources()):
        for name in {function.name for function in c_source.functions(os.path.join(SOURCE, path))}:
            defined[name or ""].append(path)
    with open(os.path.join(folder, "defined.json"), "w", encoding="utf-8") as file:
        json.dump(defined, file)


# Runs both ranks; they leave their files in the folder.
def run_ranks(name, folder):
    way = WAYS[name]
    write_defined(folder)
    for rank in range(2):
        os.mkfifo(os.path.join(folder, f"turn.{rank}"))
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GASNET")}
    environment = {**kept, **way.settings, "GASNET_CONDUIT": way.conduit, "AQ_SRC": SOURCE}
    launcher, client = (os.path.join(BUILD, program) for program in (f"gasnetrun_{way.conduit}", "way_work"))
    command = [launcher, "-n", "2", "gdb", "-nx", "-batch", "-x", STEPS, "--args", client, name]
    code, said = output_of(*command, env=environment, cwd=folder)
    if code or not all(os.path.exists(os.path.join(folder, f"stays.{rank}")) for rank in range(2)):
        fail(f"'{' '.join(command)}' ends with {code}:\n{said}")


# Part -> its rounds, each of which has the function that each function was entered from. A function
# is a pair: name and file.
def record(name):
    rounds = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        run_ranks(name, folder)
        for rank in range(2):
            with open(os.path.join(folder, f"stays.{rank}"), encoding="utf-8") as file:
                for part, stays in map(json.loads, file):
                    rounds[part].append({tuple(stay): tuple(caller or ()) for stay, caller in stays})
    return rounds


# ---- What of it is a way, and what a block has ----


def is_counted(function):
    name, file = function
    return not file.startswith("other/base/") and (file != CLIENT or name.startswith("on_"))


def common(rounds):
    everywhere = set.intersection(*map(set, rounds))
    return {function: caller for function, caller in rounds[-1].items() if function in everywhere}


def pair(function):
    return os.path.splitext(function[1])[0]


def enters_file(function, caller):
    return not caller or pair(function) != pair(caller)


# A .c, or what the client sees.
def is_place(function):
    return function[1].endswith(".c") or os.path.basename(function[1]).startswith("gasnet")


# The functions that lead into a .c, and those that they lead to.
def leading(stays):
    found = set()
    for function, caller in stays.items():
        if is_counted(function) and is_place(function) and enters_file(function, caller):
            while function and function not in found:
                found.add(function)
                function = stays.get(function)
    return found


# What a block has of a part.
def chosen(stays):
    return {function for function in leading(stays) if enters_file(function, stays.get(function))}


# The file, or if the functions are in both of a pair, the .c.
def file_of(functions):
    files = sorted({file for _, file in functions})
    return "the client" if files == [CLIENT] else files[0]


# A line for each file, or for several of a folder that fit.
def lines_of(functions):
    files = collections.defaultdict(list)
    for function in functions:
        files[pair(function)].append(function)
    line, folder = "", None
    for here in files.values():
        file, names = file_of(here), ", ".join(name for name, _ in here)
        longer = f"{line}; {os.path.basename(file)}: {names}"
        if folder == os.path.dirname(file) and len(longer) <= WIDTH:
            line = longer
            continue
        yield from wrapped(line)
        line, folder = f"  {file}: {names}", os.path.dirname(file)
    yield from wrapped(line)


def wrapped(line):
    return textwrap.wrap(line, WIDTH, subsequent_indent="      ")


def count_of(what, functions):
    files = {file for _, file in functions}
    folders = {os.path.dirname(file) for file in files}
    return f"{what}: {len(functions)} functions in {len(files)} files in {len(folders)} folders."


# The lines of a block, and the counts of stays.
def describe(way, rounds, everything):
    lines, counts, before, all_stays = [], [], set(), set()
    for part in way.parts:
        stays = common(rounds[part])
        here = [function for function in stays if is_counted(function)]
        wanted = set(here) if everything else chosen(stays)
        new = [function for function in here if function in wanted and function not in before]
        below = list(lines_of(new))
        lines += [f"{part}:", *below] if len(below) > 1 else [f"{part}: {' '.join(below).strip()}"]
        counts.append(count_of(part, here))
        before.update(new)
        all_stays.update(here)
    return lines, [*counts, count_of("In all", all_stays), count_of("In the block", before)]


# ---- The document ----


def read_document():
    with open(DOCUMENT, encoding="utf-8") as file:
        return file.read()


# The block of a way: what its fence says of the build, and its lines.
def block_of(name):
    found = re.findall(rf"^```{name}: (.*)\n((?:(?!```).*\n)*)```$", read_document(), re.M)
    if len(found) != 1:
        fail(f"{DOCUMENT} has {len(found)} blocks ```{name}: ..., not 1")
    return found[0]


def compare(name, lines):
    _, old = block_of(name)
    changes = list(difflib.unified_diff(old.splitlines(), lines, "docs/ARCHITECTURE.md", "the way", lineterm=""))
    if changes:
        print("\n".join(changes))
        fail("Is the new way wanted? Then run tests/ways/ways.py --write, and read the text beside the block.")


def write(name, kind, lines):
    old = "```{}: {}\n{}```".format(name, *block_of(name))
    text = read_document().replace(old, "\n".join([f"```{name}: {kind}", *lines, "```"]))
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write(text)


def parse():
    parser = argparse.ArgumentParser(usage="ways.py [--write | --all] [send] [put]")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("ways", nargs="*")
    given = parser.parse_args()
    for name in given.ways:
        if name not in WAYS:
            parser.error(f"'{name}' is no way; write {' or '.join(WAYS)}")
    return given


# Records a way, prints how many stays it has, and compares, writes or prints its functions.
def take(name, kind, given):
    of_block, _ = block_of(name)
    if of_block != kind and not given.write and not given.all:
        skip(f"the block of {name} is that of {of_block}, and this build is by {kind}")
    lines, counts = describe(WAYS[name], record(name), given.all)
    print(*counts, sep="\n")
    if given.write:
        write(name, kind, lines)
    elif given.all:
        print(*lines, sep="\n")
    else:
        compare(name, lines)


def main():
    given = parse()
    check_debugger()
    build()
    for name in given.ways or WAYS:
        take(name, build_kind(), given)


main()
