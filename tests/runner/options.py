# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tests of a table; each line of it is a test or a family of tests.

    tests/run [--table LIST] [--check quick|rest|all] [--list] [--jobs N] [--within SECONDS]
              [--times[=FILE]] [--as-built] [PATTERN ...]

PATTERN is a shell pattern for names; without one, every test runs. Exits with 0 when at least one
test ran and none failed. The table is a list, or each tests.list in a folder and below, of itself the
folder tests; the head of tests/tests.list describes the format.

--check    only the tests that rest.list beside the table does not name (quick), only those that it
           names (rest), or both, the quick ones first (all, the default).
--list     prints the names, and builds nothing.
--jobs     so many tests run beside each other; the default is the number of processors.
--within   a test that would begin later than so many seconds from now is skipped, so that a run on
           a slow machine has a result before the machine is taken away.
--as-built with AQ_BUILD, tests its programs although sources are newer.
--times    at the end, the time that each group of tests took, and the slowest ones; in FILE if given.
"""
import argparse
import os
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def die(sentence):
    print(f"run: {sentence}", file=sys.stderr)
    sys.exit(2)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        die(f"{message}; see tests/run --help.")


def positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return int(text)


def seconds(text):
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds")
    return int(text)


def make_parser():
    parser = Parser(prog="tests/run", add_help=False, allow_abbrev=False)
    parser.add_argument("--help", action="store_true")
    parser.add_argument("--table", default=os.path.join(SOURCE, "tests"))
    parser.add_argument("--check", choices=("quick", "rest", "all"), default="all")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=positive, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--within", type=seconds)
    parser.add_argument("--times", type=argparse.FileType("w"))
    parser.add_argument("--as-built", action="store_true")
    parser.add_argument("patterns", nargs="*")
    return parser


# --times without a file means standard output, and does not take the next word.
def parse(words):
    given = make_parser().parse_intermixed_args(["--times=-" if word == "--times" else word for word in words])
    if given.help:
        print(__doc__, end="")
        sys.exit(0)
    return given
