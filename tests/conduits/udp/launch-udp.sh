#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-udp: what a job over udp reports about a bad interface, name or ports, and what it does
# with foreign datagrams.
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_CONDUIT=udp # for programs that are linked for smp
hello=$AQ_BUILD/hello
export GASNET_SUPERNODE_MAXSIZE=1

# A range of ports below those that the kernel assigns; different in each test.
ports=$((20000 + $$ % 10000))

# refused TEXT: the last job ended with exactly this sentence, no matter how many ranks found the
# fault.
refused()
{
    says "$1"
    [ ! -s "$work/out" ] || fail "the program ran nevertheless"
}

# Interfaces, networks and names that do not exist.
expect 1 env GASNET_WORKERIP=198.51.100.0 "$run" -n 3 "$hello"
refused 'GASNET_WORKERIP: no interface of this host is in the network 198.51.100.0; choose a network'
grep -q '; 2 more ranks could not start either$' "$work/err" || fail "no message says how many ranks found the fault"
expect 1 env GASNET_WORKERIP=nosuch.invalid "$run" -n 3 "$hello"
refused "GASNET_WORKERIP: 'nosuch.invalid' is neither an address nor a name that is known here"
for good in 127.0.0.1 127.0.0.0; do
    expect 0 env GASNET_WORKERIP=$good "$run" -n 2 "$hello"
    silent
done

# One port per rank is enough; with one less, a rank finds all ports taken.
expect 0 env GASNET_UDP_PORTS=$ports-$((ports + 2)) "$run" -n 3 "$hello"
silent
expect 1 env GASNET_UDP_PORTS=$ports-$((ports + 1)) "$run" -n 3 "$hello"
refused "GASNET_UDP_PORTS: every port from $ports to $((ports + 1)) is taken on interface lo; give a wider range"
! grep -q 'more rank' "$work/err" || fail "ranks that have a port complain as well"

# If the other ranks wait for the rank that could not start, the fault is reported at once.
GASNET_CATCH_EXIT=0 GASNET_UDP_PORTS=$ports begin "$run" -n 2 "$hello"
wait_for_message "GASNET_UDP_PORTS: every port from $ports to $ports is taken"

# Faults before a program has joined: a setting that only ranks have, a foreign launcher.
expect 1 "$run" -n 3 env GASNET_UDP_PORTS=x "$hello"
refused "GASNET_UDP_PORTS: 'x' is not a port"
GASNET_CONDUIT=udp GASNET_PSHM_NODES=3 GASNET_WORKERIP=nosuch.invalid expect 1 "$hello"
refused "GASNET_WORKERIP: 'nosuch.invalid' is neither an address"

# ---- Datagrams of strangers ----

# The first 24 bytes of a header (docs/wire-udp.md): no proof, version $1, both acknowledgements
# with all fields and nothing else, 104 bytes, job $2.
header()
{
    head -c 16 /dev/zero && printf "\\x$1\\x69\\x68\\x00\\x$2\\x5a\\xa5\\x5a"
}

# stranger COUNT BYTES VERSION JOB: sends such datagrams to rank 1, padded with zeros.
stranger()
{
    local i
    { header "$3" "$4" && head -c $(($2 - 24)) /dev/zero; } >"$work/datagram"
    for ((i = 0; i < $1; i++)); do
        dd if="$work/datagram" bs="$2" status=none >"/dev/udp/127.0.0.1/$((ports + 1))"
    done
}

# Rank 0 reads until the pipe is closed, while rank 1 waits in a barrier.
mkfifo "$work/pipe"
GASNET_STATS=1 GASNET_UDP_PORTS=$ports-$((ports + 1)) "$run" -n 2 "$conform" echo <"$work/pipe" >"$work/out" 2>"$work/err" &
sup=$!
exec 9>"$work/pipe"
echo begin >&9
socket=$(printf ':%04X ' $((ports + 1)))
for _ in $(seq 400); do
    grep -q "$socket" /proc/net/udp && break
    sleep 0.05
done
stranger 103 104 05 11 # of a later release
stranger 7 104 04 22   # of another job
stranger 2 30000 04 33 # longer than its header says
stranger 1 65507 05 44 # the longest that there is
stranger 5 55 04 55    # shorter than any header
exec 9>&-
ended 0
[ "$(cat "$work/out")" = begin ] || fail "the job did not do its work"
grep -q 'rank 1 in all: .*; dropped 7 truncated, 104 other version, 7 other job; ' "$work/err" ||
    fail "what was dropped is not what was sent"
grep -q 'rank 0 in all: .*; dropped none; ' "$work/err" || fail "rank 0 dropped something"
says '100 datagrams were dropped (other version), the last of them from 127.0.0.1:'
grep -q 'run all ranks with the same release of the library$' "$work/err" || fail "no remedy"
exit 0
