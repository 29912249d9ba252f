#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-kill: after kill -9 of any process of a job, no process is left.
set -u
. "$(dirname "$0")/launch-functions.sh"

job()
{
    if [ "$1" = launcher ]; then
        start 3 "$run" -n 3 "$conform" sleep 60
    else
        start 3 env GASNET_PSHM_NODES=3 "$conform" sleep 60
    fi
}

for how in launcher bare; do
    job $how
    kill -KILL "$sup"
    ended 137
    for rank in 1 2 3; do
        job $how
        kill -KILL "$(cut -d' ' -f$rank <<<"$pids")"
        ended 137
        says SIGKILL
    done
done

# The same behind a shell, and with stopped ranks.
start 2 "$run" -n 2 bash -c "'$conform' sleep 60; true"
sleep 0.5
for pid in $pids; do
    pids="$pids $(cat "/proc/$pid/task/$pid/children")"
done
kill -KILL "$sup"
ended 137

start 2 "$run" -n 2 "$conform" sleep 60
first=${pids%% *}
kill -STOP "$first"
kill -KILL "$(cut -d' ' -f2 <<<"$pids")"
ended 137
