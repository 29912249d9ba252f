#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Many jobs in a universe of this host: one after the other (30, or universe-jobs NUMBER), then 8 at
# once. Nothing of them is left in its daemon: no process, no descriptor, no memory.
set -u
. "$(dirname "$0")/../launch/launch-functions.sh"
. "$(dirname "$0")/universe-functions.sh"
hello=$AQ_BUILD/hello
host=$(hostname)
jobs=${1:-30}
export GASNET_CONDUIT=smp

# What the daemon holds: descriptors, children, kilobytes of data.
holds()
{
    ls "/proc/$daemon/fd" | wc -l
    wc -w <"/proc/$daemon/task/$daemon/children"
    grep -c gasnet "/proc/$daemon/maps"
    [ "$1" = without_memory ] || awk '/^VmData/ { print $2 }' "/proc/$daemon/status"
}

# await_holds MORE WANTED: in a moment the daemon holds that.
await_holds()
{
    for _ in $(seq 200); do
        [ "$(holds "$1")" = "$2" ] && return
        sleep 0.05
    done
    fail "the daemon holds $(holds "$1" | xargs), and held $(xargs <<<"$2") before"
}

# Prints what the daemon holds when its children have ended and it has closed what was for them, or
# what it holds after 10 s if they have not.
settled()
{
    local now last=
    for _ in $(seq 100); do
        now=$(holds "$1")
        [ "$(sed -n 2p <<<"$now")" = 0 ] && [ "$now" = "$last" ] && break
        last=$now
        sleep 0.1
    done
    echo "$now"
}

clean_universe()
{
    "$halt" 2>/dev/null
    clean_up
}
trap clean_universe EXIT

memory=with_memory
nm "$AQ_BUILD/gasnetrun" 2>/dev/null | grep -qE '__(asan|tsan)_init' && memory=without_memory
expect 0 "$boot"
silent
# The first process that listens for the universe; a child of it may do so for a moment.
daemon=$(pgrep -x gasnet-daemon | while read -r pid; do
    grep -q "$GASNET_UNIVERSE" <(ss -Hxlp 2>/dev/null | grep "pid=$pid,") && echo "$pid" && break
done)
[ -n "$daemon" ] || fail "there is no daemon"
for _ in $(seq 5); do
    expect 0 "$run" -n 2 -H "$host" "$hello"
done
before=$(settled $memory)
[ "$(sed -n 2p <<<"$before")" = 0 ] || fail "the daemon keeps children when its jobs have ended"
for _ in $(seq "$jobs"); do
    expect 0 "$run" -n 2 -H "$host" "$hello"
    silent
done
await_holds $memory "$before"
several=
for i in 1 2 3 4 5 6 7 8; do
    "$run" -n 2 -H "$host" "$hello" >"$work/out$i" 2>&1 &
    several="$several $!"
done
for pid in $several; do
    wait "$pid" || fail "one of eight jobs ends with $?"
done
for i in 1 2 3 4 5 6 7 8; do
    [ "$(grep -c '^Hello from rank' "$work/out$i")" -eq 2 ] || fail "job $i has not printed all"
done
await_holds without_memory "$(head -n 3 <<<"$before")"

# A universe that is there twice, one that is not there, and the end.
expect 1 "$boot"
says 'runs on this host already'
expect 2 env GASNET_UNIVERSE="$work/v" "${run/smp/udp}" -n 2 "$hello"
says "no daemon of a universe '$work/v'"
expect 2 env GASNET_UNIVERSE=none "$run" -spawner=universe -n 2 "$hello"
grep -q 'no universe of this user is on this host' "$work/err" || fail "no reason"
expect 1 env GASNET_UNIVERSE="$work/no/v" "$boot"
grep -q "the socket $work/no/v@.* cannot be made: No such file" "$work/err" || fail "no reason"
mkdir "$work/open" && chmod 777 "$work/open"
expect 1 env GASNET_UNIVERSE="$work/open/v" "$boot"
grep -q 'others can write to it' "$work/err" || fail "a folder that others can write to is taken"
expect 0 "$halt"
# Its end closes the connection of gasnet_halt a moment before the process is gone.
has_ended()
{
    local state
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$daemon/status" 2>/dev/null)
    [ -z "$state" ] || [ "$state" = Z ]
}
for _ in $(seq 200); do
    ! has_ended || break
    sleep 0.02
done
has_ended || fail "the daemon is left"
[ ! -e "$GASNET_UNIVERSE@$host" ] || fail "the socket is left"
exit 0
