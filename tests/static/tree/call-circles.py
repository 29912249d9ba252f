#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# static-calls: no files call each other in a circle. A .c and the .h of its name are one file here.
# A function calls each function that its body names, so an address that it passes counts, too. Only
# names that one file alone defines count. The layout of .clang-format tells where a function begins
# and ends.
#   call-circles.py    the names of the files come from standard input
import collections
import os
import re
import sys

NOTES = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
WORD = re.compile(r"[A-Za-z_]\w*")

Function = collections.namedtuple("Function", "name calls")


# The file without comments and texts, which may hold names of functions.
def read(name):
    with open(name, errors="replace") as file:
        return NOTES.sub(lambda found: re.sub(r"[^\n]", "", found[0]), file.read()).split("\n")


# The name of a function, from the lines in front of its body; None: it is none of other files.
def name_of(head, is_header):
    text = ATTRIBUTE.sub("", " ".join(head))
    found = re.search(r"(\w+)\s*\(", text)
    is_hidden = not is_header and re.search(r"\bstatic\b", text)
    return found[1] if found and not is_hidden else None


def functions(name):
    lines, head, start = read(name), [], None
    for number, line in enumerate(lines):
        if start is not None and line.startswith("}"):
            words = WORD.findall("\n".join(lines[start:number]))
            yield Function(name_of(head, name.endswith(".h")), set(words))
            head, start = [], None
        elif line == "{":
            start = number
        elif not line or line[0] in "#}" or line.endswith(";"):
            head = head if start is not None else []
        elif start is None:
            head.append(line)


# The sets of nodes that reach each other, of two at least: by Tarjan's algorithm.
def circles(edges):
    number, low, path, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        path.append(node)
        for after in sorted(edges[node]):
            if after not in number:
                visit(after)
            if after in path:
                low[node] = min(low[node], low[after])
        if low[node] == number[node]:
            found.append(sorted(path[path.index(node) :]))
            del path[path.index(node) :]

    for node in sorted(edges):
        if node not in number:
            visit(node)
    return [circle for circle in found if len(circle) > 1]


def calls_between(files):
    defined, bodies = collections.defaultdict(set), []
    for name in files:
        pair = os.path.splitext(name)[0]
        for function in functions(name):
            bodies.append((pair, function))
            if function.name:
                defined[function.name].add(pair)
    edges = collections.defaultdict(lambda: collections.defaultdict(set))
    for pair, function in bodies:
        for called in function.calls & defined.keys():
            if len(defined[called]) == 1 and pair not in defined[called]:
                target = min(defined[called])
                edges[pair][target].add(called)
                edges[target]
    return edges


sys.setrecursionlimit(10000)
edges = calls_between(sys.stdin.read().split())
for circle in circles(edges):
    print(" ".join(circle) + ": these files call each other in a circle.")
    for caller in circle:
        for target in sorted(set(circle) & edges[caller].keys()):
            print(f"    {caller} calls {', '.join(sorted(edges[caller][target]))} of {target}")
