#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-diagnose: a job that hangs in one of several ways is diagnosed right.
#   observe-diagnose.sh [LAUNCHER]
set -u
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"
. "$AQ_SRC/tests/other/observe/watch-functions.sh"
launcher=${1:-$run}
export GASNET_CATCH_EXIT=0 # a rank that leaves does not end the job

all='ranks 0-2 wait for [0-9]* s in barrier [0-9]* of the team of all ranks for rank 3, which'
client="in its client's code at watched_work+0x"
declare -A jobs
for what in missing compute handler order messages leave loop; do
    start_job 4 $what "$launcher"
    jobs[$what]=$job
done
start_job 2 loop "$launcher" # with a processor for each rank, loops are not counted until asked
jobs[alone]=$job
start_job 4 hold "$launcher"
sleep 0.5
stopped=$("$top" --once "$job" | awk '$1 == 2 { print $3 }')
kill -STOP "$stopped" || fail "no process of rank 2"
sleep 2.3

# diagnoses WORK SENTENCE ...: the sentences are those of the diagnosis, in this order.
diagnoses()
{
    local what=$1
    shift
    expect 1 "$top" --diagnose "${jobs[$what]}"
    [ ! -s "$work/err" ] || fail "gasnet_top complains about $what"
    printf '%s\n' "$@" >"$work/wanted"
    [ "$(wc -l <"$work/out")" -eq $# ] || fail "$what: not $# sentences"
    local i=0 sentence
    for sentence; do
        i=$((i + 1))
        sed -n ${i}p "$work/out" | grep -qx -- "$sentence" || fail "$what: no '$sentence'"
    done
}

diagnoses missing "$all is not in the library: it sleeps or waits for something else, $client.*"
diagnoses compute "$all is not in the library: it computes, $client.*"
diagnoses handler "$all is in handler 66 for [0-9]* s, $client.*"
diagnoses leave "$all is gone: its process [0-9]* has ended without leaving the job"
diagnoses loop "$all polls in a loop of its own.*"
diagnoses alone "rank 0 waits for [0-9]* s in barrier [0-9]* of the team of all ranks for rank 1, which polls in a loop of its own.*"
diagnoses order "collective 2 of the team of all ranks: ranks 0, 2, 3 call barrier (rank 0 is at watched_work+0x.*), rank 1 calls broadcast (rank 1 is at watched_work+0x.*); all members of a team have to call its collectives in the same order"
zero='waits for [0-9]* s for a message from rank 1'
one='waits for [0-9]* s for a message from rank 0'
diagnoses messages \
    "ranks 2, 3 wait for [0-9]* s in barrier 2 of the team of all ranks for rank 0, which $zero; for rank 1, which $one" \
    "rank 1 $one, which $zero" "rank 0 $zero, which $one" \
    'a cycle: rank 0 waits for a message from rank 1 and so for rank 1, rank 1 waits for a message from rank 0 and so for rank 0'

# Rank 0 has not begun the barrier, and rank 2, which has, is stopped.
jobs[hold]=$job
expect 1 "$top" --diagnose --no-stack "$job"
grep -q "^ranks 1, 3 wait for .* for rank 0, which is not in the library" "$work/out" || fail "rank 0 is not named"
grep -qx "rank 2 is stopped: kill -CONT $stopped lets it go on" "$work/out" || fail "rank 2 is not named"
kill -CONT "$stopped"
release_job
for job in "${jobs[@]}"; do
    kill -TERM "$job" 2>/dev/null
    wait "$job" 2>/dev/null
done
exit 0
