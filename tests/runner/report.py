# SPDX-License-Identifier: BSD-3-Clause
"""What a run prints."""
import os
import shutil

HEAD, TAIL = 40, 30  # lines of a log: the cause is usually at its beginning, its consequences at the end
STACKS = 80  # at the end of the log of a test that exceeded its limit
AGAIN = 80  # lines of the failures that are printed again
SLOWEST = 20


def excerpt(lines, tail):
    if len(lines) <= HEAD + tail:
        return lines
    return [*lines[:HEAD], "[...]", *lines[-tail:]]


# The outcome of a test that did not run.
NOTHING = {"seconds": 0, "left": [], "timed_out": False}


class Report:
    def __init__(self, build):
        self.logs = os.path.join(build, "test-logs")
        self.counts = {"pass": 0, "fail": 0, "skip": 0}
        self.failures = []  # lines
        self.failed = []  # (name, path of its log or None)
        self.times = {}  # name -> (elapsed, processor)

    def show(self, *lines):
        print("\n".join(lines), flush=True)

    def passed(self, test, seconds, log):
        self.counts["pass"] += 1
        self.show(f"ok {test.name} {seconds:.1f} s", *(f"    {line}" for line in log if line.startswith("left out: ")))

    def skipped(self, test, why):
        self.counts["skip"] += 1
        self.show(f"skip {test.name}: {why or 'no reason given'}")

    def failed_as(self, test, why, outcome=NOTHING, log=(), path=None):
        lines = [
            f"FAIL {test.name} {outcome['seconds']:.1f} s: {why}",
            *(f"    left behind: {process}" for process in outcome["left"]),
            *(f"    {line}" for line in excerpt(log, STACKS if outcome["timed_out"] else TAIL)),
        ]
        self.counts["fail"] += 1
        self.failures += lines
        self.failed.append((test.name, self.keep(test, path) if log else None))
        self.show(*lines)

    # Another user's build, or a full disk, takes no log.
    def keep(self, test, path):
        try:
            os.makedirs(self.logs, exist_ok=True)
            return shutil.copyfile(path, os.path.join(self.logs, f"{test.name}.log"))
        except OSError:
            return None

    # Some places keep only the end of a long output.
    def repeat_failures(self):
        if self.failures:
            self.show("The failures again:", *self.failures[:AGAIN])
        if len(self.failed) > 1:
            self.show(*(line for line in self.failures if line.startswith("FAIL ")))

    def say_how_to_go_on(self):
        for name, log in self.failed:
            self.show(f"{name} failed; {f'its log is {log}; ' if log else ''}to run it alone: tests/run {name}")

    def end(self, left_out):
        self.repeat_failures()
        if left_out:
            self.show(f"This check leaves out {left_out} tests; make check-rest runs them.")
        self.say_how_to_go_on()
        self.show("{pass} passed, {fail} failed, {skip} skipped".format(**self.counts))
        return self.counts["pass"] > 0 and not self.counts["fail"]

    # ---- Times ----

    def groups(self):
        groups = {}  # first word of the names -> [tests, elapsed, processor]
        for name, times in self.times.items():
            group = groups.setdefault(name.split("-")[0], [0, 0, 0])
            group[:] = group[0] + 1, group[1] + times[0], group[2] + times[1]
        return sorted(groups.items(), key=lambda item: -item[1][1])

    def time_table(self, elapsed):
        total = [sum(group[i] for _, group in self.groups()) for i in range(3)]
        row = "{:<16} {:>5} {:>10.1f} {:>12.1f} {:>6.1%}"
        yield f"{'group':<16} tests  elapsed s  processor s  share"
        for name, group in self.groups():
            yield row.format(name, *group, group[1] / (total[1] or 1))
        yield row.format("all", *total, 1)
        yield f"The run took {elapsed:.1f} s. The slowest tests, and their processor time:"
        for name, times in sorted(self.times.items(), key=lambda item: -item[1][0])[:SLOWEST]:
            yield f"    {times[0]:8.1f} s {times[1]:8.1f} s  {name}"
