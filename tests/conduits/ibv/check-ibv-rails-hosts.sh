#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# ibv-rails-hosts, inside the first of two virtual machines that two wires join, with a verbs device
# on each: jobs over both wires while the second one loses packets; and when it is cut in the middle of
# puts and gets, or of messages too, which the other one then does, between ranks that datagrams have
# connected.
set -u
. "$AQ_SRC/tests/run-functions.sh"
export GASNET_WAITMODE=block GASNET_STATS=1 GASNET_EXITTIMEOUT=30
# A lost packet is sent again after 0.27 seconds, and a rail given up after about a second.
export GASNET_QP_TIMEOUT=16 GASNET_QP_RETRY_COUNT=3

fail()
{
    echo "check-ibv-rails-hosts: $*"
    cat out 2>/dev/null
    exit 1
}

# start ARGUMENT ...: starts a job of two ranks, and waits until the second device is in use, which
# only puts and gets do.
start()
{
    local before
    before=$(packets)
    timeout 150 gasnetrun_ibv -n 2 -H g1,g2 "$@" >out 2>&1 &
    job=$!
    for _ in $(seq 300); do
        [ $(($(packets) - before)) -lt 300 ] || return 0
        kill -0 "$job" 2>/dev/null || break
        sleep 0.1
    done
    fail "the job does not use the second device"
}

# loses PERCENT [PERCENT]: from now on the second wire loses so many of the packets of each host.
loses()
{
    local command="tc qdisc replace dev eth1 root netem loss"
    $command "$1%" && ssh -F /run/bed/ssh_config g2 "PATH=$PATH $command ${2:-$1}%" ||
        fail "netem cannot be set"
}

# Prints how many packets the second device has sent.
packets()
{
    cat /sys/class/infiniband/rxe1/ports/1/hw_counters/sent_pkts
}

# says RANKS PATTERN: as many ranks say that of their rails.
says()
{
    [ "$(grep -cE -- "^ibv: rank [0-9]+ over rails: 2 ports, 2 queue pairs a peer; $2" out)" = "$1" ] ||
        fail "not $1 lines match '$2'"
    grep -q 'they did [1-9]' out || fail "the second device did no piece"
}

# How many pieces each rank does on the second device depends on when it is connected.
unmoved='1 of the further ones in use; they did [0-9]+ pieces of puts and gets, and 0 moved to the first'

loses 5 0
GASNET_QP_RETRY_COUNT=7 start conform-seq rma_segment
wait "$job" || fail "a job with 5 % loss ends with exit code $?"
tc -s qdisc show dev eth1 | grep -q 'dropped [1-9]' || fail "no packet was lost, although 5 % should be"
says 2 "$unmoved"
loses 0

# Packets that a wire loses leave the sender, as they do when a cable is cut. A device that is set
# down would leave those of its peer in the queue of the virtual machine, where no real one does.
GASNET_IBV_CONNECT=ud start conform-seq --repeat 4 rma_segment
loses 100
wait "$job" || fail "the job ends with exit code $? when the second wire is cut"
says 2 "0 of the further ones in use; they did [0-9]+ pieces of puts and gets, and [0-9]+ moved to the first"
grep -qE 'and [1-9][0-9]* moved to the first' out || fail "no rank moved anything"
grep -q 'port 1 of rxe1 does not reach rank [01] any more (.*): puts and gets take port 1 of rxe0; ' out ||
    fail "no rank says that port 1 of rxe1 is lost"
loses 0
start conform-seq rma_segment
wait "$job" || fail "the next job ends with exit code $?"
says 2 "$unmoved"

# The second wire becomes that of the first port, which carries the messages, since a device that is
# made anew is the last one. It is cut while puts, gets, atomics and messages are checked, with receive
# threads.
renew="rdma link delete rxe0 && rdma link add rxe0 type rxe netdev eth0"
eval "$renew" && ssh -F /run/bed/ssh_config g2 "PATH=$PATH; $renew" || fail "rxe0 cannot be made again"
touch busy
GASNET_RCV_THREAD=1 GASNET_IBV_CONNECT=ud start chaos_work --while "$PWD/busy" --threads 2
for _ in $(seq 100); do
    # The one that stands by for the first port, and one for puts and gets.
    [ "$(rdma res show qp | grep -c '^link rxe0/1 .* type RC state RTS ')" -lt 2 ] || break
    sleep 0.1
done
sleep 1 # the other rank has them, too
loses 100
for _ in $(seq 600); do
    ! grep -q 'warning: .*: its messages, puts and gets take ' out || break
    sleep 0.1
done
rm busy
wait "$job" || fail "the job ends with exit code $? when the wire of the first port is cut"
grep -qE '^chaos_work: [1-9][0-9]* rounds, lost 0, twice 0, wrong 0$' out || fail "nothing was checked"
[ "$(grep -cE '^ibv: rank [01] moved links to another port 1 times' out)" = 2 ] ||
    fail "not both ranks moved their link"
grep -qE 'warning: port 1 of rxe1 does not reach rank [01] any more .*: its messages, puts and gets take port 1 of rxe0; ' out ||
    fail "no rank says that port 1 of rxe0 carries on"
loses 0

# The same wire loses everything before the ranks speak to each other, which no device reports: a side
# without an answer tries the other one.
GASNET_IBV_CONNECT=ud timeout 60 gasnetrun_ibv -n 2 -H g1,g2 conform_busy call 3 >out 2>&1 &
job=$!
for _ in $(seq 100); do
    [ "$(grep -c ready out)" -lt 2 ] || break
    sleep 0.1
done
loses 100
wait "$job" || fail "the job ends with exit code $? without the first wire"
grep -q '^ibv: rank 0 in all: connected to 1 peers ' out || fail "the ranks did not speak to each other"
loses 0
echo "check-ibv-rails-hosts: all is well"
