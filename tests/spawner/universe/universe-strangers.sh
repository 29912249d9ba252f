#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# universe-strangers: idle connections, a hundred in a second all the time, to the port of a daemon.
# They take all its places, and all of the kernel's queue; jobs start.
set -u
. "$(dirname "$0")/../other-users-functions.sh"
isolate "$0" "$@"
. "$(dirname "$0")/../launch/launch-functions.sh"
. "$(dirname "$0")/universe-functions.sh"
host=$(hostname)
export GASNET_CONDUIT=smp
expect 0 "$boot"
port=$(ss -Hltnp | sed -n 's/^.*:\([0-9]*\) .*"gasnet-daemon".*/\1/p')
[ -n "$port" ] || fail "the daemon does not listen"
call_idly "$port"
pids=$strangers
await_strangers 800
for _ in 1 2 3; do
    expect 0 timeout 100 "$run" -n 2 -H "$host" "$AQ_BUILD/hello"
    [ "$(grep -c 'Hello from rank' "$work/out")" -eq 2 ] || fail "not all ranks have said hello"
done
expect 0 "$halt"
exit 0
