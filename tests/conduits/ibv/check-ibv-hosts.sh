#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs inside the first of two virtual machines, with jobs of conduit ibv on both. The jobs work if
# the network loses packets, and end with the reason if a process is killed or the network fails.
set -u
. "$AQ_SRC/tests/run-functions.sh"
# With block, ranks that wait leave the processors to the threads that carry packets.
export GASNET_WAITMODE=block

fail()
{
    echo "check-ibv-hosts: $*"
    cat out err 2>/dev/null
    exit 1
}

on_g2()
{
    ssh -F /run/bed/ssh_config g2 "$@"
}

# set_loss OURS THEIRS: from now on so many percent of the packets that leave g1 and g2 are lost.
set_loss()
{
    tc qdisc replace dev eth0 root netem loss "$1%" &&
        on_g2 tc qdisc replace dev eth0 root netem loss "$2%"
}

# Prints how many packets of g1 were lost since the last call of set_loss.
count_lost()
{
    tc -s qdisc show dev eth0 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p'
}

# Starts a job of two ranks that are busy with each other. Sets $launcher.
start()
{
    : >out 2>err # the loop may count lines before the job has opened its files
    gasnetrun_ibv -n 2 -H g1,g2 conform_busy ask 100 >out 2>err &
    launcher=$!
    for _ in $(seq 300); do
        [ "$(wc -l <out)" -lt 2 ] || return 0
        sleep 0.1
    done
    fail "the job did not start"
}

# ends CODES PATTERN: waits until the job ends. It ends with one of these codes, and a line matches.
ends()
{
    local code=0
    wait "$launcher" || code=$?
    [[ $code =~ ^($1)$ ]] || fail "the exit code is $code, not $1"
    grep -qE -- "$2" err || fail "no line matches '$2'"
}

# No rank is left on g2.
none_there()
{
    for _ in $(seq 50); do
        on_g2 pgrep -x conform_busy >left || return 0
        sleep 0.2
    done
    fail "on g2 these ranks are left: $(xargs <left)"
}

gasnetrun_ibv -n 2 -H g1,g2 hostname >out 2>err || fail "a job on two hosts ends with $?"
[ "$(sort out | xargs)" = 'g1 g2' ] || fail "there is not one rank on each host"
counters_say 4 ' connected to 3 peers by 3 queue pairs' -n 4 -H g1,g2 \
    conform-seq am_args rma_values coll_same || exit

# With 16, the device retransmits the lost end of a message after 0.27 seconds.
export GASNET_QP_TIMEOUT=16
set_loss 1 1 || fail "netem cannot be set"
gasnetrun_ibv -n 2 -H g1,g2 conform-seq am_args am_long rma_values || exit
[ "$(count_lost)" -gt 0 ] || fail "no packet was lost, although 1 % should be"
set_loss 5 0 || fail "netem cannot be set"
gasnetrun_ibv -n 2 -H g1,g2 conform-seq am_medium rma_nbi || exit
GASNET_MSG_DEVICE=1 gasnetrun_ibv -n 2 -H g1,g2 device_work all brief || exit
[ "$(count_lost)" -gt 0 ] || fail "no packet was lost, although 5 % should be"
set_loss 0 0

start
on_g2 pkill -KILL -x conform_busy
ends 137 ' on host g2: rank 1 of 2 .* was killed by SIGKILL '
none_there

# The launcher is stopped and hears nothing: rank 0 notices that the connection is lost.
start
kill -STOP "$launcher"
on_g2 pkill -KILL -x conform_busy
sleep 4
kill -CONT "$launcher"
ends '1|137' ' rank 0 of 2 .*: the connection to rank 1 is lost '
none_there

# The device disappears. No process is killed, and the ranks notice it before the launcher does.
export GASNET_QP_RETRY_COUNT=2
start
on_g2 rdma link delete rxe0
ends 1 ' rank [01] of 2 .*: the connection to rank [01] is lost '
none_there
on_g2 rdma link add rxe0 type rxe netdev eth0

# The network fails, and works again after the end of the job.
export GASNET_UDP_HOST_TIMEOUT=3
start
cut='sleep 1; ip link set eth0 down; sleep 20; ip link set eth0 up'
on_g2 "setsid bash -c '$cut' >/dev/null 2>&1 &"
ends 1 '(the connection to rank [01] is lost |host g2: the connection to it is lost)'
for _ in $(seq 100); do
    on_g2 true 2>/dev/null && break
    sleep 0.5
done
none_there
