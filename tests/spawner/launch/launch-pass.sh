#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-pass: arguments, variables, processors, -t and -v.
set -u
. "$(dirname "$0")/launch-functions.sh"

newline='two
lines'
printf '%s\n' 'a b' '"' "'" '$HOME' '\' '' "$newline" '*' >"$work/wanted"
expect 0 "$run" -n 2 "$conform" args 'a b' '"' "'" '$HOME' '\' '' "$newline" '*'
tail -n +3 "$work/out" | cmp -s "$work/wanted" || fail "arguments of a GASNet program" # behind name and mode
expect 0 "$run" -n 1 printf '%s\n' 'a b' '"' "'" '$HOME' '\' '' "$newline" '*'
cmp -s "$work/wanted" "$work/out" || fail "arguments"

export LISTED='a b' UNLISTED=x
expect 0 "$run" -n 1 env
grep -q '^UNLISTED=x$' "$work/out" || fail "without -E every variable is passed"
grep -q '^GASNET_CONDUIT=smp$' "$work/out" || fail "GASNET_CONDUIT is not set"
expect 0 env GASNET_EXITTIMEOUT=9 "$run" -n 1 -E LISTED,MISSING_VARIABLE env
says MISSING_VARIABLE
grep -q '^LISTED=a b$' "$work/out" || fail "-E did not pass a listed variable"
grep -q '^GASNET_EXITTIMEOUT=9$' "$work/out" || fail "-E did not pass GASNET_EXITTIMEOUT"
grep -q '^PATH=' "$work/out" || fail "-E did not pass PATH"
! grep -q '^UNLISTED=' "$work/out" || fail "-E passed more than what is listed"

# A rank's children do not see the launcher's variable; a stale one is refused with a sentence.
expect 0 "$run" -n 2 "$conform" env GASNET_SPAWN_CONTROL
! grep -q fork: "$work/out" || fail "GASNET_SPAWN_CONTROL is still set after init"
for stale in fork:1:0:1 fork:77:0:1 fork: nonsense fork:3:99999:1; do
    code=0
    GASNET_SPAWN_CONTROL=$stale "$conform" code 0 >"$work/out" 2>"$work/err" || code=$?
    [ $code -ne 0 ] || fail "a stale GASNET_SPAWN_CONTROL is taken for good"
    grep -q GASNET_SPAWN_CONTROL "$work/err" || fail "a stale GASNET_SPAWN_CONTROL is not named"
done

# -t starts nothing.
expect 0 "$run" -t -n 3 sh -c "touch '$work/started'"
[ ! -e "$work/started" ] || fail "-t has started the program"
grep -q '3 ranks' "$work/out" || fail "-t does not tell"
expect 0 "$run" -v -n 2 true
grep -q 'rank 1 is process' "$work/err" || fail "-v does not tell the processes"

# Binding.
cpus=$(nproc)
expect 0 "$run" -n "$cpus" -c 1 sh -c 'grep Cpus_allowed_list /proc/self/status'
silent
[ "$(sort -u "$work/out" | wc -l)" -eq "$cpus" ] || fail "-c 1 did not give each rank its own processor"
expect 0 "$run" -n $((cpus + 1)) -c 1 true
says "not bound"
