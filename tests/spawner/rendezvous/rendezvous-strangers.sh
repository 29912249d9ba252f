#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rendezvous-strangers: idle connections, a hundred in a second all the time, to the port where the
# processes of a job meet. They take all places, and all of the kernel's queue; the job starts.
set -u
. "$(dirname "$0")/../other-users-functions.sh"
. "$(dirname "$0")/rendezvous-functions.sh"
command -v python3 >/dev/null || {
    echo "there is no python3"
    exit 77
}
use smp
GASNET_CONNECT_TIMEOUT=60

call_idly "${GASNET_MASTER##*:}"
process[strangers]=$strangers
call a 0 2 "$conform" one 0 5
await_strangers 800
call b 1 2 "$conform" one 0 5
for name in a b; do
    code=0
    wait "${process[$name]}" || code=$?
    [ $code = 5 ] || fail "process $name ends with $code: $(cat "$work/$name.err")"
done
kill -KILL "$strangers"
exit 0
