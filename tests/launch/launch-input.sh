#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-input: standard input goes to rank 0.
set -u
. "$(dirname "$0")/launch-functions.sh"

seq 20000 >"$work/in"
expect 0 "$run" -n 3 "$conform" echo <"$work/in"
cmp -s "$work/in" "$work/out" || fail "echo under the launcher"
expect 0 env GASNET_PSHM_NODES=3 "$conform" echo <"$work/in"
cmp -s "$work/in" "$work/out" || fail "echo of a bare executable"
# Only rank 0 reads the input; the other ranks read end of file.
expect 0 "$run" -n 3 readlink /proc/self/fd/0 <"$work/in"
[ "$(grep -c '^/dev/null$' "$work/out")" -eq 2 ] || fail "ranks other than 0 have an input"
grep -qxF "$work/in" "$work/out" || fail "rank 0 does not have the launcher's input"
