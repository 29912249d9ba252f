#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# exit-kill: kill -9 of any process of a job (rank or launcher), at any moment from its start to its
# end, leaves no process behind. The exit code is right, and the launcher names the rank.
#   exit-kill.sh CONDUIT RANKS [TIMES]    EXIT_KILL_TIMES in the environment replaces TIMES
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
conduit=$1 ranks=$2 times=${EXIT_KILL_TIMES:-${3:-20}}
export GASNET_SUPERNODE_MAXSIZE=$([ "$conduit" = smp ] || echo 1)
ways=(one inside traffic return all quit)
RANDOM=8 # the same ways in each run, and the same moments as far as that goes
hit=0 after=0

begin_job()
{
    way=${ways[RANDOM % ${#ways[@]}]}
    begin "$AQ_BUILD/gasnetrun_$conduit" -n "$ranks" "$AQ_BUILD/exit_ways" "$way" $((RANDOM % ranks)) 7
}

# Chooses a process of the job: the launcher, or one of its present children. $rank: -1 is the
# launcher.
pick()
{
    local all=("$sup" $(cat "/proc/$sup/task/$sup/children" 2>/dev/null))
    rank=$((RANDOM % ${#all[@]}))
    victim=${all[rank]}
    rank=$((rank - 1))
}

no_process_left()
{
    for _ in $(seq 100); do
        pgrep -s 0 -x exit_ways >/dev/null || return 0
        sleep 0.05
    done
    fail "a process is left: $way"
}

# end_job CODES: the job must end with one of these codes.
end_job()
{
    code=0
    wait "$sup" 2>/dev/null || code=$?
    sup= over=${EPOCHREALTIME/./}
    [[ " $1 " = *" $code "* ]] || fail "exit code $code after kill -9 of rank $rank (-1: the launcher): $way"
    no_process_left
    [ "$conduit" != ibv ] || device_holds "$device_before"
}

# The message names a rank that was killed while the job ran. A job that had begun to end has its
# own code.
check_message()
{
    local said="rank $rank of $ranks .*(process $victim) was killed by SIGKILL"
    if [ "$code" = 137 ]; then
        hit=$((hit + 1))
        [ "$rank" = -1 ] || grep -q "$said" "$work/err" || fail "nobody says '$said': $way"
    else
        after=$((after + 1))
    fi
}

[ "$conduit" != ibv ] || device_before=$(device)
# The time that a job takes here and now; the first job is slower.
for rank in none none; do
    began=${EPOCHREALTIME/./}
    begin_job
    end_job 7
    lasts=$((over - began))
done

for ((i = 0; i < times; i++)); do
    begin_job
    # Each kill has its own part of that time, so that some of a few kills find the job alive.
    moment=$((RANDOM * 32768 + RANDOM))
    moment=$(((i * lasts + moment % lasts) / times))
    sleep "$((moment / 1000000)).$(printf %06d $((moment % 1000000)))"
    pick
    kill -KILL "$victim" 2>/dev/null
    end_job "7 137"
    check_message
    # Other work had slowed down the job by which the time was measured.
    [ $hit -gt 0 ] || [ $i -lt 2 ] || lasts=$((lasts / 2 + 1))
done
echo "$hit jobs ended by the kill, $after before it"
[ $hit -gt 0 ] || fail "none of the $times jobs was hit"
