#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-layout: over smp, functions, variables, libraries and the heap have the same addresses in
# all ranks.
set -u
. "$(dirname "$0")/launch-functions.sh"
layout=$AQ_BUILD/layout

# one_layout RANKS: the last expect was a job of that many ranks, and all printed the same
# addresses.
one_layout()
{
    [ "$(grep -c '^at 0x' "$work/out")" -eq "$1" ] || fail "not $1 lines of addresses"
    [ "$(sort -u "$work/out" | wc -l)" -eq 1 ] || fail "ranks differ in their addresses"
}

# With the launcher, each rank executes the program; also behind a wrapper.
expect 0 "$run" -n 4 "$layout" show
one_layout 4
silent
expect 0 "$run" -n 12 sh -c "exec '$layout' show"
one_layout 12
# Without it, the first process forks the others.
expect 0 env GASNET_PSHM_NODES=4 "$layout" show
one_layout 4
silent
# A container may refuse this: the job warns once and goes on.
code=0
"$layout" deny true 2>"$work/err" || code=$?
[ $code -ne 77 ] || exit 77
expect 0 "$layout" deny "$run" -n 3 "$layout" show
[ "$(grep -c '^at 0x' "$work/out")" -eq 3 ] || fail "not 3 lines of addresses"
says "GASNET_PSHM_NODES=3"
expect 0 env GASNET_QUIET=1 "$layout" deny "$run" -n 3 "$layout" show
silent
# Where addresses are not randomized, there is no warning.
expect 0 setarch -R "$layout" deny "$run" -n 3 "$layout" show
one_layout 3
silent
