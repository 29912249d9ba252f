#!/bin/bash
# exit-ways: however a job ends, its exit code is right, the output is there, and no process is left.
#   exit-ways.sh CONDUIT SPAWNER RANKS [ROUNDS [WAY ...]]   the ways of exit_ways, ROUNDS times each
# SPAWNER: fork; ssh (two hosts, but for conduit smp; those of a bed, else this one by a shell of the test); openmpi
# or mpich, whose mpirun starts the ranks. The rank that leaves is another one in each round.
# In the environment: EXIT_WAYS_ROUNDS stands for ROUNDS, EXIT_WAYS_KEEP_ON=1 goes on after a failure.
set -u
. "$(dirname "$0")/launch-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"
conduit=$1 spawner=$2 ranks=$3
rounds=${EXIT_WAYS_ROUNDS:-${4:-1}}
shift $(($# < 4 ? $# : 4))
program=$work/exit_ways # others may run it too at this time
cp "$AQ_BUILD/exit_ways" "$program" || exit 1
export EXIT_WAYS_MARK=$work # all processes of the jobs have it in their environment, and no others
export GASNET_SUPERNODE_MAXSIZE=$([ "$conduit" = smp ] || echo 1)
export GASNET_EXITTIMEOUT=${GASNET_EXITTIMEOUT:-10} GASNET_QUIET=1
ulimit -c 0

start_by_ssh()
{
    [ -n "${AQ_BED-}" ] || {
        export GASNET_WORKERIP=127.0.0.1 GASNET_SSH_CMD=$work/shell
        printf '#!/bin/bash\nexec sh -c "${!#}"\n' >"$work/shell" && chmod +x "$work/shell"
    }
    launch+=(-spawner=ssh -H "$([ "$conduit" = smp ] && echo n1 || echo n1,n2)")
}

start_by_mpirun()
{
    by_mpirun "$1" 1 true || exit # leaves its environment here
    unset OMPI_MCA_odls_base_sigkill_timeout
    export UCX_DEBUG_SIGNO=0 # else UCX stops at SIGHUP for a debugger
    case $1 in
    openmpi) MPIRUN_CMD="mpirun.openmpi --oversubscribe --bind-to none -np %N %C" ;;
    mpich) MPIRUN_CMD="mpirun.mpich -np %N %C" ;;
    esac
    export MPIRUN_CMD
    launch+=(-spawner=mpi)
}

launch=("$AQ_BUILD/gasnetrun_$conduit")
case $spawner in
fork) launch+=(-spawner=fork) ;;
ssh) start_by_ssh ;;
*) start_by_mpirun "$spawner" ;;
esac

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

# right WANTED CODE WAY SIGNAL: whether that is the exit code to expect. MPICH's mpirun mixes the code of a rank
# that it has seen fail with the signals by which it ends the others.
right()
{
    [ "$spawner" != mpich ] || case $3:$4 in
    silent:* | *:[4689] | *:7 | *:11)
        [ "$2" != 0 ] && [ "$2" != 137 ]
        return
        ;;
    esac
    [ "$1" = "$2" ]
}

# What the ranks have written, without what MPICH's mpirun and UCX add to it.
their_words()
{
    grep -vE '^$|^=|^YOUR APPLICATION|^This typically|^Please see|^\[[0-9.]+\].* UCX ' "$work/out"
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
    [ "$(their_words | sort | uniq -d | wc -l)" = 0 ] || fail "words are there twice: $job"
    ! their_words | grep -qvE '^[0-9]+ begins$' || fail "words that no rank has said: $job"
}

# No process is left of the job, on any host; mpirun does not wait for those it ends.
nothing_left()
{
    local try
    for try in $(seq 40); do
        left=$(grep -lsF "EXIT_WAYS_MARK=$work" /proc/[0-9]*/environ)
        [ "$(cat $(sed 's/environ/comm/' <<<"$left") /dev/null 2>/dev/null | grep -vc '^grep$')" != 0 ] || return 0
        sleep 0.05
    done
    fail "a process is left: $job: $(cat $(sed 's/environ/comm/' <<<"$left") 2>/dev/null | xargs)"
}

one_job()
{
    local way=$1 what=$2 output=$3 leaver=$4 wanted=$5 signal= code=0
    case $what in signal:*) signal=${what#signal:} wanted=$((128 + ${what#signal:})) ;; esac
    job="$conduit by $spawner, $ranks ranks, exit_ways $way $leaver $5"
    GASNET_EXITTIMEOUT=$(timeout_of "$way") timeout -s KILL 60 "${launch[@]}" -n "$ranks" \
        "$program" "$way" "$leaver" "$5" >"$work/out" 2>"$work/err" || code=$?
    right "$wanted" "$code" "$way" "$signal" || fail "exit code $code instead of $wanted: $job"
    words "$output" "$leaver"
    nothing_left
}

done_jobs=0 failed_jobs=0
while read -r way what output; do
    [ $# = 0 ] || [[ " $* " = *" $way "* ]] || continue
    fits "$way" || continue
    for ((round = 0; round < rounds; round++)); do
        (trap - EXIT && one_job "$way" "$what" "$output" $(((round + done_jobs) % ranks)) $((1 + (round + done_jobs) % 100))) </dev/null ||
            failed_jobs=$((failed_jobs + 1))
        done_jobs=$((done_jobs + 1))
        [ $failed_jobs = 0 ] || [ "${EXIT_WAYS_KEEP_ON:-0}" = 1 ] || exit 1
    done
done < <("$program" --list)
[ "$done_jobs" -gt 0 ] || fail "no job was run"
echo "$done_jobs jobs, $failed_jobs failed"
[ $failed_jobs = 0 ]
