#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# ibv-rails, in a virtual machine with three verbs devices on links of their own: jobs of conduit
# ibv over two and three ports, with as many queue pairs a peer or more; ranks with different numbers
# of ports; links that go down in the middle, of the first port, too; and what gasnet_info says about
# the ports.
set -u
. "$AQ_SRC/tests/run-functions.sh"
# With block, ranks that wait leave the processors to the threads that carry packets.
export GASNET_WAITMODE=block GASNET_STATS=1 GASNET_EXITTIMEOUT=30

fail()
{
    echo "check-ibv-rails: $*"
    cat out 2>/dev/null
    exit 1
}

# spreads RANKS PATTERN ARGUMENT ...: the job succeeds, and as many ranks say that of their rails.
spreads()
{
    local ranks=$1 pattern=$2
    shift 2
    echo "$*"
    timeout 400 gasnetrun_ibv "$@" >out 2>&1 || fail "the job '$*' ends with exit code $?"
    [ "$(grep -cE -- "^ibv: rank [0-9]+ over rails: $pattern" out)" = "$ranks" ] ||
        fail "not $ranks lines of '$*' match '$pattern'"
}

# one_has SETTING: from now on ./one COMMAND runs the command, the first time with that setting.
one_has()
{
    rmdir taken 2>/dev/null
    printf '#!/bin/bash\nmkdir taken 2>/dev/null && export %s\nexec "$@"\n' "$1" >one
    chmod +x one
}

# Prints how many packets the second device has sent.
packets()
{
    cat /sys/class/infiniband/rxe1/ports/1/hw_counters/sent_pkts
}

# stands_by COUNT: waits until so many queue pairs are connected on the second device. Those that stand
# by for the first one are made before others; a second later they all are, and the ranks know it.
stands_by()
{
    for _ in $(seq 300); do
        [ "$(rdma res show qp | grep -c '^link rxe1/1 .* type RC state RTS ')" -lt "$1" ] || return 0
        sleep 0.1
    done
    fail "not $1 queue pairs are connected on rxe1"
}

# cut DEVICE LINK: takes the link of a device down when the job has used it.
cut()
{
    local counter=/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts before
    before=$(cat "$counter")
    for _ in $(seq 300); do
        [ $(($(cat "$counter") - before)) -lt 500 ] || break
        sleep 0.1
    done
    ip link set "$2" down
}

# Prints the last round of chaos_work, 0 before the first.
last_round()
{
    awk '$1 == "round" { last = $2 } END { print last + 0 }' out
}

# go_on COUNT: waits for so many further rounds of chaos_work, each of which uses all links.
go_on()
{
    local until=$((SECONDS + 60)) last
    last=$(($(last_round) + $1))
    until [ "$(last_round)" -ge $last ]; do
        [ $SECONDS -lt $until ] || fail "no $1 further rounds"
        sleep 0.1
    done
}

# mend DEVICE LINK: brings a link up again. The device is made anew: what the kernel sends for librdmacm
# while the link is down breaks the device's queue pair for management (number 1) for good.
mend()
{
    ip link set "$2" up
    rdma link delete "$1" && rdma link add "$1" type rxe netdev "$2" || fail "$1 cannot be made again"
}

# refuses PATTERN COMMAND ...: a job of two ranks does not start, for this reason.
refuses()
{
    local pattern=$1
    shift
    timeout 60 gasnetrun_ibv -n 2 "$@" >out 2>&1 && fail "the job runs"
    grep -qE -- "$pattern" out || fail "no line matches '$pattern'"
}

did='they did [1-9][0-9]* pieces of puts and gets, and'
both="2 ports, 2 queue pairs a peer; 1 of the further ones in use; $did 0 moved to the first"

gasnet_info >out 2>&1 || fail "gasnet_info fails"
grep -qE '^ +rxe1 port 1 +used$' out || fail "rxe1 is not used"
grep -qE '^ +rxe2 port 1 +not used: it is not needed, since enough ports before it are used' out ||
    fail "nothing says why rxe2 is not used"

# Over two ports, which is the default, and over two and three with more queue pairs: what goes by rails
# and by failovers.
by_rails='am_args am_medium am_long am_flood_mixed rma_heap rma_segment rma_nbi vis-strided atomic-count'
# shellcheck disable=SC2086
spreads 2 "$both" -n 2 conform-seq $by_rails am_flood_short am_deadlock am_long_zero npam_sizes rma_values rma_order \
    rma_overwrite rma_pair vis-vector vis-indexed atomic-away barrier_many coll_same coll_segment coll_many gather_sizes \
    fence_region notice_frames window_churn endpoint_am endpoint_long
GASNET_IBV_PORTS=rxe0+rxe1 GASNET_NUM_QPS=8 \
    spreads 2 "2 ports, 8 queue pairs a peer; 7 of the further ones in use; $did 0 " \
    -n 2 conform-seq am_args rma_segment rma_nbi
export GASNET_IBV_PORTS=rxe0+rxe1+rxe2 GASNET_IBV_CONNECT=ud
# shellcheck disable=SC2086
spreads 2 "3 ports, 3 queue pairs a peer; 2 of the further ones in use; $did 0 " -n 2 conform-seq $by_rails
GASNET_NUM_QPS=12 \
    spreads 2 "3 ports, 12 queue pairs a peer; 11 of the further ones in use; $did 0 " \
    -n 2 conform-seq am_args rma_segment rma_nbi
unset GASNET_IBV_CONNECT
spreads 3 "3 ports, 3 queue pairs a peer; 4 of the .* $did 0 " \
    -n 3 conform-par --threads 2 rma_segment rma_nbi
unset GASNET_IBV_PORTS

# More queue pairs than two want more ports; and several on one port.
GASNET_NUM_QPS=4 spreads 2 "3 ports, 4 queue pairs a peer; 3 of the further ones in use; $did 0 " \
    -n 2 conform-seq rma_segment
GASNET_NUM_QPS=4 GASNET_IBV_PORTS=rxe1 spreads 2 "1 ports, 4 queue pairs a peer; 3 of .* $did 0 " \
    -n 2 conform-seq rma_segment
spreads 2 "$both" -n 2 conform-large --threads 2 rma_heap rma_segment rma_nbi
spreads 2 "$both" -n 2 conform-everything rma_heap rma_segment
GASNET_IBV_CONNECT=ud GASNET_SND_THREAD=1 spreads 2 "$both" -n 2 conform-par --threads 2 am_long rma_segment
GASNET_USE_FENCED_PUTS=1 GASNET_PUT_STRIPE_SZ=16 GASNET_GET_STRIPE_SZ=1M \
    spreads 2 "$both" -n 2 conform-par --threads 2 rma_heap rma_segment rma_nbi
[ "$(grep -cE '^ibv: rank [01] fenced [1-9][0-9]* puts$' out)" = 2 ] || fail "puts are not fenced"
GASNET_USE_FENCED_PUTS=1 spreads 2 "$both" -n 2 conform-large --threads 2 rma_heap rma_segment
GASNET_NUM_QPS=1 spreads 0 '' -n 2 conform-seq rma_segment

# Datagrams connect the links of different peers at different ports: so messages alone use both.
before=$(packets)
GASNET_IBV_CONNECT=ud spreads 3 '2 ports, 2 queue pairs a peer; 0 of the further ones in use; they did 0 ' \
    -n 3 conform-seq am_args am_flood_short
[ $(($(packets) - before)) -ge 500 ] || fail "only $(($(packets) - before)) packets of messages took rxe1"

# A rank with one port and one with two use one queue pair; one with two ports and one with three
# use two, whose second one is on the second port of each.
one_has GASNET_IBV_PORTS=rxe0
spreads 1 '2 ports, 2 queue pairs a peer; 0 of the further ones in use; they did 0 ' \
    -n 2 ./one conform-seq rma_heap rma_segment
one_has GASNET_IBV_PORTS=rxe0+rxe1+rxe2
spreads 2 "[23] ports, [23] queue pairs a peer; 1 of the further ones in use; $did 0 " \
    -n 2 ./one conform-seq rma_heap rma_segment

# The link of the second port goes down when it is in use, and comes up again. The first link does
# what is left, and the next job uses both.
timeout 120 gasnetrun_ibv -n 2 conform-seq --repeat 4 rma_heap rma_segment >out 2>&1 &
job=$!
before=$(packets)
for _ in $(seq 300); do
    [ $(($(packets) - before)) -lt 300 ] || break
    sleep 0.1
done
ip link set veth2 down
wait $job || fail "the job ends with exit code $? when a link goes down"
[ "$(grep -c 'warning: port 1 of rxe1 does not reach rank [01] any more (.*): puts and gets take port 1 of rxe0; ' out)" = 2 ] ||
    fail "not both ranks say that port 1 of rxe1 is lost"
[ "$(grep -cE "^ibv: rank [01] over rails: .*; 0 of the further ones in use; " out)" = 2 ] ||
    fail "not both ranks gave up the second port"
# A rank that has nothing under way there learns of it from the system.
grep -qE ' and [1-9][0-9]* moved to the first$|\(the port has gone down\): puts' out || fail "no rank moved anything"
gasnet_info >out 2>&1
grep -qE '^ +rxe1 port 1 +not used: it is down; ' out || fail "nothing says that rxe1 is down"
ip link set veth2 up
spreads 2 "$both" -n 2 conform-seq rma_segment

# A port that goes down while ranks start: the rank that starts later says so, and none waits.
rmdir taken 2>/dev/null
printf '#!/bin/bash\nmkdir taken 2>/dev/null || { sleep 2 && ip link set veth0 down; }\nexec "$@"\n' >one
GASNET_IBV_PORTS_TYPE=auto GASNET_IBV_PORTS=rxe0 refuses \
    'GASNet: rank [01] of 2 on host g1: .* port 1 of rxe0 is down; bring its network interface up' ./one hello
[ "$(grep -c 'port 1 of ' out)" = 1 ] || fail "not one line is about the port"
ip link set veth0 up

# call_without LINK ...: these links go down after a job has started, and before its ranks speak to each
# other. Returns its exit code.
call_without()
{
    local link code=0
    GASNET_EXITTIMEOUT=2 timeout 60 gasnetrun_ibv -n 2 conform_busy call 3 >out 2>&1 &
    job=$!
    for _ in $(seq 100); do
        [ "$(grep -c ready out)" -lt 2 ] || break
        sleep 0.1
    done
    for link; do
        ip link set "$link" down
    done
    wait $job || code=$?
    for link; do
        ip link set "$link" up
    done
    return $code
}

# Datagrams connect by another port, if there is one. librdmacm does not, and the rank that needs the
# port says so.
GASNET_IBV_CONNECT=ud call_without veth0 || fail "the job ends with exit code $? without its first port"
grep -q '^ibv: rank 0 in all: connected to 1 peers ' out || fail "the ranks did not speak to each other"
GASNET_IBV_CONNECT=ud call_without veth0 veth2 && fail "the job runs without a port"
grep -qE 'rank 0 of 2 on host g1: rank 1 cannot be reached at (10.84.[01].1) from \1, port 1 of rxe[01] \(the port of this process has gone down\): ' out ||
    fail "rank 0 does not name its last port"
call_without veth0 && fail "the job runs without its port"
grep -q 'rank 0 of 2 on host g1: rank 1 cannot be reached at 10.84.0.1 from 10.84.0.1, port 1 of rxe0 (the port of this process has gone down): ' out ||
    fail "rank 0 does not name its port"

# Ports that do not go together are not used together, and cannot be named together.
ip link set veth2 mtu 4500
spreads 0 '' -n 2 conform-seq rma_segment
gasnet_info >out 2>&1
grep -qE '^ +rxe1 port 1 +not used: it is of another kind of network or has another MTU than' out ||
    fail "nothing says that rxe1 is unlike rxe0"
export GASNET_IBV_PORTS=rxe0+rxe1
refuses 'rank [01] of 2 on host g1: .*port 1 of rxe0 \(RoCE, MTU 1024\) and port 1 of rxe1 \(RoCE, MTU 4096\) cannot be used together: give them the same MTU, or name only ports of one network in GASNET_IBV_PORTS' hello
unset GASNET_IBV_PORTS
ip link set veth2 mtu 1500

# The link of the first port goes down while nothing is sent: the system tells of it, and both ranks
# move before they need it again.
timeout 60 gasnetrun_ibv -n 2 conform_busy idle 9 >out 2>&1 &
job=$!
for _ in $(seq 100); do
    [ "$(grep -c ready out)" -lt 2 ] || break
    sleep 0.1
done
stands_by 2 && sleep 1
ip link set veth0 down
wait $job || fail "the job ends with exit code $? when the first port goes down while nothing is sent"
[ "$(grep -c '^ibv: rank [01] moved links to another port 1 times, ' out)" = 2 ] ||
    fail "not both ranks moved their link"
grep -q 'warning: port 1 of rxe0 does not reach rank [01] any more (the port has gone down): its messages, puts and gets take port 1 of rxe1; ' out ||
    fail "nobody says that the port has gone down"
ip link set veth0 up

# The link of the first port goes down while three ranks over three ports send messages, put and get,
# and then that of the second: the next one carries on, nothing is lost and nothing comes twice. Each
# of the three links of the job begins at another port. The next job uses both again.
touch busy
GASNET_IBV_CONNECT=ud GASNET_IBV_PORTS=rxe0+rxe1+rxe2 timeout -s KILL 200 \
    gasnetrun_ibv -n 3 chaos_work --while "$PWD/busy" --threads 2 >out 2>&1 &
job=$!
stands_by 6 && sleep 1
cut rxe0 veth0
cut rxe1 veth2
go_on 3
rm busy
wait $job || fail "the job ends with exit code $? when the first links go down"
grep -qE '^chaos_work: [1-9][0-9]* rounds, lost 0, twice 0, wrong 0$' out || fail "nothing was checked"
[ "$(grep -cE '^ibv: rank [012] moved links to another port [1-9][0-9]* times' out)" = 3 ] ||
    fail "not all ranks moved their links"
[ "$(grep -cE 'warning: port 1 of rxe0 does not reach rank [012] any more .*: its messages, puts and gets take port 1 of rxe1; ' out)" -ge 1 ] ||
    fail "nobody says that rxe1 carries on"
mend rxe0 veth0
mend rxe1 veth2
export GASNET_IBV_PORTS=rxe0+rxe1 # the devices are in another order now
spreads 2 "$both" -n 2 conform-seq rma_segment

# If that was the last port, the job ends with its name. The link of ranks 0 and 2 begins at the
# second port, and moves to the first one before.
GASNET_IBV_CONNECT=ud timeout -s KILL 100 gasnetrun_ibv -n 3 conform-par --threads 2 --repeat 500 \
    am_medium rma_heap >out 2>&1 &
job=$!
stands_by 6 && sleep 1
cut rxe1 veth2
for _ in $(seq 100); do
    ! grep -qE 'warning: port 1 of rxe1 does not reach rank [02] any more .*: its messages, .* take port 1 of rxe0; ' out ||
        break
    sleep 0.1
done
sleep 2 # all ranks know that the second port is down
cut rxe0 veth0
wait $job && fail "the job goes on without a port"
grep -qE 'warning: port 1 of rxe1 does not reach rank [02] any more .*: its messages, .* take port 1 of rxe0; ' out ||
    fail "no link moved from the second port to the first"
grep -qE 'the connection to rank [012] is lost \(.*, by port 1 of rxe[01]\): ' out ||
    fail "nothing names the last port"
echo "check-ibv-rails: all is well"
