#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# build-spec: each file of `make install` is in one package of the RPM recipe, except files of libtool
# and its static libraries, which the recipe does not build. rpmbuild stops at a file in no package.
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


# A static library that has a file of libtool beside it is built by libtool.
def is_packaged(name, names):
    return not name.endswith(".la") and not (name.endswith(".a") and name[:-1] + "la" in names)


def installed(prefix):
    for folder, _, names in os.walk(prefix):
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), prefix)


wanted = list(patterns())
names = set(installed(sys.argv[1]))
wrong = []
for name in sorted(name for name in names if is_packaged(name, names)):
    count = sum(covers(pattern, name) for pattern in wanted)
    if count != 1:
        wrong.append(f"{name} is {'in no package' if count == 0 else 'in several packages'} of aqueduct.spec.")
print("\n".join(wrong))
sys.exit(bool(wrong))
