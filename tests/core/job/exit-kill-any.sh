#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# exit-kill-any: kill -9 of any process of a job (rank, helper or launcher), at any moment from its
# start to its end, leaves no process behind. The job ends in time, with an exit code that reports
# the kill.
#   exit-kill-any.sh CONDUIT SPAWNER RANKS [TIMES]    SPAWNER: fork, ssh; see exit-functions.sh
# Environment: EXIT_KILL_TIMES replaces TIMES, EXIT_KILL_SEED determines the moments.
set -u
. "$(dirname "$0")/exit-functions.sh"
conduit=$1 spawner=$2 ranks=$3 times=${EXIT_KILL_TIMES:-${4:-20}}
ways=(one inside traffic return all quit)
RANDOM=${EXIT_KILL_SEED:-8} # the same moments in each run, as far as that goes
prepare "$conduit" "$spawner"

# The time that a job takes to start, in milliseconds.
begin=${EPOCHREALTIME/./}
expect 7 "${launch[@]}" -n "$ranks" "$program" all 0 7
ms=$(((${EPOCHREALTIME/./} - begin) / 1000 + 50))
[ $ms -lt 1000 ] || ms=999

# Waits for the launcher, which must not hang.
job_code()
{
    local try
    for try in $(seq 600); do
        kill -0 "$sup" 2>/dev/null || break
        sleep 0.05
    done
    ! kill -0 "$sup" 2>/dev/null || fail "the job hangs after kill -9 of $victim: $way: $(ps -o pid,args $(processes))"
    code=0
    wait "$sup" 2>/dev/null || code=$?
    sup=
}

declare -A killed=()
hits=0
for ((tries = 0; hits < times && tries < 10 * times; tries++)); do
    way=${ways[RANDOM % ${#ways[@]}]}
    begin "${launch[@]}" -n "$ranks" "$program" "$way" $((RANDOM % ranks)) 7
    sleep "0.$(printf %03d $((RANDOM % ms)))"
    all=($(processes))
    pid=${all[RANDOM % (${#all[@]} + 1)]:-$sup}
    victim=$(cat "/proc/$pid/comm" 2>/dev/null)
    if [ -n "$victim" ] && kill -KILL "$pid" 2>/dev/null; then
        hits=$((hits + 1))
        killed[$victim]=$((${killed[$victim]:-0} + 1))
    fi
    job_code
    [ "$code" != 0 ] || fail "exit code 0 after kill -9 of $victim: $way"
    nothing_left 100 "kill -9 of $victim: $way"
done 2>/dev/null # the shell reports killed launchers
for victim in "${!killed[@]}"; do
    echo "$victim: ${killed[$victim]}"
done
[ $hits = "$times" ] || fail "only $hits processes were killed"
