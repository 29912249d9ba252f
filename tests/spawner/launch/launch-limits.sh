#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-limits: a job that needs larger files than the limit allows (ulimit -f) ends with a
# sentence about the limit, not by a signal: shared memory, and output into a file.
set -u
. "$(dirname "$0")/launch-functions.sh"
hello=$AQ_BUILD/hello

# limited BLOCKS command ...: runs it with that limit, except for standard error. Sets $code.
limited()
{
    (ulimit -f "$1" && shift && exec "$@" 2>&1 >"$work/out") | cat >"$work/err"
    code=${PIPESTATUS[0]}
}

for net in smp udp; do
    [ -x "$AQ_BUILD/gasnetrun_$net" ] || continue
    for blocks in 0 1 16 100 1000; do
        limited $blocks "$AQ_BUILD/gasnetrun_$net" -n 2 "$hello"
        [ "$code" -eq 1 ] || fail "exit code $code with a limit of $blocks KiB over $net"
        says 'raise the limit of the size of a file (ulimit -f)'
    done
done
limited 1 env GASNET_PSHM_NODES=2 "$hello"
[ "$code" -eq 1 ] || fail "exit code $code without a launcher"
says 'raise the limit of the size of a file (ulimit -f)'

# Output of a job on one host, and on several.
for hosts in "" "-H localhost"; do
    limited 16 "$AQ_BUILD/gasnetrun_udp" -n 2 $hosts sh -c 'yes | head -c 100000'
    [ "$code" -eq 1 ] || fail "exit code $code when output finds no room $hosts"
    says 'standard output cannot be written (File too large)'
    [ "$(stat -c %s "$work/out")" -eq 16384 ] || fail "the output is not as long as it may be"
done
exit 0
