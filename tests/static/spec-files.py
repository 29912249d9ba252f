#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# build-spec: each file of `make install` is in one package of the RPM recipe, except the static
# libraries, which the recipe does not build. rpmbuild stops at a file that is in no package.
#   spec-files.py PREFIX    the installed files
import fnmatch
import os
import re
import sys

MACROS = {"bindir": "bin", "libdir": "lib", "includedir": "include", "datadir": "share", "mandir": "share/man"}


# The patterns of files, below the prefix. One that names a folder has all that is in it.
def patterns():
    for line in open("other/packaging/aqueduct.spec"):
        found = re.match(r"%\{_(\w+)\}/(\S+)$", line)
        if found:
            yield f"{MACROS[found[1]]}/{found[2]}"


# Whether the file, or a folder that it is in, has a name of this pattern.
def covers(pattern, name):
    depth = pattern.count("/") + 1
    return fnmatch.fnmatchcase("/".join(name.split("/")[:depth]), pattern)


def is_packaged(name):
    static = re.match(r"lib/lib(gasnet|aqueduct|am)[\w-]*\.a$", name) and not name.endswith("_conduit.a")
    return not name.endswith(".la") and not static


def installed(prefix):
    for folder, _, names in os.walk(prefix):
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), prefix)


wanted = list(patterns())
wrong = []
for name in filter(is_packaged, installed(sys.argv[1])):
    count = sum(covers(pattern, name.removesuffix(".gz")) for pattern in wanted)
    if count != 1:
        wrong.append(f"{name} is {'in no package' if count == 0 else 'in several packages'} of aqueduct.spec.")
print("\n".join(wrong))
sys.exit(bool(wrong))
