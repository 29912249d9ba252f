#!/bin/bash
# exit-ways: however a job ends, its exit code is right, the output is there, and no process is left.
#   exit-ways.sh CONDUIT RANKS [ROUNDS [WAY ...]]   the ways of exit_ways, over smp, udp or ibv, ROUNDS times each
# The rank that leaves is another one in each round. EXIT_WAYS_ROUNDS in the environment stands for ROUNDS.
set -u
. "$(dirname "$0")/launch-functions.sh"
conduit=$1 ranks=$2
rounds=${EXIT_WAYS_ROUNDS:-${3:-1}}
shift $(($# < 3 ? $# : 3))
launcher=$AQ_BUILD/gasnetrun_$conduit
program=$AQ_BUILD/exit_ways
export GASNET_SUPERNODE_MAXSIZE=$([ "$conduit" = smp ] || echo 1)
export GASNET_EXITTIMEOUT=${GASNET_EXITTIMEOUT:-10}

# Whether the way makes sense with this number of ranks, and takes no longer than it must.
fits()
{
    case $1 in
    stop) [ "$ranks" -gt 1 ] ;;
    esac
}

# Ranks that do not look are only ended when the time is over.
timeout_of()
{
    case $1 in
    spin | stop) echo 0.3 ;;
    *) echo "$GASNET_EXITTIMEOUT" ;;
    esac
}

# words WHO LEAVER: standard output is made of the last words of these ranks at least, each whole and once.
words()
{
    local rank
    for ((rank = 0; rank < ranks; rank++)); do
        case $1 in
        leaver) [ "$rank" = "$2" ] || continue ;;
        others) [ "$rank" != "$2" ] || continue ;;
        esac
        grep -qx "$rank begins" "$work/out" || fail "the last words of rank $rank are lost: $job"
    done
    [ "$(sort "$work/out" | uniq -d | wc -l)" = 0 ] || fail "words are there twice: $job"
    ! grep -qvE '^[0-9]+ begins$' "$work/out" || fail "words that no rank has said: $job"
}

one_job()
{
    local way=$1 what=$2 output=$3 leaver=$4 wanted=$5
    case $what in signal:*) wanted=$((128 + ${what#signal:})) ;; esac
    job="$conduit, $ranks ranks, exit_ways $way $leaver $5"
    GASNET_EXITTIMEOUT=$(timeout_of "$way") expect "$wanted" timeout -s KILL 60 \
        "$launcher" -n "$ranks" "$program" "$way" "$leaver" "$5"
    words "$output" "$leaver"
    ! pgrep -s 0 -x exit_ways >/dev/null || fail "a process is left: $job"
    [ "$conduit" != ibv ] || device_holds "$device_before"
    done_jobs=$((done_jobs + 1))
}

[ "$conduit" != ibv ] || device_before=$(device)
done_jobs=0
while read -r way what output; do
    [ $# = 0 ] || [[ " $* " = *" $way "* ]] || continue
    fits "$way" || continue
    for ((round = 0; round < rounds; round++)); do
        one_job "$way" "$what" "$output" $(((round + done_jobs) % ranks)) $((1 + (round + done_jobs) % 100))
    done
done < <("$program" --list)
[ "$done_jobs" -gt 0 ] || fail "no job was run"
echo "$done_jobs jobs"
