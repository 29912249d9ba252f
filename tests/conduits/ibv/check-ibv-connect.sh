#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs inside the first of two virtual machines: connections of conduit ibv by datagrams between
# hosts. 16 ranks connect to each other at the same time, over three rails, while the network loses
# 5 % of all packets.
set -u
. "$AQ_SRC/tests/run-functions.sh"
# With block, ranks that wait leave the processors to the threads that carry packets.
export GASNET_WAITMODE=block

fail()
{
    echo "check-ibv-connect: $*"
    exit 1
}

on_g2()
{
    ssh -F /run/bed/ssh_config g2 "$@"
}

# set_loss PERCENT: from now on so many of the packets that leave a host are lost.
set_loss()
{
    local set="for wire in 0 1 2; do tc qdisc replace dev eth\$wire root netem loss $1% || exit; done"
    bash -c "$set" && on_g2 "$set"
}

counters_say 2 ' in all: ' -n 2 -H g1,g2 hello || exit
! grep -q ' by datagrams: ' messages ||
    fail "connections are made by datagrams though all hosts have addresses"

# Each rank has all connections, and datagrams were sent again, since some were lost. All ranks then
# put into the segments of all others at the same time, which makes two rails with each peer; the
# program checks all bytes.
export GASNET_IBV_CONNECT=ud GASNET_QP_TIMEOUT=16
set_loss 5 || fail "netem cannot be set"
export GASNET_IBV_PORTS=rxe0+rxe1+rxe2
GASNET_CONNECT_STATIC=1 counters_say 16 ' connected to 15 peers by 15 queue pairs' -n 16 -H g1,g2 \
    conform_busy spread 4 4 8192 || exit
[ "$(grep -cE ' over rails: 3 ports, 3 queue pairs a peer; [1-9][0-9]* of .* did [1-9][0-9]* .* and 0 moved to ' messages)" = 16 ] ||
    fail "not all ranks use their rails, or one gave up a rail"
unset GASNET_IBV_PORTS
grep -qE ' sent \([1-9][0-9]* of them again\)' messages || fail "no datagram was sent again"
[ "$(grep -c ' by datagrams: .*(0 of them ignored)' messages)" = 16 ] ||
    fail "datagrams of the job were ignored"
gasnetrun_ibv -n 4 -H g1,g2 conform-seq am_args rma_values || exit
set_loss 0
