# SPDX-License-Identifier: BSD-3-Clause
"""The table of tests, one list or those of a folder. The head of tests/tests.list describes their
format."""
import dataclasses
import fnmatch
import os
import re
import subprocess

from options import die

NAME = re.compile(r"[A-Za-z0-9._+-]+")
SET = re.compile(r"\{([a-z_]+)\}")


@dataclasses.dataclass(eq=False)
class Test:
    name: str
    limit: int
    command: str
    after: tuple  # names of the tests that have to pass before
    takes: tuple  # things that only one running test can have
    alone: bool  # nothing may run beside it
    place: int  # in the table
    path: str  # of its list
    rest: bool = False  # it is left out of the quick check


# A function that says whether one of the patterns matches a name.
def matcher(patterns):
    return re.compile("|".join(map(fnmatch.translate, patterns)) or "(?!)").match


class Table:
    def __init__(self, path, environment):
        self.environment = environment
        self.tests = {}  # name -> Test, in the order of the table
        if os.path.isdir(path):
            self.read_folder(path, {})
        else:
            self.read_list(path, {})
        self.check_needs()
        self.read_rest(os.path.join(path if os.path.isdir(path) else os.path.dirname(path), "rest.list"))

    # Reads the lists of a folder and of those in it. A list has the sets of the lists above it.
    def read_folder(self, folder, sets):
        path = os.path.join(folder, "tests.list")
        if os.path.exists(path):
            sets = self.read_list(path, sets)
        for name in sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)):
            self.read_folder(os.path.join(folder, name), sets)

    # Returns the sets: name -> list of words.
    def read_list(self, path, sets):
        self.path = path
        self.sets = dict(sets)
        for line in self.lines(path):
            self.read_line(line)
        return self.sets

    def die(self, sentence):
        die(f"{self.path}: {sentence}")

    def lines(self, path):
        try:
            with open(path, encoding="utf-8") as file:
                stripped = [line.strip() for line in file]
        except OSError as error:
            die(f"the table '{path}' cannot be read: {error.strerror}.")
        return [line for line in stripped if line and not line.startswith("#")]

    def read_line(self, line):
        if line.startswith("set ") and "=" in line:
            self.read_set(*line[4:].split("=", 1))
        elif line.count("|") >= 2:
            self.expand(*(part.strip() for part in line.split("|", 2)))
        else:
            self.die(f"cannot read the line '{line}'; write name | seconds | command.")

    def read_set(self, name, value):
        value = value.strip()
        if value.startswith("$(") and value.endswith(")"):
            value = subprocess.run(
                ["bash", "-c", value[2:-1]], env=self.environment, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            ).stdout  # fmt: skip
        self.sets[name.strip()] = value.split()

    # Adds the test, once for each value of each {set} in its name. An empty set adds a test that
    # fails, so that no family of tests disappears unnoticed.
    def expand(self, name, words, command):
        found = SET.search(name)
        if not found:
            self.add(name, words.split(), command)
            return
        values = self.sets.get(found[1])
        if values is None:
            self.die(f"'{name}' uses the set '{found[1]}', which no line above it defines.")
        for value in values:
            self.expand(*(part.replace(found[0], value) for part in (name, words, command)))
        if not values:
            self.add_empty(re.sub("[{}]", "", name), found[1])

    def add_empty(self, name, of):
        if name not in self.tests:
            why = f"The set {of} in {self.path} is empty; is the build complete?"
            self.add(name, ["10"], f"echo '{why}'; exit 1")

    def add(self, name, words, command):
        if not NAME.fullmatch(name):
            self.die(f"the test name '{name}' may contain only letters, digits and ._+-.")
        if name in self.tests:
            self.die(f"two tests are called '{name}'.")
        limit = words[0] if words else ""
        if not limit.isdigit() or int(limit) < 1:
            self.die(f"'{limit}' is not a time limit for {name}; write seconds.")
        found = self.read_words(name, words[1:])
        self.tests[name] = Test(name, int(limit), command, place=len(self.tests), path=self.path, **found)

    def read_words(self, name, words):
        lists = {"after": [], "takes": []}
        alone, current = False, None
        for word in words:
            if word in lists:
                current = lists[word]
            elif word == "alone":
                alone, current = True, None
            elif current is None:
                self.die(f"'{word}' says nothing about {name}; write after, takes or alone.")
            else:
                current.append(word)
        return {"alone": alone, **{kind: tuple(found) for kind, found in lists.items()}}

    # No test comes after one that is not there, or after itself.
    def check_needs(self):
        for test in self.tests.values():
            for need in test.after:
                if need not in self.tests:
                    die(f"{test.path}: {test.name} comes after '{need}', which is not a test.")
        for test in self.tests.values():
            if test in self.needed(test.after):
                die(f"{test.path}: {test.name} comes after itself.")

    # The tests of these names, and those that they come after.
    def needed(self, names):
        found, left = {}, list(names)
        while left:
            name = left.pop()
            if name not in found:
                found[name] = self.tests[name]
                left += found[name].after
        return list(found.values())

    # ---- The quick check and the rest ----

    def read_rest(self, path):
        self.rest_patterns = []
        for line in self.lines(path) if os.path.exists(path) else []:
            pattern, bar, reason = (part.strip() for part in line.partition("|"))
            if not bar or not reason:
                die(f"{path}: cannot read the line '{line}'; write pattern | reason.")
            self.rest_patterns.append(pattern)
        is_rest = matcher(self.rest_patterns)
        for test in self.tests.values():
            test.rest = bool(is_rest(test.name))

    def unmatched(self, patterns):
        return [pattern for pattern in patterns if not fnmatch.filter(self.tests, pattern)]

    # The tests of this check (quick, rest or all) whose names match.
    def choose(self, check, patterns):
        is_chosen = matcher(patterns or ["*"])
        return [
            test
            for test in self.tests.values()
            if (check == "all" or test.rest == (check == "rest")) and is_chosen(test.name)
        ]
