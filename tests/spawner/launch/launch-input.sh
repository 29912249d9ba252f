#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-input: standard input goes to rank 0.
set -u
. "$(dirname "$0")/launch-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"

seq 20000 >"$work/in"
expect 0 "$run" -n 3 "$conform" echo <"$work/in"
cmp -s "$work/in" "$work/out" || fail "echo under the launcher"
expect 0 env GASNET_PSHM_NODES=3 "$conform" echo <"$work/in"
cmp -s "$work/in" "$work/out" || fail "echo of a bare executable"
# Only rank 0 reads the input; the other ranks read end of file.
expect 0 "$run" -n 3 readlink /proc/self/fd/0 <"$work/in"
[ "$(grep -c '^/dev/null$' "$work/out")" -eq 2 ] || fail "ranks other than 0 have an input"
grep -qxF "$work/in" "$work/out" || fail "rank 0 does not have the launcher's input"

# A terminal that is not the controlling one stops nobody, so that its input reaches rank 0.
printf '#!/bin/bash\nexec sh -c "${!#}"\n' >"$work/shell" && chmod +x "$work/shell"
if command -v script >/dev/null; then
    (sleep 1 && printf 'typed\n\004' && sleep 2) | GASNET_QUIET=1 GASNET_SSH_CMD=$work/shell GASNET_WORKERIP=127.0.0.1 \
        timeout -s KILL 60 script -qec "setsid -w $AQ_BUILD/gasnetrun_udp -spawner=ssh -H n1 -n 2 $conform echo" /dev/null >"$work/out" ||
        fail "a job with a terminal of others does not end"
    [ "$(tr -d '\r\004\b^D' <"$work/out" | grep -c '^typed$')" = 2 ] || fail "not the echo of the terminal and that of rank 0"
else
    left_out 'a terminal that is not the controlling one' 'script is missing (package bsdutils)'
fi
