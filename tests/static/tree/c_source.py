# SPDX-License-Identifier: BSD-3-Clause
"""The functions of a C file. The layout of .clang-format tells where one begins and ends."""
import collections
import re

NOTES = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")

# head: all in front of the body; body: the lines in its braces.
Function = collections.namedtuple("Function", "name head body")


# The file without comments and texts, which may hold names of functions.
def read(path):
    with open(path, errors="replace") as file:
        return NOTES.sub(lambda found: re.sub(r"[^\n]", "", found[0]), file.read())


def function_of(head, body):
    text = ATTRIBUTE.sub("", " ".join(head))
    found = re.search(r"(\w+)\s*\(", text)
    return Function(found[1] if found else None, text, body)


def functions(path):
    lines, head, start = read(path).split("\n"), [], None
    for number, line in enumerate(lines):
        if start is not None and line.startswith("}"):
            yield function_of(head, lines[start:number])
            head, start = [], None
        elif line == "{":
            start = number
        elif not line or line[0] in "#}" or line.endswith(";"):
            head = head if start is not None else []
        elif start is None:
            head.append(line)
