#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-top-smp-hostile: root asks for the stack of a job of another user, whose memory file names a
# process of root as the rank, or a signal that is none for reports. Nobody gets a signal. Another
# job has more memory files than gasnet_top may open at first.
set -u
. "$AQ_SRC/tests/spawner/other-users-functions.sh"
isolate "$0" "$@"
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"
. "$AQ_SRC/tests/other/observe/watch-functions.sh"

# Handles the signals of the words, and writes down which have come.
handler='
import signal, sys
def note(number, frame):
    print("signal", number, flush=True)
for number in sys.argv[2:]:
    signal.signal(int(number), note)
print("there", flush=True)
while True:
    signal.pause()'

# A job of one rank, of which the memory file says: process $1 (0: this one) with report signal $2.
job='
import os, signal, struct, sys
def note(number, frame):
    print("signal", number, flush=True)
file = os.memfd_create("aqueduct-rank")
pid, number = int(sys.argv[1]) or os.getpid(), int(sys.argv[2])
os.write(file, b"AQRANK\0\0" + struct.pack("IIiiQIIIIQQ", 4, 1, os.getpid(), pid, 7, 0, 1, 0, number, 1, 1))
os.ftruncate(file, 1 << 16)
signal.signal(number, note)
print("there", flush=True)
while True:
    signal.pause()'

# hostile PROCESS SIGNAL TEXT: gasnet_top of root says TEXT of such a job, and sends no signal.
hostile()
{
    : >"$work/job" # not what the last one has written
    "${stranger[@]}" python3 -c "$job" "$1" "$2" >"$work/job" &
    local pid=$!
    pids="$pids $pid"
    await there "$work/job"
    expect 1 "$top" --stack 0 "$pid"
    grep -qF "$3" "$work/err" || fail "no '$3'"
    kill -KILL $pid
    wait $pid 2>/dev/null
    ! grep signal "$work/job" "$work/victim" || fail "a process got a signal"
}

: >"$work/victim"
python3 -c "$handler" - 12 15 >"$work/victim" &
victim=$!
pids=$victim
disown
await there "$work/victim"
hostile $victim 12 'does not hold that file, or is of another user than the file: it gets no signal'
hostile $victim 15 'does not hold that file, or is of another user than the file: it gets no signal'
hostile 0 15 'its client handles or ignores the signal itself'

# The name of a process does not reach the terminal as it is.
"${stranger[@]}" bash -c 'printf "\033[31mred\n" >/proc/self/comm; echo there; sleep 600 & wait' >"$work/named" &
pids="$pids $!"
disown
await there "$work/named"
expect 1 "$top" --once $!
grep -qF '(?[31mred?)' "$work/err" || fail "no name, or a raw one"

: >"$work/job"
"${stranger[@]}" python3 -c '
import os, signal, struct
files = [os.memfd_create("aqueduct-rank") for rank in range(200)]
for rank, file in enumerate(files):
    os.write(file, b"AQRANK\0\0" + struct.pack("IIiiQIIIIQQ", 4, 1, os.getpid(), os.getpid(), 7, rank, 200, 0, 12, 1, 1))
    os.ftruncate(file, 1 << 16)
print("there", flush=True)
signal.pause()' >"$work/job" &
pids="$pids $!"
disown
await there "$work/job"
start_job 2 hold
(ulimit -S -n 100 && expect 0 "$top" --once "$job" && silent) || exit 1
(ulimit -n 100 && expect 1 "$top" --once "$job" &&
    grep -qF 'with 100 open files it sees only a part of the ranks of this host: raise ulimit -n' "$work/err") || fail "no reason"
release_job
exit 0
