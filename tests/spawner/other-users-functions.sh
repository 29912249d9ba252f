# SPDX-License-Identifier: BSD-3-Clause
# Shell functions for tests in which another user of the host (nobody) attacks the user of the tests,
# who has to be root. Needs nothing.
# shellcheck shell=bash

# isolate "$0" "$@": starts the test again with a /tmp, a network and processes of its own, so
# that nothing of this reaches the machine.
isolate()
{
    local tool
    [ "${AQ_ISOLATED-}" != yes ] || return 0
    for tool in setpriv python3 unshare ip; do
        command -v "$tool" >/dev/null || no_strangers "there is no $tool"
    done
    [ "$(id -u)" = 0 ] || no_strangers "only root can act as another user"
    unshare --mount --net --pid --fork true 2>/dev/null || no_strangers "the kernel refuses namespaces"
    case $AQ_BUILD:$AQ_SRC in /tmp/* | *:/tmp/*) no_strangers "the build is in /tmp, which this test hides" ;; esac
    cd / || exit
    AQ_ISOLATED=yes TMPDIR=/tmp exec unshare --mount --net --pid --fork --kill-child --mount-proc bash -c \
        'mount -t tmpfs -o mode=1777 tmp /tmp && ip link set lo up && exec bash "$@"' bash "$@"
}

no_strangers()
{
    echo "no test with another user: $1"
    exit 77
}

# In front of a command of the system: runs it as another user, who may not enter all folders of PATH.
stranger=(env PATH=/usr/bin:/bin setpriv --reuid 65534 --regid 65534 --clear-groups)

# squat NAME word ...: the words and a program listen at NAME (@name: abstract) in the background until
# the test ends, and the queue of callers is full. The folder of a path is made.
squat()
{
    : >"$work/squat" # not what the last one has written
    "${@:2}" python3 -c '
import os, socket, sys, time
os.closerange(3, 256) # pipes on which jobs wait
name = sys.argv[1]
if name[0] == "@":
    name = "\0" + name[1:]
else:
    os.makedirs(os.path.dirname(name), 0o755, exist_ok=True)
listener = socket.socket(socket.AF_UNIX)
listener.bind(name)
if name[0] != "\0":
    os.chmod(name, 0o777)
listener.listen(0)
kept = []
while True:
    caller = socket.socket(socket.AF_UNIX)
    caller.setblocking(False)
    try:
        caller.connect(name)
        kept.append(caller)
    except BlockingIOError:
        break
print("full", flush=True)
time.sleep(600)' "$1" >"$work/squat" &
    pids="$pids $!"
    disown
    until grep -q full "$work/squat"; do
        kill -0 $! 2>/dev/null || fail "nobody listens at $1"
        sleep 0.05
    done
}

# call_idly PORT: makes a hundred idle connections in a second to that port of this host, in the
# background. Sets $strangers; the caller kills that.
call_idly()
{
    python3 -c '
import resource, socket, sys, time
files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
port, end, kept, made = int(sys.argv[1]), time.time() + 600, [], 0
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
    time.sleep(1 / 100)' "$1" >"$work/strangers" 2>&1 &
    strangers=$!
    disown
}

# await_strangers COUNT: waits until they have made that many connections.
await_strangers()
{
    for _ in $(seq 600); do
        [ "$(($(wc -l <"$work/strangers") * 100))" -ge "$1" ] && return
        sleep 0.1
    done
    fail "the strangers have made too few connections: $(cat "$work/strangers")"
}
