#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Hosts that cannot be started, each for its own reason: the launcher reports how many of how many
# started, and which did not and why; no process is left. The bed has the names refuses and wrongkey
# for this test.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"

# lacks HOST PATTERN options ...: the job does not start, because this host cannot be started.
lacks()
{
    local host=$1 pattern=$2
    shift 2
    expect 1 "$run" "$@" "$hello"
    grep -qE "host $host: .*$pattern" "$work/err" || fail "no message names host $host: $pattern"
    grep -q '[0-9] of [0-9] hosts started' "$work/err" || fail "no message says how many started"
    [ ! -s "$work/out" ] || fail "ranks ran nevertheless"
    none_left
}

for algorithm in tree window linear; do
    export GASNET_SPAWN_ALGORITHM=$algorithm
    lacks refuses 'Connection refused' -n 3 -H n1,refuses,n2
    grep -q '2 of 3 hosts started' "$work/err" || fail "no message says that 2 of 3 started"
done
unset GASNET_SPAWN_ALGORITHM
lacks wrongkey 'Host key verification failed' -n 3 -H n1,wrongkey,n2
lacks nosuch 'Could not resolve' -n 2 -H n1,nosuch
lacks refuses 'Connection refused' -n 2 -H refuses,wrongkey
grep -q 'host wrongkey: ' "$work/err" && grep -q '0 of 2 hosts started' "$work/err" || fail "no message names both"

# A host fails that should have started others.
GASNET_SSH_OUT_DEGREE=1 lacks refuses 'Connection refused' -n 4 -H n1,refuses,n2,n3
grep -q 'host n3: host refuses should have started it' "$work/err" || fail "no message names the hosts behind"
grep -q '1 of 4 hosts started' "$work/err" || fail "no message says that 1 of 4 started"

# A host that hangs.
listener=$(pgrep -P "$(cat "$AQ_BED/n3/pid")")
kill -STOP "$listener"
GASNET_SPAWN_TIMEOUT=1 lacks n3 'did not answer within 1 seconds' -n 3 -H n1,n2,n3
kill -CONT "$listener"

# A host that is down.
on_host n3 ip link set eth0 down
GASNET_SPAWN_TIMEOUT=1 lacks n3 '(did not answer within|No route to host)' -n 3 -H n1,n2,n3
on_host n3 ip link set eth0 up
on_host n3 ip addr show eth0 | grep -q 10.77.0.3 || on_host n3 ip addr add 10.77.0.3/24 dev eth0

# Aqueduct is not installed on a host; another version is; the shell prints output of its own.
printf 'n1\nn2 prefix=/nonexistent\n' >"$work/nodes"
GASNET_SSH_NODEFILE=$work/nodes lacks n2 '(No such file|not found)' -n 2
mkdir -p "$work/other/bin"
printf '#!/bin/sh\necho "aqueduct-helper 1 0.0.1 - - -"\nread x\n' >"$work/other/bin/gasnetrun"
chmod +x "$work/other/bin/gasnetrun"
echo "n2 prefix=$work/other" >"$work/nodes"
GASNET_SSH_NODEFILE=$work/nodes lacks n2 'version 0.0.1 of Aqueduct' -n 1
printf '#!/bin/sh\necho Welcome; echo; echo "What a day" >&2; exec %s "$@"\n' "$AQ_BUILD/gasnetrun" >"$work/other/bin/gasnetrun"
GASNET_SSH_NODEFILE=$work/nodes expect 0 "$run" -n 2 "$hello"
silent

# The firewall, ports, and who may call.
expect 0 env GASNET_SPAWN_PORTS=50200-50201 "$run" -n 2 -H n1,n2 "$hello"
version=$("$run" --version | sed 's/.* //')
printf '#!/bin/sh\necho "aqueduct-helper 1 %s 10.77.0.254 10.77.0.2 -"; echo here >%s; exec sleep 1000\n' "$version" "$work/here" >"$work/other/bin/gasnetrun"
GASNET_SPAWN_PORTS=50210 GASNET_SSH_NODEFILE=$work/nodes "$run" -n 1 "$hello" >/dev/null 2>&1 &
holder=$!
while [ ! -e "$work/here" ]; do
    sleep 0.05
done
sleep 0.2
expect 1 env GASNET_SPAWN_PORTS=50210 "$run" -n 1 -H n1 "$hello"
grep -q 'host n1: .*widen the range GASNET_SPAWN_PORTS' "$work/err" || fail "no message says that no port is free"
expect 0 env GASNET_SPAWN_PORTS=50210-50211 "$run" -n 1 -H n1 "$hello"
kill -KILL $holder
on_host n2 pkill -x sleep
none_left
expect 0 env GASNET_MASTERIP=10.77.0.254 "$run" -n 2 -H n1,n2 "$hello"

# A name that resolves to the loopback interface of the launcher's host.
expect 0 on_host n1 "$run" -n 4 -H loop,n2,n3 "$hello"
says "host loop: its name resolves to the loopback address 127.0.0.1"
[ "$(wc -l <"$work/out")" -eq 4 ] || fail "not all ranks have said hello"
expect 0 on_host n1 "$run" -n 2 -H n1,n2 "$hello"
silent

# A program that is missing on one host, and a rank that dies before it has joined.
on_host n1 cp "$hello" /run/hello
expect 127 "$run" -n 2 -H n1,n2 /run/hello
grep -q 'on host n2: /run/hello: there is no such file' "$work/err" || fail "no message says where the program is missing"
none_left
expect 137 "$run" -n 4 -H n1,n2 sh -c '[ "$(hostname)" = n1 ] || kill -9 $$; exec "$0"' "$hello"
grep -q 'on host n2: rank .* was killed by SIGKILL' "$work/err" || fail "no message says which rank died"
none_left
expect 1 "$run" -n 4 -H n1,n2 sh -c '[ "$(hostname)" = n1 ] || exit 0; exec "$0"' "$hello"
grep -q 'without joining the job' "$work/err" || fail "no message says that a rank did not join"
none_left
expect 1 env GASNET_SSH_REMOTE_PATH=/nonexistent "$run" -n 1 -H n1 "$hello"
says "the working directory /nonexistent: No such file"
expect 2 env GASNET_SSH_CMD=no-such-shell "$run" -n 1 -H n1 "$hello"
says "the remote shell 'no-such-shell' is not installed"

# The default route does not lead to the other hosts: the interface that reaches them is used.
for i in 1 2; do
    on_host n$i sh -c "ip link add aux0 type veth peer name aux1 && ip link set aux1 up &&
        ip addr add 10.99.$i.1/24 dev aux0 && ip link set aux0 up && ip route add default via 10.99.$i.2"
done
expect 0 "$run" -n 2 -H n1,n2 "$hello"
silent
exit 0
