#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-codes: the exit code of a job, from the launcher and from a bare executable.
set -u
. "$(dirname "$0")/launch-functions.sh"

both()
{
    expect "$1" "$run" -n 4 "$conform" "${@:2}"
    expect "$1" env GASNET_PSHM_NODES=4 "$conform" "${@:2}"
}

both 0 code 0
silent
both 42 code 42
silent
both 3 code 259
both 1 code 256
silent
both 9 one 2 9
silent
both 0 one 1 0
silent
# However a child of a rank ends, the job goes on.
both 0 children 6
silent
[ "$(sort "$work/out" | xargs)" = "0 goes on 1 goes on 2 goes on 3 goes on" ] || fail "a rank is missing"
# A job that a rank starts is its own.
for name in BIND CONDUIT; do
    expect 5 "$AQ_BUILD/gasnetrun_udp" -n 2 --bind none "$conform" command "GASNET_PSHM_NODES=3 $conform env GASNET_$name; exit 5"
    [ "$(sort "$work/out" | xargs)" = "0 1 2" ] || fail "GASNET_$name of a job reaches another one"
done
both 17 return 17
# With GASNET_CATCH_EXIT=0 a rank may return while others continue; the code is the first nonzero
# one.
GASNET_CATCH_EXIT=0 both 17 return 17
silent
for conduit in smp udp; do
    job="env GASNET_SUPERNODE_MAXSIZE=$([ $conduit = smp ] || echo 1) $AQ_BUILD/gasnetrun_$conduit -n 4 $conform"
    GASNET_EXITTIMEOUT=0.2 expect 17 $job away 2 17 30
    [ ! -s "$work/out" ] || fail "ranks stayed after another had returned"
    GASNET_CATCH_EXIT=0 GASNET_EXITTIMEOUT=0.2 expect 17 $job away 2 17 1
    [ "$(sort "$work/out" | xargs)" = "0 stayed 1 stayed 3 stayed" ] || fail "GASNET_CATCH_EXIT=0 and not all others stayed"
    GASNET_CATCH_EXIT=0 expect 6 $job libc 6
    [ "$(sort "$work/out" | xargs)" = "0 at exit 1 at exit 2 at exit 3 at exit" ] || fail "atexit functions were not all called"
    # gasnet_exit and death end the job nevertheless.
    GASNET_CATCH_EXIT=0 expect 9 $job one 2 9
    GASNET_CATCH_EXIT=0 expect 139 $job signal 1 11
done
both 139 signal 1 11
says "rank 1 of 4"
grep -q SIGSEGV "$work/err" || fail "the signal is not named"
# A stack that is used up is told, in each thread.
ulimit -S -s 8192
both 139 deep 1 main
grep -q 'the stack of the main thread is used up (0x[0-9a-f]* was accessed, and the limit is 8192 KiB)' "$work/err" ||
    fail "no reason for the death"
both 139 deep 1 other
grep -q 'the stack of a thread is used up (0x[0-9a-f]* was accessed)' "$work/err" || fail "no reason for the death"
both 137 signal 3 9
says SIGKILL
both 3 _exit 2 3
says "rank 2 of 4"
both 134 abort 0
# A wrapper that stays and returns 0 does not hide how its program has ended.
printf '#!/bin/sh\n"%s" "$@"\nexit 0\n' "$conform" >"$work/wrap" && chmod +x "$work/wrap"
for conduit in smp udp; do
    job="env GASNET_CONDUIT=$conduit $AQ_BUILD/gasnetrun_$conduit -n 4 $work/wrap"
    expect 1 $job signal 1 9
    grep -qF "has ended without leaving the job, and what started it returned 0" "$work/err" || fail "not told"
    expect 1 $job _exit 2 0
    expect 6 $job libc 6
    grep -qF "ended with exit code 6, without gasnet_exit" "$work/err" || fail "not told"
    for code in 0 9; do
        expect $code $job one 2 $code
        silent
    done
    expect 0 $job return 0
    silent
done
expect 5 env GASNET_PSHM_NODES=1 "$conform" code 5
GASNET_EXITTIMEOUT=1 both 6 compute 0 6
