#!/bin/bash
# exit-kill: kill -9 of any process of a job, rank or launcher, at any moment from its start to its end
# leaves no process behind, and the job has ended in time.
#   exit-kill.sh CONDUIT RANKS [TIMES]    EXIT_KILL_TIMES in the environment stands for TIMES
set -u
. "$(dirname "$0")/launch-functions.sh"
conduit=$1 ranks=$2 times=${EXIT_KILL_TIMES:-${3:-20}}
export GASNET_SUPERNODE_MAXSIZE=$([ "$conduit" = smp ] || echo 1)
ways=(one inside traffic return all quit)
RANDOM=8 # the same moments in each run, as far as that goes

# A process of the job: the launcher, or one of its children as far as they are there.
pick()
{
    local all=("$sup" $(cat "/proc/$sup/task/$sup/children" 2>/dev/null))
    echo "${all[RANDOM % ${#all[@]}]}"
}

for ((i = 0; i < times; i++)); do
    way=${ways[RANDOM % ${#ways[@]}]}
    "$AQ_BUILD/gasnetrun_$conduit" -n "$ranks" "$AQ_BUILD/exit_ways" "$way" $((RANDOM % ranks)) 7 >"$work/out" 2>"$work/err" &
    sup=$!
    sleep "0.$(printf %03d $((RANDOM % 180)))"
    victim=$(pick)
    kill -KILL "$victim" 2>/dev/null
    code=0
    wait "$sup" 2>/dev/null || code=$?
    case $code in
    7 | 137) ;;
    *) fail "exit code $code after kill -9 of $([ "$victim" = "$sup" ] && echo the launcher || echo a rank): $way" ;;
    esac
    sup=
    for _ in $(seq 100); do
        pgrep -s 0 -x exit_ways >/dev/null || continue 2
        sleep 0.05
    done
    fail "a process is left: $way"
done
