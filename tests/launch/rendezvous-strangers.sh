#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rendezvous-strangers: idle connections, a hundred in a second all the time, to the port where the
# processes of a job meet. They take all places, and all of the kernel's queue; the job starts.
set -u
. "$(dirname "$0")/rendezvous-functions.sh"
command -v python3 >/dev/null || {
    echo "there is no python3"
    exit 77
}
use smp
GASNET_CONNECT_TIMEOUT=60

# Ends with the test, after a minute at the latest.
python3 -c '
import resource, socket, sys, time
files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
port, end, kept, made = int(sys.argv[1]), time.time() + 120, [], 0
while time.time() < end:
    caller = socket.socket()
    caller.setblocking(False)
    try:
        caller.connect(("127.0.0.1", port))
    except OSError:
        pass
    kept.append(caller)
    made += 1
    if made % 100 == 0:
        print(made, flush=True)
    if len(kept) > files - 20:
        kept.pop(0).close()
    time.sleep(1 / 100)' "${GASNET_MASTER##*:}" >"$work/strangers" 2>&1 &
strangers=$!
process[strangers]=$strangers
disown
call a 0 2 "$conform" one 0 5
for _ in $(seq 600); do
    [ "$(wc -l <"$work/strangers")" -ge 8 ] && break
    sleep 0.1
done
call b 1 2 "$conform" one 0 5
for name in a b; do
    code=0
    wait "${process[$name]}" || code=$?
    [ $code = 5 ] || fail "process $name ends with $code: $(cat "$work/$name.err")"
done
kill -KILL "$strangers"
exit 0
