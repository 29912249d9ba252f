#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# static-objects: no struct has more than 24 fields, and no function more than 6 parameters. A struct or
# union inside of a struct is one field, so a struct with parts has few. The functions of the public
# API may have more.
#   objects.py LIST ...    the names of the files come from standard input
# A line of a LIST is `struct NAME` or `function NAME`, behind it perhaps | and the reason: it may be
# larger. It has to be larger, too, so that no list keeps what nobody needs.
import re
import sys

import c_source

FIELDS = 24
PARAMETERS = 6
PUBLIC = re.compile(r"(gex|gasnet[a-z]*|aq_api)_")
STRUCT = re.compile(r"\b(?:struct|union)\s*(?:__attribute__\s*\(\([^()]*\)\)\s*)?(\w*)\s*\{")
NAME_BEHIND = re.compile(r"\s*(\w*)")


# The text from behind an opening bracket to the closing one, without what brackets inside of it hold.
def inside(text, start):
    depth, kept = 1, []
    for position in range(start, len(text)):
        if text[position] in "({[":
            depth += 1
        elif text[position] in ")}]":
            depth -= 1
        elif depth == 1:
            kept.append(text[position])
        if depth == 0:
            return "".join(kept), position + 1
    return "".join(kept), len(text)


# The kind, name and size of each struct of a file. One without a name has that of its type.
def structs(path):
    text = re.sub(r"^\s*#.*", "", c_source.read(path), flags=re.M)
    for found in STRUCT.finditer(text):
        fields, end = inside(text, found.end())
        name = found[1] or NAME_BEHIND.match(text, end)[1]
        yield "struct", name, fields.count(";") + fields.count(","), FIELDS


def functions(path):
    for function in c_source.functions(path):
        found = re.search(r"\w+\s*\(", function.head)
        if found and not PUBLIC.match(found[0]):
            parameters, _ = inside(function.head, found.end())
            yield "function", function.name, parameters.count(",") + 1, PARAMETERS


def excepted(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.partition("|")[0].split() for line in file if not line.startswith("#")]
    return {tuple(words): path for words in lines if words}


def main():
    allowed = {}
    for path in sys.argv[1:]:
        allowed.update(excepted(path))
    large = {}
    for path in sys.stdin.read().split():
        for kind, name, size, limit in (*structs(path), *functions(path)):
            if size > limit:
                large[kind, name] = f"{path}: {kind} {name}: {size}, more than {limit}."
    for key in sorted(large.keys() - allowed.keys()):
        print(large[key])
    for kind, name in sorted(allowed.keys() - large.keys()):
        print(f"{allowed[kind, name]}: {kind} {name} needs no exception any more.")


main()
