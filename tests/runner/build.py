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
    if builds and subprocess.run(["make", "-C", SOURCE, "check-programs"], stdout=sys.stderr).returncode:
        die("the build failed; its output is above.")
    build = os.path.join(SOURCE, "build")
    in_place = os.path.exists(os.path.join(SOURCE, "config.status"))
    return SOURCE if in_place or not os.path.isdir(build) else build


# A run by hand first updates the build; under make, AQ_BUILD names the build folder. A list builds
# nothing: a family whose members only a build knows has one name without it.
def find(builds):
    build = os.environ.get("AQ_BUILD") or built_by_hand(builds)
    if not os.path.isdir(build):
        die(f"AQ_BUILD is '{build}', which is no folder; run make first.")
    return os.path.realpath(build)


def environment(build):
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in STRANGE and not name.startswith(STRANGE_PREFIXES)
    }
    tests = os.path.join(SOURCE, "tests")
    path = ":".join((build, tests, os.path.join(tests, "static"), kept.get("PATH", "/usr/bin:/bin")))
    return {**kept, "LC_ALL": "C", "AQ_BUILD": build, "AQ_SRC": SOURCE, "PATH": path}


# Why no test can write here; None if there is room.
def no_room(folder):
    room = os.statvfs(folder)
    return f"less than 1 GiB is free in {folder}" if room.f_bavail * room.f_frsize < LEAST_FREE else None
