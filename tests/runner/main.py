# SPDX-License-Identifier: BSD-3-Clause
"""Runs the chosen tests, as many beside each other as the options say."""
import contextlib
import os
import selectors
import shutil
import signal
import sys
import tempfile
import time

import build as builds
import one
import options
import times
from report import NOTHING, Report
from schedule import Schedule
from table import Table

SKIPPED = 77


def lines_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


class Run:
    def __init__(self, given, build, environment, tests):
        self.given = given
        self.build = build
        self.environment = environment
        self.began = time.monotonic()
        self.schedule = Schedule(tests, times.estimator(build))
        self.report = Report(build)
        self.work = tempfile.mkdtemp(prefix="aqueduct-tests.")
        self.started = 0
        self.selector = selectors.DefaultSelector()  # key: descriptor of a running test; data: process, test, log

    # Why the test is skipped; None if it may begin.
    def obstacle(self):
        within = self.given.within
        if within is not None and time.monotonic() - self.began >= within:
            return f"it would begin later than {within} s after the start of this run (--within)"
        return builds.no_room(self.work) or builds.no_room(self.build)

    # Begins the test, or decides without it.
    def begin(self, test):
        need = self.schedule.missing(test)
        why = self.obstacle() if not need else None
        if need and self.schedule.results[need] == "fail":
            self.report.failed_as(test, f"it needs {need}, which failed")
            self.schedule.end(test, "fail")
        elif need or why:
            self.report.skipped(test, why or f"it needs {need}, which was skipped")
            self.schedule.end(test, "skip")
        else:
            self.start(test)

    # Each folder is new, since what a test leaves in one may be impossible to remove.
    def start(self, test):
        self.started += 1
        folder = os.path.join(self.work, str(self.started))
        process, reader = one.start(test, self.environment, folder, folder + ".log")
        self.selector.register(reader, selectors.EVENT_READ, (process, test, folder + ".log"))

    def fill(self):
        while len(self.schedule.running) < self.given.jobs:
            test = self.schedule.pick()
            if not test:
                return
            self.begin(test)

    def end(self, reader, process, test, path):
        self.selector.unregister(reader)
        outcome = one.finish(process, reader)
        if outcome:
            self.report.times[test.name] = (outcome["seconds"], outcome["processor"])
        self.schedule.end(test, self.judge(test, outcome, path))
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)

    # Reports the result, and returns it.
    def judge(self, test, outcome, path):
        log = lines_of(path)
        why = self.fault(test, outcome)
        if why:
            self.report.failed_as(test, why, outcome or NOTHING, log, path)
            return "fail"
        if outcome["code"] == SKIPPED:
            self.report.skipped(test, log[-1] if log else "")
            return "skip"
        self.report.passed(test, outcome["seconds"], log)
        return "pass"

    def fault(self, test, outcome):
        if not outcome:
            return "the process that watches it has ended"
        if outcome["timed_out"]:
            return f"time limit of {test.limit} s"
        if outcome["left"]:
            return f"left {len(outcome['left'])} processes behind, exit code {outcome['code']}"
        return f"exit code {outcome['code']}" if outcome["code"] not in (0, SKIPPED) else None

    # Signals that end the run arrive only while it waits.
    def wait(self):
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, one.ENDINGS)
            return [key for key, _ in self.selector.select()]
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, one.ENDINGS)

    def everything(self):
        self.fill()
        while self.selector.get_map():
            for key in self.wait():
                self.end(key.fd, *key.data)
            self.fill()

    # The processes that watch running tests end them.
    def close(self):
        running = [key.data[0] for key in self.selector.get_map().values()]
        for process in running:
            os.kill(process, signal.SIGTERM)
        for process in running:
            os.waitpid(process, 0)
        shutil.rmtree(self.work, ignore_errors=True)

    def show_times(self):
        if self.given.times:
            print(*self.report.time_table(time.monotonic() - self.began), sep="\n", file=self.given.times, flush=True)


class Interrupted(Exception):
    pass


def interrupted(_number, _frame):
    raise Interrupted


# A run under nohup does not end with its terminal.
def catch_endings():
    signal.pthread_sigmask(signal.SIG_BLOCK, (*one.ENDINGS, signal.SIGCHLD))
    for ending in one.ENDINGS:
        if signal.getsignal(ending) != signal.SIG_IGN:
            signal.signal(ending, interrupted)


def run_tests(given, build, environment, tests, left_out):
    catch_endings()
    run = Run(given, build, environment, tests)
    try:
        run.everything()
        times.write(build, {name: elapsed for name, (elapsed, _) in run.report.times.items()})
        run.show_times()
        return run.report.end(left_out)
    except Interrupted:
        print("run: interrupted.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # nobody reads the results
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    finally:
        run.close()


def main():
    sys.stdout.reconfigure(errors="replace")
    given = options.parse(sys.argv[1:])
    build = builds.find(not given.list, given.as_built or given.list)
    environment = builds.environment(build)
    table = Table(given.table, environment)
    chosen = table.choose(given.check, given.patterns)
    unmatched = table.unmatched(given.patterns)
    for pattern in unmatched:
        print(f"run: no test matches '{pattern}'; tests/run --list prints all names.", file=sys.stderr)
    if given.list:
        print("".join(f"{test.name}\n" for test in chosen), end="")
        sys.exit(2 if unmatched else 0)
    tests = table.needed(test.name for test in chosen)
    left_out = len(table.tests) - len(tests) if given.check == "quick" and not given.patterns else 0
    good = run_tests(given, build, environment, tests, left_out)
    sys.exit(0 if good and not unmatched else 1)
