#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-plain: programs that do not use GASNet.
set -u
. "$(dirname "$0")/launch-functions.sh"

expect 0 "$run" -n 3 echo word
[ "$(grep -c '^word$' "$work/out")" -eq 3 ] || fail "not three words"
silent
expect 3 "$run" -n 1 sh -c 'exit 3'
says "exit code 3"
expect 0 "$run" -n 2 sh -c 'sleep 1; exit 0'
# A GASNet program behind a shell joins the job.
expect 0 "$run" -n 2 sh -c "'$conform' code 0"
silent
# Processes that a rank leaves behind end with the job.
expect 0 "$run" -n 1 sh -c 'sleep 60 >/dev/null 2>&1 & echo $!'
pids=$(cat "$work/out")
none_left
