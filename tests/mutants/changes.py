# SPDX-License-Identifier: BSD-3-Clause
"""Finds the small changes that can be made to a C source: each one alters one line."""
import bisect
import collections
import re

# What is no code: comments, strings, characters, preprocessor lines.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*", re.S | re.M
)
ASSERTS = re.compile(r"\b(?:_Static_assert|static_assert|\w*assert\w*)\s*\(", re.I)

# clang-format puts spaces around operators with two operands, which tells * and & from those with one.
OPERATOR = re.compile(r"(?<= )(<=|>=|==|!=|&&|\|\||<<|>>|[-+&|]=|[-+*/%&|<>])(?= )")
OTHER = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&",
    "+=": "-=", "-=": "+=", "&=": "|=", "|=": "&=", "++": "--", "--": "++",
    "true": "false", "false": "true", "break": "", "continue": "",
}  # fmt: skip
STEP = re.compile(r"\+\+|--")
WORD = re.compile(r"\b(?:true|false|break|continue)\b")
NOT = re.compile(r"!(?!=)")
NUMBER = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)(?![\w.])")
CONDITION = re.compile(r"\b(?:if|while) (?=\()")
RETURN = re.compile(r"\breturn ([^;]+);")
DECLARATION = re.compile(r"^[ ]+(?:[A-Za-z_]\w* )+\**[A-Za-z_]\w*\b(?! *\()")
STATEMENT = re.compile(r"^[ ]+(?!(?:return|break|continue|goto|case|default|if|for|while|do|else)\b)([\w*(][^;{}]*;)$")
ENDED = re.compile(r"[;{}):]$|\belse$")  # the end of a line after which a statement begins
ITSELF = "\0"  # in what stands instead: the text that stood there

Change = collections.namedtuple("Change", "file line kind old new")  # line from 1; old and new: the whole line


def blank(found):
    return re.sub(r"[^\n]", " ", found[0])


# The code with blanks in place of all else, so that each character keeps its place.
def code_of(text):
    return NO_CODE.sub(blank, text)


def closing(line, at):
    depth = 0
    for place in range(at, len(line)):
        depth += {"(": 1, ")": -1}.get(line[place], 0)
        if depth == 0:
            return place
    return None


# Each of these yields (kind, begin, end, what stands there instead) for a line of code.


def swaps(line):
    for kind, pattern in (("operator", OPERATOR), ("step", STEP), ("word", WORD)):
        for found in pattern.finditer(line):
            yield kind, *found.span(), OTHER[found[0]]
    for found in NOT.finditer(line):
        yield "not", *found.span(), ""


def numbers(line):
    for found in NUMBER.finditer(line):
        octal = re.fullmatch(r"0[0-7]+", found[1])
        value = int(found[1], 8 if octal else 16 if found[1][:2] in ("0x", "0X") else 10)
        for other in (value + 1, value - 1):
            if other >= 0:
                yield "constant", *found.span(), f"{'0' if octal else ''}{other:{'o' if octal else 'd'}}{found[2]}"


def conditions(line):
    for found in CONDITION.finditer(line):
        end = closing(line, found.end())
        if end is not None:
            yield "condition", found.end(), end + 1, f"(!{ITSELF})"


def returns(line):
    for found in RETURN.finditer(line):
        if not re.fullmatch(r"\d+|true|false|NULL", found[1]):
            yield "return", *found.span(1), "0"


def statements(line):
    found = STATEMENT.match(line.rstrip())
    if found and line.count("(") == line.count(")") and not DECLARATION.match(line):
        yield "statement", *found.span(1), ";"


def of_line(line, before):
    yield from swaps(line)
    yield from numbers(line)
    yield from conditions(line)
    yield from returns(line)
    if ENDED.search(before.rstrip()):
        yield from statements(line)


def of_file(name, text):
    lines, before = text.split("\n"), ""
    for number, line in enumerate(code_of(text).split("\n")):
        if line.strip() and not ASSERTS.search(line):
            for kind, begin, end, instead in of_line(line, before):
                old = lines[number]
                new = old[:begin] + instead.replace(ITSELF, old[begin:end]) + old[end:]
                yield Change(name, number + 1, kind, old, new)
        before = line if line.strip() else before


def applied(change, text):
    lines = text.split("\n")
    assert lines[change.line - 1] == change.old
    lines[change.line - 1] = change.new
    return "\n".join(lines)
