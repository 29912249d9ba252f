#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-signals: signals to the launcher reach every rank.
set -u
. "$(dirname "$0")/launch-functions.sh"

loop='trap "echo got USR1" USR1; echo ready; while :; do sleep 0.05; done'
start 3 "$run" -n 3 bash -c "$loop"
wait_lines 3
kill -USR1 "$sup"
wait_lines 6
[ "$(grep -c 'got USR1' "$work/out")" -eq 3 ] || fail "SIGUSR1 did not reach all ranks"
kill -TERM "$sup"
ended 143
silent

# A rank that handles the signal and exits decides the code.
start 2 "$run" -n 2 bash -c 'trap "exit 0" TERM; echo ready; while :; do sleep 0.05; done'
wait_lines 2
kill -TERM "$sup"
ended 0

# Ranks that ignore the signal are killed after the exit timeout.
start 2 env GASNET_EXITTIMEOUT=0.5 "$run" -n 2 bash -c 'trap "" HUP; echo ready; while :; do sleep 0.05; done'
wait_lines 2
kill -HUP "$sup"
ended 129
says "ranks 0-1"

for sig in TERM HUP; do
    start 2 "$run" -n 2 sleep 60
    kill -$sig "$sup"
    ended $((128 + $(kill -l $sig)))
done

# Stopped and continued.
start 2 "$run" -n 2 sleep 1
kill -TSTP "$sup"
sleep 0.2
kill -CONT "$sup"
ended 0

# A reader that reads nothing does not keep the launcher from ending.
mkfifo "$work/fifo"
sleep 60 <"$work/fifo" &
reader=$!
"$run" -n 2 yes >"$work/fifo" 2>"$work/err" &
sup=$!
sleep 0.5
kill -TERM "$sup"
ended 143
kill "$reader"
wait "$reader" 2>/dev/null
exit 0
