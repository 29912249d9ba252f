#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-debugging: variables for debugging: backtraces, and waiting for a debugger.
set -u
. "$(dirname "$0")/launch-functions.sh"
segv=$(kill -l SEGV)
usr1=$(kill -l USR1)

# traces COUNT: standard error has that many backtraces, each with frames of the program.
traces()
{
    local frames
    [ "$(grep -c 'backtrace of process' "$work/err")" -eq "$1" ] || fail "not $1 backtraces: ${*:2}"
    frames=$(grep -c 'conform_exit.*\[0x[0-9a-f]*\]' "$work/err")
    [ "$frames" -ge "$1" ] || fail "backtraces without frames of the program"
}

# dies COUNT VARIABLE=VALUE ...: rank 1 of 4 dies of SIGSEGV; there are COUNT backtraces, and the
# launcher reports the death.
dies()
{
    local count=$1
    shift
    expect $((128 + segv)) env "$@" "$AQ_BUILD/gasnetrun_$conduit" -n 4 "$conform" signal 1 "$segv"
    grep -q 'rank 1 of 4 .* was killed by SIGSEGV' "$work/err" || fail "rank and signal are not named"
    traces "$count" "$conduit" "$@"
    [ "$count" = 0 ] || grep -q '^\*\*\* GASNet: rank 1 of 4 on host .*: backtrace' "$work/err" || fail "the backtrace has no rank"
}

conduit=udp
dies 1 GASNET_BACKTRACE=1 GASNET_SUPERNODE_MAXSIZE=1
dies 0 GASNET_BACKTRACE=1 GASNET_SUPERNODE_MAXSIZE=1 GASNET_NO_CATCH_SIGNAL=segv
conduit=smp
dies 0 GASNET_BACKTRACE=0
dies 1 GASNET_BACKTRACE=1
dies 1 GASNET_BACKTRACE=1 GASNET_BACKTRACE_NODES=1
dies 1 GASNET_BACKTRACE=1 GASNET_BACKTRACE_NODES='*'
dies 1 GASNET_BACKTRACE=1 GASNET_BACKTRACE_NODES=0-2
dies 0 GASNET_BACKTRACE=1 GASNET_BACKTRACE_NODES=0,2-4
dies 0 GASNET_BACKTRACE=1 GASNET_NO_CATCH_SIGNAL=SEGV
dies 0 GASNET_BACKTRACE=1 GASNET_NO_CATCH_SIGNAL="bus,$segv"
dies 0 GASNET_BACKTRACE=1 GASNET_NO_CATCH_SIGNAL='*'
dies 1 GASNET_BACKTRACE=1 GASNET_NO_CATCH_SIGNAL=SIGBUS

# The debugger prints all threads, or the one with the signal. If it fails, the next way is taken.
dies 1 GASNET_BACKTRACE=1 GASNET_BACKTRACE_TYPE=NONE,EXECINFO
if gdb -nx -batch -p $$ -ex detach >/dev/null 2>&1; then
    for all in 0 1; do
        code=0
        GASNET_BACKTRACE=1 GASNET_BACKTRACE_TYPE=GDB,EXECINFO GASNET_BACKTRACE_MT=$all GASNET_SUPERNODE_MAXSIZE=1 \
            "$AQ_BUILD/gasnetrun_udp" -n 2 "$AQ_BUILD/exit_ways" segv 1 1 >"$work/out" 2>"$work/err" || code=$?
        [ $code = $((128 + segv)) ] || fail "exit code $code after a backtrace by gdb"
        [ "$(grep -c '^#[0-9]* .*way_segv' "$work/err")" = 1 ] || fail "gdb does not name the function"
        [ "$(grep -c '^Thread ' "$work/err")" = $all ] || fail "GASNET_BACKTRACE_MT=$all has no effect"
    done
fi

expect 134 env GASNET_BACKTRACE=1 "$run" -n 2 "$conform" abort 0
traces 1
expect 134 env GASNET_BACKTRACE=1 GASNET_PSHM_NODES=2 "$conform" abort 0
traces 1

# A fatal message comes with a backtrace too; every build refuses this call.
code=0
GASNET_BACKTRACE=1 "$run" -n 2 "$AQ_BUILD/bad_calls" request-none >"$work/out" 2>"$work/err" || code=$?
[ $code -ne 0 ] || fail "exit code 0 after a fatal message"
[ "$(grep -c 'backtrace of process' "$work/err")" -eq 1 ] || fail "no backtrace after a fatal message"

# Waits until each process of the job catches a signal, by number.
wait_caught()
{
    local pid caught
    for pid in $pids; do
        for _ in $(seq 200); do
            caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null)
            (((0x${caught:-0} >> ($1 - 1)) & 1)) && continue 2
            sleep 0.05
        done
        fail "process $pid does not catch signal $1"
    done
}

# Waits until standard error has that many lines with a text.
wait_said()
{
    for _ in $(seq 200); do
        [ "$(grep -c -- "$2" "$work/err")" -ge "$1" ] && return
        sleep 0.05
    done
    fail "not $1 times '$2'"
}

# GASNET_BACKTRACE_SIGNAL makes all ranks print, and the job goes on to its end.
for name in USR1 sigusr1 "$usr1"; do
    start 3 env GASNET_BACKTRACE_SIGNAL="$name" "$run" -n 3 "$conform" sleep 2
    wait_caught "$usr1"
    kill -USR1 "$sup"
    ended 0
    traces 3
done

# A frozen process says how to attach to it, and ends with the job.
for how in launcher bare; do
    if [ $how = launcher ]; then
        start 2 env GASNET_FREEZE=1 "$run" -n 2 "$conform" code 0
    else
        start 2 env GASNET_FREEZE=1 GASNET_PSHM_NODES=2 "$conform" code 0
    fi
    wait_said 2 "GASNET_FREEZE: process .* waits"
    for pid in $pids; do
        grep -q "attach with gdb -p $pid; to continue, set aq_debug_frozen=0 there, or kill -CONT $pid$" "$work/err" ||
            fail "process $pid does not say how"
    done
    kill -TERM "$sup"
    ended 143
done

# SIGCONT lets a frozen process continue: to its start, to its death, or to what it did.
thaw()
{
    wait_said "$1" 'process .* waits'
    kill -CONT $(sed -n 's/.*kill -CONT \([0-9]*\)$/\1/p' "$work/err")
}

for conduit in smp udp; do
    export GASNET_SUPERNODE_MAXSIZE=$([ $conduit = smp ] || echo 1)
    job="$AQ_BUILD/gasnetrun_$conduit -n 2 $conform"
    start 2 env GASNET_FREEZE=1 $job code 5
    thaw 2
    ended 5

    start 2 env GASNET_FREEZE_ON_ERROR=1 $job signal 1 "$segv"
    wait_said 1 "rank 1 of 2 .*GASNET_FREEZE_ON_ERROR: process .* waits"
    kill -TERM "$sup"
    ended 143
    start 2 env GASNET_FREEZE_ON_ERROR=1 $job signal 1 "$segv"
    thaw 1
    ended $((128 + segv))

    start 2 env GASNET_FREEZE_SIGNAL=USR1 $job sleep 1
    wait_caught "$usr1"
    kill -USR1 "$sup"
    thaw 2
    ended 0
    [ "$(grep -c 'GASNET_FREEZE_SIGNAL: process' "$work/err")" = 2 ] || fail "not each process was frozen once"
done
unset GASNET_SUPERNODE_MAXSIZE

"$(dirname "$0")/../../core/job/report-hang.sh" udp
