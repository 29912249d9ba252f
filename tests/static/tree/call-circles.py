#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# static-calls: no files call each other in a circle. A .c and the .h of its name are one file here.
# A function calls each function that its body names, so an address that it passes counts, too. Only
# names that one file alone defines count.
#   call-circles.py    the names of the files come from standard input
import collections
import os
import re
import sys

import c_source

WORD = re.compile(r"[A-Za-z_]\w*")


# Whether other files can call it.
def is_shared(function, file):
    return function.name and (file.endswith(".h") or not re.search(r"\bstatic\b", function.head))


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
        for function in c_source.functions(name):
            bodies.append((pair, set(WORD.findall("\n".join(function.body)))))
            if is_shared(function, name):
                defined[function.name].add(pair)
    edges = collections.defaultdict(lambda: collections.defaultdict(set))
    for pair, words in bodies:
        for called in words & defined.keys():
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
