# SPDX-License-Identifier: BSD-3-Clause
"""What the processes of a test do that exceeds its limit."""
import os
import shutil
import signal
import stat
import subprocess
import time

import processes

REPORT = signal.SIGUSR2  # GASNET_REPORT_SIGNAL, gasnetrun(1)
REPORT_SECONDS = 2
DEBUGGED = 8  # processes: a debugger takes a second for each
DEBUGGER_SECONDS = 10
FILES = 6  # of the test are shown
SHOWN = 4000  # bytes of each


def catches_report(process):
    for line in processes.read(process.pid, "status").splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (REPORT - 1) & 1)
    return False


def program(process):
    try:
        return os.readlink(f"/proc/{process.pid}/exe")
    except OSError:
        return ""


# Asks the library's processes for their reports; a launcher passes the signal on to its ranks.
def ask_for_reports(ours):
    reporting = set()
    for process in ours:
        if process.parent in reporting:
            reporting.add(process.pid)
        elif catches_report(process):
            reporting.add(process.pid)
            process.signal(REPORT)
    return bool(reporting)


def describe(process):
    waits = processes.read(process.pid, "wchan").strip("0") or "-"
    yield f"process {process.pid} (of {process.parent}) {process.state} in {waits}: {process.command()}"
    stack = processes.read(process.pid, "stack") if process.state == "D" else ""
    yield from (f"    {line}" for line in stack.splitlines())


def debug(process):
    command = ["gdb", "-batch", "-nx", "-p", str(process.pid), "-ex", "thread apply all backtrace"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=DEBUGGER_SECONDS, text=True, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return [f"no stack of process {process.pid}: {error}"]
    lines = (line for line in done.stdout.splitlines() if line.startswith(("#", "Thread")))
    return [f"stack of process {process.pid}:", *(f"    {line}" for line in lines)]


# The regular files of the test, the last changed first.
def files(folder):
    found = (os.path.join(path, name) for path, _, names in os.walk(folder) for name in names)
    regular = ((os.lstat(path), path) for path in found)
    return [path for info, path in sorted(regular, key=lambda pair: -pair[0].st_mtime) if stat.S_ISREG(info.st_mode)]


def end_of_file(path):
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - SHOWN))
        return file.read()


# Tests put the messages of their jobs into files, which show the reports.
def ends_of_files(folder):
    for path in files(folder)[:FILES]:
        end = end_of_file(path)
        if end and b"\0" not in end:
            yield f"the end of the file {os.path.relpath(path, folder)}:"
            yield from (f"    {line}" for line in end.decode(errors="replace").splitlines())


def lines(folder, build, reap):
    found = processes.descendants()
    ours = [process for process in found if program(process).startswith(build + os.sep)]
    if ask_for_reports(ours):
        time.sleep(REPORT_SECONDS)  # nothing says when a report is complete
    reap()
    yield from ends_of_files(folder)
    for process in found:
        yield from describe(process)
    for process in ours[:DEBUGGED] if shutil.which("gdb") else ():
        yield from debug(process)


def append(log, folder, build, reap):
    with open(log, "a", encoding="utf-8", errors="replace") as file:
        file.write("---- The time is over. The processes of the test, and what they do: ----\n")
        for line in lines(folder, build, reap):
            file.write(line + "\n")
            file.flush()
