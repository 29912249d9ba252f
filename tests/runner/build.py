# SPDX-License-Identifier: BSD-3-Clause
"""The build that is tested, and the environment of each test."""
import os
import subprocess
import sys

from options import SOURCE, die

# The user's settings for jobs and builds must not influence a test.
STRANGE_PREFIXES = ("GASNET", "GEX_")
STRANGE = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "DESTDIR", "CDPATH", "BASH_ENV"}
LEAST_FREE = 1 << 30  # bytes


def built_by_hand(builds):
    if builds and subprocess.run(["make", "-s", "-C", SOURCE, "check-programs"], stdout=sys.stderr).returncode:
        die("the build failed; its output is above.")
    build = os.path.join(SOURCE, "build")
    in_place = os.path.exists(os.path.join(SOURCE, "config.status"))
    return SOURCE if in_place or not os.path.isdir(build) else build


BUILT = "tests-built"  # the makefile touches this file when all programs are up to date
SOURCES = ("conduits", "core", "examples", "extended", "firehose", "messages", "other", "spawner", "tests")
KINDS = (".c", ".h", ".am", ".ac", ".inc")


# A run by hand first updates the build; under make, AQ_BUILD names the build folder. A list builds
# nothing: without a build, the sets name what is in the tree.
def find(builds, as_built):
    build = os.environ.get("AQ_BUILD") or built_by_hand(builds)
    if not os.path.isdir(build):
        die(f"AQ_BUILD is '{build}', which is no folder; run make first.")
    tree = tree_of(build)
    if tree and tree != os.path.realpath(SOURCE):
        die(f"the build in {build} is of the tree {tree}, not of {SOURCE}; set AQ_BUILD to another one.")
    newer = None if as_built else newer_source(build)
    if newer:
        die(f"{newer} is newer than the build in {build}; run make check-programs, or unset AQ_BUILD.")
    return os.path.realpath(build)


# The tree of which the folder is a build; None if it is not known.
def tree_of(build):
    try:
        with open(os.path.join(build, "Makefile"), encoding="utf-8") as file:
            trees = [line.split(" = ")[1].strip() for line in file if line.startswith("abs_top_srcdir = ")]
    except OSError:
        return None
    return os.path.realpath(trees[0]) if trees else None


def source_files():
    with os.scandir(SOURCE) as top:
        yield from (entry.path for entry in top if entry.is_file())
    for folder in SOURCES:
        for path, _, names in os.walk(os.path.join(SOURCE, folder)):
            yield from (os.path.join(path, name) for name in names)


# When the file changed; 0 if it is not there.
def changed(path):
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


# A source that has changed since make check-programs; None without one, or if that never ran.
def newer_source(build):
    built = changed(os.path.join(build, BUILT))
    newer = (path for path in source_files() if path.endswith(KINDS) and changed(path) > built)
    return next(newer, None) if built else None


def environment(build):
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in STRANGE and not name.startswith(STRANGE_PREFIXES)
    }
    tests = os.path.join(SOURCE, "tests")
    static = (os.path.join(tests, "static", room) for room in ("built", "text", "tree"))
    path = ":".join((build, tests, *static, kept.get("PATH", "/usr/bin:/bin")))
    return {**kept, "LC_ALL": "C", "AQ_BUILD": build, "AQ_SRC": SOURCE, "PATH": path}


# Why no test can write here; None if there is room.
def no_room(folder):
    room = os.statvfs(folder)
    return f"less than 1 GiB is free in {folder}" if room.f_bavail * room.f_frsize < LEAST_FREE else None
