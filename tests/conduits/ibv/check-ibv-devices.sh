#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# ibv-devices, in a virtual machine: what conduit ibv reports about real verbs devices, which port
# it uses, the results of registering memory with and without limits, that completions wake the
# receive thread, and the message of a job that cannot run. With the argument "guest", runs the part
# inside the virtual machine.
set -u

fail()
{
    echo "check-ibv-devices: $*"
    exit 1
}

# has PATTERN ...: each of these extended regular expressions matches a line of the output.
has()
{
    local pattern
    for pattern in "$@"; do
        grep -qE -- "$pattern" out || {
            cat out
            fail "no line matches '$pattern'"
        }
    done
}

# sees CODE PATTERN ...: `ibv_probe list` ends with this code and prints lines that match.
sees()
{
    local wanted=$1 code=0
    shift
    timeout 30 "$AQ_BUILD/ibv_probe" list >out 2>&1 || code=$?
    has "$@"
    [ $code = "$wanted" ] || fail "the exit code is $code, not $wanted"
}

# registers COMMAND ... -- PATTERN ...: `ibv_probe memory`, started by the command, ends with code 0
# and prints lines that match.
registers()
{
    local command=()
    while [ "$1" != -- ]; do
        command+=("$1")
        shift
    done
    shift
    timeout 60 "${command[@]}" "$AQ_BUILD/ibv_probe" memory rxe0 >out 2>&1 ||
        fail "ibv_probe failed: $(cat out)"
    has "$@" '^left: 0 regions$'
}

check_memory()
{
    local no_memory='illegal argument .*: there is no such memory, or it is read-only; '
    registers env -- '^plain: ok' '^read-only for reading: ok' '^nothing: illegal argument' \
        "^read-only for writing: $no_memory" \
        '^fork: ok, [12]$' '^segment: ok, 1 pieces' '^pool: 256 buffers $' '^probe: 16777216$'
    registers env GASNET_PIN_MAXSZ=256K -- '^segment: ok, 4 pieces' '^plain: ok'
    # A process without CAP_IPC_LOCK may lock no more than its limit.
    (
        ulimit -l 64
        may_lock='.* may lock 65536 bytes: .*\(RLIMIT_MEMLOCK\).* ulimit -l'
        registers setpriv --bounding-set -ipc_lock -- \
            "^plain: resource refused plain \(1048576 bytes\) $may_lock" \
            '^segment: resource refused, 0 pieces the segment .*RLIMIT_MEMLOCK' \
            '^pool: (16|8|4|2) buffers .*; continuing with [0-9]+ of 256$' '^probe: [0-9]{1,6}$'
    ) || exit
}

# refuses CODE PATTERN COMMAND ...: a job of two ranks, started by the command, ends with this code,
# and exactly one process prints a reason, which matches this extended regular expression.
refuses()
{
    local wanted=$1 pattern=$2 code=0
    shift 2
    GASNET_CONDUIT=ibv timeout 60 "$@" "$AQ_BUILD/gasnetrun_ibv" -n 2 "$AQ_BUILD/hello" \
        >out 2>&1 || code=$?
    has "$pattern"
    [ $code = "$wanted" ] || fail "the exit code is $code, not $wanted: $(cat out)"
    [ "$(grep -vc ' ended with exit code 1, without gasnet_exit;' out)" = 1 ] ||
        fail "not exactly one process gives a reason: $(cat out)"
}

# reports PATTERN ...: gasnet_info prints lines that match.
reports()
{
    timeout 60 "$AQ_BUILD/gasnet_info" >out 2>&1 || fail "gasnet_info failed: $(cat out)"
    has "$@"
}

# Which rank takes which port. Software devices are equally near to all processors.
check_places()
{
    (
        export GASNET_IBV_PORTS=rxe0:1+rxe1:1
        reports '^ +ranks +all take what is used above, wherever they run'
        export GASNET_IBV_PORTS_TYPE=auto
        reports '^ +ranks +each takes one port, the nearest \(GASNET_IBV_PORTS_TYPE\)$' \
            '^ +rxe1 is equally near to all processors: the system knows no place for it, ' \
            '^ +rank 0 of a host +port 1 of rxe0, on processors 0: one of 2 that are equally near' \
            '^ +rank 1 of a host +port 1 of rxe1, on processors 1: one of 2 that are equally near'
        export GASNET_IBV_PORTS_TYPE='HRank % 2' GASNET_IBV_PORTS_1=rxe1
        reports '^ +rank 0 of a host +port 1 of rxe0.*: GASNET_IBV_PORTS_0 is not set, so ' \
            '^ +rank 1 of a host +port 1 of rxe1.*: GASNET_IBV_PORTS_1 is set$'
    ) || exit
    refuses 1 "GASNET_IBV_PORTS_TYPE: 'Core 8' is none of None, Auto, .*; unset it or give one, " \
        env GASNET_IBV_PORTS_TYPE='Core 8'
    refuses 1 "GASNET_IBV_PORTS_TYPE: this host has no object that hwloc calls 'Pigeon'; use one " \
        env GASNET_IBV_PORTS_TYPE=Pigeon GASNET_IBV_PORTS_0=rxe0
    refuses 1 "no port that GASNET_IBV_PORTS='mlx5_0' names was found" \
        env GASNET_IBV_PORTS_TYPE=JRank GASNET_IBV_PORTS_1=mlx5_0 GASNET_IBV_PORTS=mlx5_0
    for type in auto HRank Socket; do
        GASNET_CONDUIT=ibv GASNET_IBV_PORTS_TYPE=$type GASNET_IBV_PORTS_0=rxe0 \
            GASNET_IBV_PORTS_1=rxe0 timeout 60 "$AQ_BUILD/gasnetrun_ibv" -n 2 "$AQ_BUILD/hello" \
            >out 2>&1 || fail "type $type fails: $(cat out)"
    done
}

check_settings()
{
    local pattern
    refuses 2 "GASNET_QP_TIMEOUT: '32' is not a whole number from 0 to 31; unset it or " \
        env GASNET_QP_TIMEOUT=32
    refuses 2 "GASNET_AMRDMA_DEPTH: '7' is not a power of 2 from 1 to 32; unset it or " \
        env GASNET_AMRDMA_DEPTH=7
    refuses 2 "GASNET_IBV_ATOMICS: '2' is not one of auto, 0, 1; unset it or " \
        env GASNET_IBV_ATOMICS=2
    refuses 1 'GASNET_CONNECT_DYNAMIC is no, and .*; unset the one, or set the other to 1$' \
        env GASNET_CONNECT_DYNAMIC=0
    pattern='TOTAL=32768 is more than verbs device rxe0 can do: it has at most [0-9]+ entries in '
    refuses 1 "$pattern.*; set it to that" \
        env GASNET_NETWORKDEPTH_PP=32768 GASNET_NETWORKDEPTH_TOTAL=32768
    pattern="no port that GASNET_IBV_PORTS='mlx5_0' names was found, but port 1 of rxe0 .*; "
    refuses 1 "${pattern}name one that is active" env GASNET_IBV_PORTS=mlx5_0
    (
        ulimit -l 64
        pattern=' \([0-9]+ bytes\) cannot be registered with device rxe0, .* may lock 65536 bytes: '
        refuses 1 "$pattern.*; raise it " setpriv --bounding-set -ipc_lock --
    ) || exit
}

guest()
{
    local pattern
    export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_SUPERNODE_MAXSIZE=1
    cd "$(mktemp -d)" || exit
    ip link add veth2 type veth peer name veth3 && ip link set veth2 up && ip link set veth3 up &&
        rdma link add rxe1 type rxe netdev veth2 || fail "there is no second device"
    sees 0 '^rxe0 port 1 +used$' ' RoCE, active, MTU 1024, LID 0, messages of [0-9]+ bytes$' \
        ' GID 1: ::ffff:10\.84\.0\.1, RoCE v2, used$' ' GID 0: fe80::[0-9a-f:]+, RoCE v2$' \
        '^rxe0 limits +[1-9][0-9]* memory regions of [1-9][0-9]* bytes, [1-9][0-9]* queue pairs' \
        ' receives in a shared one, [1-9][0-9]* RDMA reads out and [1-9][0-9]* in, atomics: ' \
        '^rxe1 port 1 +not used: it has no address that is valid beyond its own network; ' '^usable: port 1 of rxe0, RoCE$'
    timeout 60 "$AQ_BUILD/gasnet_info" >out 2>&1 || fail "gasnet_info failed: $(cat out)"
    has '^ +ibv +yes: port 1 of rxe0, RoCE$' '^Conduit ibv$' '^ +rxe0 port 1 +used$' \
        '^ +rxe1 port 1 +not used: '
    check_memory
    timeout 30 "$AQ_BUILD/ibv_probe" thread rxe0 >out 2>&1 || fail "ibv_probe failed: $(cat out)"
    has '^thread: 15 completions, it woke up$'
    check_settings
    check_places
    export GASNET_IBV_PORTS=rxe1:1
    sees 0 '^rxe0 port 1 +not used: it is of a device that is not in GASNET_IBV_PORTS' \
        '^rxe1 port 1 +used$' ' GID 0: fe80::[0-9a-f:]+, RoCE v2, used$' \
        '^usable: port 1 of rxe1, RoCE$'
    export GASNET_IBV_PORTS=rxe1:2+mlx5_0
    pattern='^not usable: no port that GASNET_IBV_PORTS=.rxe1:2\+mlx5_0. names was found, '
    sees 1 "${pattern}but port 1 of rxe0 \(RoCE, active\), port 1 of rxe1"
    export GASNET_IBV_PORTS=rxe1:
    sees 1 "^not usable: GASNET_IBV_PORTS: 'rxe1:' is not .* should stand at character 6"
    unset GASNET_IBV_PORTS
    ip link set veth0 down
    sees 0 '^rxe0 port 1 +not used: it is down; bring its network interface up' \
        '^usable: port 1 of rxe1, RoCE$'
    rdma link delete rxe1
    sees 1 '^not usable: an active port is needed, but port 1 of rxe0 is down; '
    pattern='an active port is needed, but port 1 of rxe0 is down; '
    refuses 1 "${pattern}bring its network interface up" env
    ip link set veth0 up
    ip address flush dev veth0
    pattern='port 1 of verbs device rxe0 has no network interface .* with an IP address, '
    refuses 1 "$pattern.*: give it one, or choose another port with GASNET_IBV_PORTS$" env
    refuses 1 "$pattern.*: give it one, or choose another port with GASNET_IBV_PORTS$" env GASNET_IBV_CONNECT=ud
    refuses 1 "$pattern.*, or unset GASNET_IBV_CONNECT$" env GASNET_IBV_CONNECT=rdmacm
    rdma link delete rxe0
    sees 1 '^ports +there is no verbs device$' '^not usable: no verbs device was found'
    pattern='no verbs device was found, and one with an active port is needed; load the driver '
    refuses 1 "$pattern.*, or choose " env
    echo "guest: all is well"
}

if [ "${1-}" = guest ]; then
    guest
    exit
fi
[ -x "$AQ_BUILD/ibv_probe" ] || {
    echo "conduit ibv was left out when this build was configured (package libibverbs-dev)"
    exit 77
}
"$AQ_SRC/tests/beds/rxe-vm/run" --rdma -- bash "$0" guest
