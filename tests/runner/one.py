# SPDX-License-Identifier: BSD-3-Clause
"""One test: a process of its own runs its command, ends what is left of it, and says how it went.

That process adopts each process of the test whose parent has ended (a subreaper, prctl(2)), so none
escapes it, and it counts the processor time of all of them.
"""
import contextlib
import ctypes
import json
import os
import resource
import shutil
import signal
import sys
import time

import processes
import stacks
from options import SOURCE

FUNCTIONS = os.path.join(SOURCE, "tests", "run-functions.sh")
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
DEFAULTS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WATCHED = {signal.SIGCHLD, signal.SIGTERM}
GRACE = 2  # seconds from SIGTERM to SIGKILL
LEAVING = 1  # seconds for processes that are about to end
libc = ctypes.CDLL(None, use_errno=True)


class Interrupted(Exception):
    pass


class One:
    """A running test, in the process that watches it. SIGCHLD and SIGTERM are blocked there."""

    def __init__(self, test, environment, folder, log):
        self.test = test
        self.folder = folder
        self.log = log
        self.environment = {**environment, "TMPDIR": folder}
        self.pid = None  # of the command
        self.status = None  # of it, when it has ended
        self.timed_out = False
        self.left = []  # descriptions of processes that did not end

    # Without a process in between, the command has a session of its own, and default signals.
    def spawn(self):
        write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, self.log, write | os.O_APPEND, 0o666),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        os.mkdir(self.folder)
        os.chdir(self.folder)
        self.pid = os.posix_spawnp(
            "bash", ["bash", "-c", f". '{FUNCTIONS}'; {self.test.command}"], self.environment,
            file_actions=actions, setsid=True, setsigmask=(), setsigdef=DEFAULTS,
        )  # fmt: skip

    # Collects processes that have ended; false if there are no others.
    def reap(self):
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self.pid:
                    self.status = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            return False

    # Waits until is_over or for so many seconds; whether it is over.
    def wait(self, seconds, is_over, watched=WATCHED):
        end = time.monotonic() + seconds
        while not is_over():
            left = end - time.monotonic()
            found = signal.sigtimedwait(watched, left) if left > 0 else None
            if found is None:
                return is_over()
            if found.si_signo == signal.SIGTERM:
                raise Interrupted
        return True

    def has_ended(self):
        self.reap()
        return self.status is not None

    def none_is_left(self):
        return not self.reap()

    def run(self):
        began = time.monotonic()
        self.spawn()
        self.timed_out = not self.wait(self.test.limit, self.has_ended)
        self.seconds = time.monotonic() - began
        if self.timed_out:
            self.end_late()
        else:
            self.sweep()
        self.clear()

    # Traps of the test may still remove what it has made.
    def end_late(self):
        with contextlib.suppress(OSError):  # the test goes on, and may remove what is to be shown
            stacks.append(self.log, self.folder, self.environment["AQ_BUILD"], self.reap)
        os.killpg(self.pid, signal.SIGTERM)
        self.wait(GRACE, self.has_ended)
        self.kill()

    # Waits for processes that are about to end; then names and kills the others.
    def sweep(self):
        if not self.wait(LEAVING, self.none_is_left):
            self.left = [f"{process.pid} {process.command()}" for process in processes.descendants()]
            self.kill()

    # A process may start others until it is dead, so this takes turns. One that cannot be killed,
    # as it belongs to another user, stays.
    def kill(self):
        for _ in range(50):
            for process in processes.descendants():
                process.signal(signal.SIGKILL)
            if self.wait(0.1, self.none_is_left, {signal.SIGCHLD}):
                return

    def clear(self):
        os.chdir("/")
        shutil.rmtree(self.folder, ignore_errors=True)

    def outcome(self):
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "code": self.status if self.status is None or self.status >= 0 else 128 - self.status,
            "timed_out": self.timed_out,
            "left": self.left,
            "seconds": self.seconds,
            "processor": used.ru_utime + used.ru_stime,
        }


# In the process of the test. The signals ENDINGS and SIGCHLD are blocked.
def supervise(one, result, runner):
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    try:
        if os.getppid() == runner:
            one.run()
            os.write(result, json.dumps(one.outcome()).encode())
    except BaseException:
        one.kill()
        one.clear()
        raise


# Starts the test; returns its process, and a descriptor from which its outcome can be read. The
# signals ENDINGS and SIGCHLD have to be blocked.
def start(test, environment, folder, log):
    sys.stdout.flush()
    reader, writer = os.pipe()
    runner = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            supervise(One(test, environment, folder, log), writer, runner)
        except Interrupted:
            pass
        except BaseException as error:  # nothing of the runner may go on here
            print(f"run: {test.name}: {error!r}", file=sys.stderr, flush=True)
        os._exit(0)
    os.close(writer)
    return pid, reader


# Returns the outcome of a process that has closed the descriptor; None if it was killed.
def finish(pid, reader):
    with os.fdopen(reader, "rb") as file:
        outcome = file.read()
    os.waitpid(pid, 0)
    return json.loads(outcome) if outcome else None
