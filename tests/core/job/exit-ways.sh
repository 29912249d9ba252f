#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# exit-ways: for every way to end a job, the exit code is right, the output is complete, and no
# process is left.
#   exit-ways.sh CONDUIT SPAWNER RANKS [ROUNDS [WAY ...]]   the ways of exit_ways, ROUNDS times each
# SPAWNER: see exit-functions.sh. Each round has a different leaving rank.
# Environment: EXIT_WAYS_ROUNDS replaces ROUNDS; EXIT_WAYS_KEEP_ON=1 continues after a failure.
set -u
. "$(dirname "$0")/exit-functions.sh"
conduit=$1 spawner=$2 ranks=$3
rounds=${EXIT_WAYS_ROUNDS:-${4:-1}}
shift $(($# < 4 ? $# : 4))
prepare "$conduit" "$spawner"

# Whether the way makes sense with this number of ranks and is short enough.
fits()
{
    case $1 in
    stop) [ "$ranks" -gt 1 ] ;;
    esac
}

# Ranks that do not poll are ended only after the timeout.
timeout_of()
{
    case $1 in
    spin | stop) echo 0.3 ;;
    *) echo "$GASNET_EXITTIMEOUT" ;;
    esac
}

# The output of the ranks, without the additions of MPICH's mpirun and UCX.
rank_output()
{
    grep -vE '^$|^=|^YOUR APPLICATION|^This typically|^Please see|^\[[0-9.]+\].* UCX ' "$work/out"
}

# Standard output has the last words of all ranks, each complete and once.
words()
{
    local rank
    for ((rank = 0; rank < ranks; rank++)); do
        grep -qx "$rank begins" "$work/out" || fail "the last words of rank $rank are lost: $job"
    done
    [ "$(rank_output | sort | uniq -d | wc -l)" = 0 ] || fail "a rank's output is there twice: $job"
    ! rank_output | grep -qvE '^[0-9]+ begins$' || fail "output that no rank has printed: $job"
}

one_job()
{
    local way=$1 what=$2 leaver=$3 wanted=$4 code=0
    work=$work/$done_jobs/ # with the slash no folder is the beginning of another one
    export EXIT_MARK=$work TMPDIR=$work # two mpirun of Open MPI that make one folder at a time can fail
    mkdir "$work" || fail "no folder"
    case $what in signal:*) wanted=$((128 + ${what#signal:})) ;; esac
    job="$conduit by $spawner, $ranks ranks, exit_ways $way $leaver $4"
    GASNET_EXITTIMEOUT=$(timeout_of "$way") timeout -s KILL 60 "${launch[@]}" -n "$ranks" \
        "$program" "$way" "$leaver" "$4" >"$work/out" 2>"$work/err" || code=$?
    [ "$code" = "$wanted" ] || fail "exit code $code instead of $wanted: $job"
    words
    nothing_left 20 "$job" # mpirun does not wait for those that it ends
    [ "$conduit" != ibv ] || device_holds "$device_before"
}

at_once=3 # jobs, which mostly wait
if [ "$conduit" = ibv ]; then
    device_before=$(device) at_once=1
fi
done_jobs=0 failed_jobs=0 running=()

# Waits for the jobs that run.
end_jobs()
{
    local job
    for job in ${running[*]-}; do
        wait "$job" || failed_jobs=$((failed_jobs + 1))
    done
    running=()
    [ $failed_jobs = 0 ] || [ "${EXIT_WAYS_KEEP_ON:-0}" = 1 ] || exit 1
}

while read -r way what; do
    [ $# = 0 ] || [[ " $* " = *" $way "* ]] || continue
    fits "$way" || continue
    for ((round = 0; round < rounds; round++)); do
        (trap - EXIT && one_job "$way" "$what" $(((round + done_jobs) % ranks)) $((1 + (round + done_jobs) % 100))) </dev/null &
        running+=($!)
        done_jobs=$((done_jobs + 1))
        [ ${#running[@]} -lt $at_once ] || end_jobs
    done
done < <("$program" --list)
end_jobs
[ "$done_jobs" -gt 0 ] || fail "no job was run"
echo "$done_jobs jobs, $failed_jobs failed"
[ $failed_jobs = 0 ]
