#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs whose processes are started one by one on four hosts of the bed, without ssh (spawner
# rendezvous): one job over all hosts, faults, deaths, a network that is cut.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
. "$AQ_SRC/tests/spawner/rendezvous/rendezvous-functions.sh"
unset GASNET_SSH_OPTIONS
export GASNET_SSH_CMD=/no/ssh GASNET_WAITMODE=block

# place: a new port of n1, a new key.
place()
{
    use udp
    GASNET_MASTER=${1:-10.77.0.1}:$(free_port)
    GASNET_EXITTIMEOUT=20
}

# call_on HOST NAME RANK SIZE command: one process on a host.
call_on()
{
    call "${@:2:3}" on_host "$1" "${@:5}"
}

# on_all command: two processes on each of four hosts, the last rank first.
on_all()
{
    local rank
    for rank in 7 6 5 4 3 2 1 0; do
        call_on "n$((rank % 4 + 1))" $rank $rank 8 "$@"
    done
}

# over CODE: the job has ended everywhere.
over()
{
    ends "$1" "${!process[@]}"
    none_left
}

for address in 10.77.0.1 '[fd77::1]'; do
    place "$address"
    on_all bash -c 'hostname; exec "$0"' "$hello"
    over 0
    told
    [ "$(cat "$work"/*.out | grep -c 'of 8, greeted')" = 8 ] || fault "not one job of 8 ranks"
    for host in n1 n2 n3 n4; do
        [ "$(cat "$work"/*.out | grep -cx $host)" = 2 ] || fault "not 2 ranks on $host"
    done
done
place
on_all "$AQ_BUILD/conform-seq" query_position am_args am_long
over 0
place
on_all "$conform" one 5 7
over 7

# A name that becomes known later.
place
GASNET_MASTER=first.job:${GASNET_MASTER##*:}
for host in n1 n2; do
    cp /etc/hosts "$work/hosts-$host"
    on_host $host mount --bind "$work/hosts-$host" /etc/hosts
done
call_on n1 0 0 2 "$conform" pid
call_on n2 1 1 2 "$conform" pid
sleep 1
for host in n1 n2; do
    echo '10.77.0.1 first.job' >>"$work/hosts-$host"
done
over 0
told

# Two hosts have the same rank; a host is missing.
place
call_on n1 0 0 3 "$conform" pid
call_on n2 1 1 3 "$conform" pid
call_on n3 2 1 3 "$conform" pid
over 1
told 'GASNET_RANK is 1 in two processes, on host '
for host in 2 3; do
    cat "$work"/*.err | grep -q "on host n$host (10.77.0.$host)" || fault "no address of n$host"
done
place
export GASNET_CONNECT_TIMEOUT=5
call_on n1 0 0 3 "$conform" pid
call_on n3 2 2 3 "$conform" pid
over 1
told '2 of 3 processes had arrived within 5 seconds (GASNET_CONNECT_TIMEOUT); missing: rank 1;'

# await_on HOST FILE CONDITION: waits until a line of /proc/net/FILE there meets that of awk.
await_on()
{
    for _ in $(seq 200); do
        [ -z "$(on_host "$1" awk "$3" "/proc/net/$2")" ] || return 0
        sleep 0.05
    done
    fault "no line of $2 with $3 on $1"
}

# calling: three processes on three hosts, of a job of five; and another one on the last host, which
# is a member of the first one there.
calling()
{
    place
    call_on n1 0 0 5 "$@"
    call_on n3 2 2 5 "$@"
    await_on n3 tcp "\$3 ~ \"$(printf ':%04X' "${GASNET_MASTER##*:}")\" && \$4 == \"01\""
    call_on n3 3 3 5 "$@"
    await_on n3 unix '$6 == "03" && $8 ~ /^@aqueduct-/'
}

# running: that job, with the fifth process, whose ranks have joined it.
running()
{
    calling "$conform" ready 100
    call_on n2 1 1 5 "$conform" ready 100
    call_on n2 4 4 5 "$conform" ready 100
    wait_ready 5
}

# helper_of RANK: prints the process id of its helper on n3, by the environment that it has kept.
helper_of()
{
    local pid
    for pid in $(find_on n3 gasnet-helper); do
        ! tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "GASNET_RANK=$1" || echo "$pid"
    done
}

# Before the job starts: a process that leads on its host dies, and one that is a member.
for rank in 2 3; do
    calling "$conform" pid
    kill -KILL "$(pgrep -f "^$conform pid" | while read -r pid; do
        ! tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "GASNET_RANK=$rank" || echo "$pid"
    done)"
    ends 137 $rank
    over 1
    told "the process of rank $rank on host n3 (10.77.0.3) was lost"
done

# Deaths on other hosts than that of rank 0.
running
kill -KILL "$(find_on n2 conform_exit | head -1)"
over 137
told ' of 5 (process '
running
kill -KILL "$(helper_of 2)"
ends 137 2
over 1
told "rank 2 on host n3: "
running
kill -KILL "$(helper_of 3)"
ends 137 3
over 1
told "rank 3 on host n3: the connection to it is lost: its helper has ended; the job is ended"

# A network that is cut: both sides end. That of rank 0 knows which host it was.
export GASNET_UDP_HOST_TIMEOUT=3
running
ip link set v3 down
over 1
told 'host n3 has not answered for 1.5 seconds' 'rank 2 on host n3: ' 'rank 2 has lost its connection to rank 0' 'rank 3 has lost its connection to rank 0'
ip link set v3 up
exit 0
