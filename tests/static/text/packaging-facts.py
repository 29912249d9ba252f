#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Prints what the recipes for packages get wrong: their versions, options of configure, and files.
import ast
import os
import re
import sys

FOLDER = "other/packaging"


def read(name):
    with open(name) as source:
        return source.read()


def version():
    text = read("configure.ac")
    return ".".join(re.search(rf"aq_{part}\], \[(\d+)\]", text)[1] for part in ("major", "minor", "patch"))


# The words for --disable- and --enable- that configure knows.
def options():
    text = read("configure.ac")
    conduits = " ".join(re.findall(r"m4_define\(\[aq_(?:module_)?conduits\], \[(.*)\]", text)).split()
    return set(re.findall(r"AC_ARG_ENABLE\(\[([a-z-]+)\]", text)) | set(conduits) | {"static", "shared"}


# The oldest version of a library that a configure script takes, by the name of its pkg-config file.
def oldest(library):
    scripts = [f"conduits/{name}/configure.m4" for name in os.listdir("conduits")] + ["configure.ac"]
    text = " ".join(read(name) for name in scripts if os.path.exists(name))
    return re.search(rf"\[{library} >= ([\d.]+)\]", text)[1]


def spack(tree):
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return {name: [call.args[0].value for call in calls if call.func.id == name] for name in ("version", "variant")}


def stated():
    spec, conda = read(f"{FOLDER}/aqueduct.spec"), read(f"{FOLDER}/conda/meta.yaml")
    package = read(f"{FOLDER}/spack/package.py")
    yield "aqueduct.spec", re.search(r"^Version: *(\S+)", spec, re.M)[1], version()
    yield "aqueduct.spec, %changelog", re.search(r"> - (.*)-1$", spec, re.M)[1], version()
    yield "conda/meta.yaml", re.search(r'version: "(.*)"', conda)[1], version()
    yield "spack/package.py", spack(ast.parse(package))["version"][0], version()
    yield "libfabric in aqueduct.spec", re.search(r"\(libfabric\) >= (\S+)", spec)[1], oldest("libfabric")
    yield "libfabric in conda/meta.yaml", re.search(r"libfabric >=(\S+)", conda)[1], oldest("libfabric")
    yield "libfabric in spack/package.py", re.search(r"libfabric@(\S+):", package)[1], oldest("libfabric")
    yield "OpenSSL in aqueduct.spec", re.search(r"\(libcrypto\) >= (\S+)", spec)[1], oldest("libcrypto")


def unknown_options():
    for name in ("aqueduct.spec", "conda/build.sh", "spack/package.py"):
        for word in re.findall(r"--(?:enable|disable)-([a-z-]+)", read(f"{FOLDER}/{name}")):
            if word not in options():
                yield f"{name} names the option {word}, which configure does not know."
    own = {"tools", "debug"}
    for word in spack(ast.parse(read(f"{FOLDER}/spack/package.py")))["variant"]:
        if word not in options() | own:
            yield f"spack/package.py has the variant {word}, which is no option of configure."


# Each module that Debian packages is in the RPM package, too.
def missing_files():
    spec = read(f"{FOLDER}/aqueduct.spec")
    for name in sorted(os.listdir("debian")):
        if not name.endswith(".install"):
            continue
        for path in read(f"debian/{name}").split():
            module = re.search(r"gasnet/(aq_(?:mpi|conduit|spawn)_[\w*]*|gasnet_\w+)", path)
            wanted = module and re.sub(r"(aq_mpi)_.*", r"\1_", module[1])
            if wanted and wanted not in spec:
                yield f"aqueduct.spec does not have {path}, which debian/{name} has."


wrong = [f"{place} says {found}, but configure.ac {right}." for place, found, right in stated() if found != right]
wrong += list(unknown_options()) + list(missing_files())
print("\n".join(wrong))
sys.exit(bool(wrong))
