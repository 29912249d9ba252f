# SPDX-License-Identifier: BSD-3-Clause
"""What the processes of a test do that exceeds its limit."""
import os
import shutil
import signal
import subprocess
import time

import processes

REPORT = signal.SIGUSR2  # GASNET_REPORT_SIGNAL, gasnetrun(1)
REPORT_SECONDS = 2
DEBUGGED = 8  # processes: a debugger takes a second for each
DEBUGGER_SECONDS = 10
SHOWN = 4000  # characters of a file of the test


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
    asked = set()
    for process in ours:
        if process.parent in asked:
            asked.add(process.pid)
        elif catches_report(process):
            asked.add(process.pid)
            process.signal(REPORT)
    return bool(asked)


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


# Tests put the messages of their jobs into files, which show the reports.
def ends_of_files(folder):
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path):
            with open(path, "rb") as file:
                file.seek(max(0, os.path.getsize(path) - SHOWN))
                yield f"the end of the file {name}:"
                yield from (f"    {line}" for line in file.read().decode(errors="replace").splitlines())


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
