#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Faults in a universe of four hosts: daemons that hang, strangers, a lost network, another version,
# another user, the death of the coordinator, and processes that are killed at random: universe-faults
# [KILLS], 6 without a number.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
. "$AQ_SRC/tests/spawner/universe/universe-functions.sh"
all=$(hosts 1 4)

# at HOST command ...: runs it there, in this universe.
at()
{
    on_host "$1" env GASNET_UNIVERSE="$GASNET_UNIVERSE" "${@:2}"
}

# port_of HOST: the port of its daemon.
port_of()
{
    at "$1" ss -Hltnp | awk '/gasnet-daemon/ { sub(/.*:/, "", $4); print $4; exit }'
}

# lacks HOST PATTERN options ...: the job does not start because of that host, and leaves nothing.
lacks()
{
    expect 1 "$run" "${@:3}" "$hello"
    grep -qE "host $1: .*$2" "$work/err" || fail "no message names host $1: $2"
    [ ! -s "$work/out" ] || fail "ranks ran nevertheless"
}

export GASNET_UDP_HOST_TIMEOUT=2 # so that a lost network ends something after 4 s
expect 0 "$boot" -H "$all"
silent

# A daemon that hangs, and continues.
daemon=$(find_on n3 gasnet-daemon)
kill -STOP "$daemon"
GASNET_SPAWN_TIMEOUT=0.5 lacks n3 'did not answer within' -n 3 -H n1,n2,n3
kill -CONT "$daemon"
expect 0 "$run" -n 3 -H n1,n2,n3 "$hello"

# Strangers at the port of a daemon: without the protocol, with an invented proof, and silent ones
# that fill all places.
port=$(port_of n2)
[ -n "$port" ] || fail "the daemon of n2 has no port"
on_host n4 bash -c "exec 3<>/dev/tcp/10.77.0.2/$port && echo hello >&3 && cat <&3" >"$work/answer" 2>/dev/null &
version=$("$run" --version | sed 's/.* //')
for _ in $(seq 400); do # the daemon keeps the connection for a while
    ! grep -qF "$version" "$work/answer" || break
    sleep 0.05
done
grep -qF "$version" "$work/answer" || fail "a daemon does not say its version"
on_host n4 bash -c "exec 3<>/dev/tcp/10.77.0.2/$port &&
    printf '\2\0\0\0\0\0\0\44\0\0\0\2%032d\4\0\0\0\0\0\0\40%032d' 0 0 >&3 && cat <&3" >/dev/null 2>&1
on_host n4 bash -c "for i in {1..70}; do exec {fd}<>/dev/tcp/10.77.0.2/$port; done; echo full; sleep 60" >"$work/full" 2>&1 &
for _ in $(seq 100); do
    grep -q full "$work/full" && break
    sleep 0.05
done
expect 0 "$run" -n 3 -H n1,n2,n3 "$hello"
on_host n4 pkill -x sleep
on_host n4 pkill -x bash
wait

# The network of a host is lost: its job ends, the others and later jobs go on.
start_job 2 "$run" -n 2 -H n1,n4 sh -c 'echo ready; exec sleep 1000'
on_host n4 ip link set eth0 down
code=0
wait "$sup" || code=$?
sup=
[ $code -eq 1 ] || fail "the job of a lost host ends with $code"
grep -q 'host n4: the connection to it is lost' "$work/err" || fail "no message names the host"
await_table "0 front idle" "1 n1 ready" "2 n2 ready" "3 n3 ready" "4 n4 lost"
expect 0 "$run" -n 3 -H n1,n2,n3 "$hello"
on_host n4 ip link set eth0 up
on_host n4 ip addr show eth0 | grep -q 10.77.0.4 || on_host n4 ip addr add 10.77.0.4/24 dev eth0
# It finds no coordinator that knows it, and ends.
for _ in $(seq 400); do
    [ -n "$(find_on n4 gasnet-daemon)" ] || break
    sleep 0.05
done
expect 0 "$grow" n4

# The coordinator dies: the next one takes over, jobs go on, numbers too.
at n3 "$run" -n 2 -H n1,n2 sh -c "echo ready; exec cat $work/hold" >"$work/out" 2>"$work/err" </dev/null &
sup=$!
mkfifo "$work/hold"
wait_lines 2
ours=$(readlink /proc/self/ns/net)
for pid in $(pgrep -x gasnet-daemon); do
    [ "$(readlink "/proc/$pid/ns/net")" != "$ours" ] || kill -KILL "$pid"
done
at_table()
{
    local _
    for _ in $(seq 300); do
        at n3 "$recon" | table_rows >"$work/rows" 2>/dev/null
        [ "$(cat "$work/rows")" = "$(printf '%s\n' "$@")" ] && return
        sleep 0.05
    done
    fail "after the death of the coordinator: $(cat "$work/rows")"
}
at_table "0 front lost" "1 n1 ready" "2 n2 ready" "3 n3 ready" "5 n4 ready"
: >"$work/hold"
wait "$sup" || fail "a job ends with the coordinator: $?"
sup=
expect 0 on_host n3 env GASNET_UNIVERSE="$GASNET_UNIVERSE" "$run" -n 3 -H n1,n2,n4 "$hello"
# The next coordinator, and the one after it, die together; n3 is the last but one.
kill -KILL "$(find_on n1 gasnet-daemon)" "$(find_on n2 gasnet-daemon)"
at_table "0 front lost" "1 n1 lost" "2 n2 lost" "3 n3 ready" "5 n4 ready"
expect 0 on_host n4 env GASNET_UNIVERSE="$GASNET_UNIVERSE" "$run" -n 2 -H n3,n4 "$hello"
expect 0 on_host n3 env GASNET_UNIVERSE="$GASNET_UNIVERSE" env GASNET_SSH_OPTIONS="$GASNET_SSH_OPTIONS" "$grow" n1
at_table "0 front lost" "2 n2 lost" "3 n3 ready" "5 n4 ready" "6 n1 ready"
expect 0 on_host n4 env GASNET_UNIVERSE="$GASNET_UNIVERSE" "$halt"
none_left

# A universe of another version.
newer=9${version:1} # the linker lets other texts share the end of this one
mkdir -p "$work/other/bin"
for program in gasnetrun gasnet_boot gasnet_halt; do
    sed "s/${version//./\\.}/$newer/g" "$AQ_BUILD/$program" >"$work/other/bin/$program"
    chmod +x "$work/other/bin/$program"
done
expect 0 "$work/other/bin/gasnet_boot"
expect 2 "$run" -n 2 "$hello"
says "has version $newer of Aqueduct, this program is $version"
expect 1 "$grow" n1
says "has version"
expect 0 "$work/other/bin/gasnet_halt"
printf 'n1\nn2 prefix=%s\n' "$work/other" >"$work/nodes"
expect 1 env GASNET_SSH_NODEFILE="$work/nodes" "$boot"
grep -q "host n2: version $newer of Aqueduct is installed there" "$work/err" || fail "no version"
none_left

# Two users on one host never meet. The other one may not be allowed to read the build, and runs a
# copy.
name=test-$$ copy=$(mktemp -d /tmp/aqueduct-user.XXXXXX)
cp "$AQ_BUILD/gasnetrun" "$boot" "$halt" "$copy" && cp "$run" "$copy/run"
chmod 755 "$copy"
other=(setpriv --reuid 65534 --regid 65534 --clear-groups env -C / HOME=/tmp GASNET_SSH_REMOTE_PATH=/ GASNET_UNIVERSE="$name")
expect 0 env GASNET_UNIVERSE=$name "$boot"
expect 1 "${other[@]}" "$copy/gasnet_halt"
says "no daemon of a universe '$name' of this user"
expect 0 "${other[@]}" "$copy/gasnet_boot"
expect 0 "${other[@]}" "$copy/run" -conduit=udp -n 2 -H front sh -c 'id -u'
[ "$(sort -u "$work/out")" = 65534 ] || fail "ranks of another user"
expect 0 env GASNET_UNIVERSE=$name "$run" -n 2 -H front sh -c 'id -u'
[ "$(sort -u "$work/out")" = 0 ] || fail "ranks of another user"
expect 1 env GASNET_UNIVERSE=/tmp/gasnet-65534/$name "$halt"
says 'belongs to another user'
expect 0 "${other[@]}" "$copy/gasnet_halt"
expect 0 env GASNET_UNIVERSE=$name "$halt"
rm -r "$copy"
rmdir /tmp/gasnet-65534 2>/dev/null
none_left

# only_daemons_left WHO: everything else has ended 10 s after the death of WHO.
only_daemons_left()
{
    local left _
    for _ in $(seq 200); do
        left=$(processes | grep -v gasnet-daemon)
        [ -n "$left" ] || return 0
        sleep 0.05
    done
    fail "after the death of $1: $left"
}

# Random kills: of a daemon, a helper, a guard, a supervisor, a rank or the launcher. The job ends,
# and the universe goes on.
RANDOM=${AQ_SEED:-1}
expect 0 "$boot" -H "$(hosts 1 3)"
for i in $(seq "${1:-6}"); do
    start_job 3 "$run" -n 3 -H "$(hosts 1 3)" bash -c 'echo ready; exec sleep 1000'
    victims=(gasnet-daemon gasnet-helper gasnet-guard gasnet-ranks sleep launcher)
    victim=${victims[$(((i + RANDOM * (i > 6)) % 6))]} host=n$((RANDOM % 3 + 1))
    if [ "$victim" = launcher ]; then
        kill -KILL "$sup"
    else
        kill -KILL $(find_on "$host" "$victim")
    fi
    code=0
    wait "$sup" || code=$?
    sup=
    [ $code -ne 0 ] || fail "the job ends with 0 although $victim of $host was killed"
    [ "$victim" != gasnet-daemon ] || expect 0 "$grow" "$host"
    only_daemons_left "$victim on $host"
    expect 0 "$run" -n 3 -H "$(hosts 1 3)" true
done
expect 0 "$halt"
none_left
exit 0
