# SPDX-License-Identifier: BSD-3-Clause
# Shell functions for the commands in tests.list and for the check-*.sh scripts. tests/run sources
# this file before each command, and sets AQ_BUILD, AQ_SRC and TMPDIR for the command.

# Ends the test as skipped.
skip()
{
    echo "$*"
    exit 77
}

# left_out WHAT WHY: reports that a part of this test cannot run on this machine. tests/run prints
# the line after the result of the test.
left_out()
{
    echo "left out: $1: $2"
}

# Runs the unit test program test_$1, which is built only if cmocka is installed. unit.list has the
# paths of these programs.
unit()
{
    grep -q '^#define AQ_HAVE_CMOCKA 1' "$AQ_BUILD/config.h" ||
        skip "cmocka was not found when this build was configured (package libcmocka-dev)"
    "$AQ_BUILD/$(grep "/test_$1\$" "$AQ_BUILD/unit.list")"
}

# Runs a command with the programs of another build, $1 (asan, tsan ...; see check-build.sh).
in_build()
{
    AQ_BUILD=$AQ_BUILD/$1
    PATH=$AQ_BUILD:$PATH
    # The first finding ends the program: a rank may leave by _exit, which would lose the exit code.
    export ASAN_OPTIONS=halt_on_error=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
    export TSAN_OPTIONS=halt_on_error=1
    # The thread sanitizer of older compilers fails on kernels that randomize addresses over a wide
    # range.
    if [ "$1" = tsan ] && setarch -R true 2>/dev/null; then
        personality=yes
    fi
    shift
    if [ "${personality-no}" = yes ]; then
        export AQ_BUILD PATH
        setarch -R bash -c '. "$AQ_SRC/tests/run-functions.sh"; "$@"' bash "$@"
    else
        "$@"
    fi
}

# Prints the sanitizers of the build in use; nothing without any.
build_sanitizers()
{
    sed -n 's/^#define AQ_SANITIZER //p' "$AQ_BUILD/config.h"
}

# Runs a command of in_build asan whose faults the library tells, not the sanitizer.
telling_faults()
{
    ASAN_OPTIONS=$ASAN_OPTIONS:handle_segv=0:handle_sigbus=0 "$@"
}

# Runs a program with $1 ranks over the fake conduit (tests/conduits). GASNET_SUPERNODE_MAXSIZE=N
# makes each group of N ranks share memory.
on_fake()
{
    local ranks=$1
    shift
    GASNET_MODULE_PATH=$AQ_BUILD/modules gasnetrun_smp -n "$ranks" \
        env GASNET_CONDUIT=fake GASNET_SUPERNODE_MAXSIZE="${GASNET_SUPERNODE_MAXSIZE:-1}" "$@"
}

# Runs the subtests on active messages at endpoint $1; the other words start the conformance program.
at_endpoint()
{
    local endpoint=$1
    shift
    CONFORM_ENDPOINT=$endpoint "$@" handlers am_args am_infer am_medium am_long am_long_zero am_token am_reply_event \
        am_flood_short am_flood_mixed am_deadlock am_sleeper am_immediate am_immediate_retry npam_args npam_sizes \
        npam_many npam_cancel npam_immediate barrier_am barrier_serves blockuntil
}

# Two ranks name endpoints that were never made or were destroyed, and make more than there are; the
# words start the conformance program. Each rank says so, once for each, and the job goes on.
bad_endpoints()
{
    local rank prefix dropped='is dropped: this process has no such endpoint'
    "$@" endpoint_absent window_destroyed endpoint_limits >out 2>messages || return
    cat out messages
    for rank in 0 1; do
        prefix="^\*\*\* GASNet: rank $rank of 2 on host [^ ]*: "
        [ "$(grep -cE "$prefix" messages)" = 3 ] &&
            grep -qE "${prefix}a message from endpoint 1 of rank $((1 - rank)) to handler 77 of endpoint 1000 $dropped" messages &&
            grep -qE "${prefix}a message from endpoint 4 of rank $((1 - rank)) to handler 90 of endpoint 6 $dropped" messages &&
            grep -qE "${prefix}gex_EP_Create: this process has all of its 1024 endpoints" messages || {
            echo "rank $rank does not say what is wrong"
            return 1
        }
    done
}

# Measures with $1 threads of each rank and endpoints $2; the other words start the job. Each test has
# its figures, all above 0, and the title names the threads.
perf_threads()
{
    local threads=$1 endpoints=$2 rows
    shift 2
    "$@" gasnet_perf_par --threads "$threads" --endpoints "$endpoints" --iters 20 --time 0.001 --size 8,64 >messages ||
        return
    cat messages
    grep -q "^gasnet_perf: conduit .*, ranks [0-9]*, threads $threads, endpoints $endpoints\$" messages || return
    rows=$(awk 'NR > 2 && $3 > 0 { print $1, $2 }' messages | sort | tr '\n' ',')
    [ "$rows" = "am-flood 0,am-flood-sum 0,am-short 0,am-short-sum 0,get 64,get 8,get-rate 64,get-rate 8,\
get-sum 64,get-sum 8,put 64,put 8,put-rate 64,put-rate 8,put-sum 64,put-sum 8," ] || {
        echo "These rows are not those of the tests with threads: $rows"
        return 1
    }
}

# Measures threads that poll beside threads that work; the words start the job. Each figure is there,
# above 0, in each mixture.
perf_service()
{
    local mixture rows
    for mixture in "spin poll" "yield auto" "nap spinblock" "block block" "none spin"; do
        "$@" gasnet_perf_par service-thread --threads 2 --service "${mixture% *}" --wait "${mixture#* }" \
            --iters 9 --time 0.001 >messages || return
        cat messages
        rows=$(awk '/^service-/ && $3 > 0 { print $1 }' messages | tr '\n' ' ')
        [ "$rows" = "service-lock service-reduce service-barrier service-put " ] || {
            echo "These are not the figures of service-thread with $mixture: $rows"
            return 1
        }
    done
}

# perf_refuses WHY PROGRAM ...: the program ends with code 2 and a message that contains WHY.
perf_refuses()
{
    local why=$1 code=0
    shift
    gasnetrun_smp -n 2 "$@" >messages 2>&1 || code=$?
    cat messages
    [ "$code" = 2 ] && grep -qF -- "$why" messages
}

# Runs all subtests about counters; the words start the conformance program.
counting()
{
    local subtests word program
    for word; do
        [[ $word != conform-* ]] || program=$word
    done
    subtests=$("$program" --list | awk '/^counters_/ { print $1 }')
    # shellcheck disable=SC2086
    "$@" $subtests
}

# Prints the subtests on teams of further endpoints.
further()
{
    conform-seq --list | awk '$1 ~ /^further_/ { print $1 }'
}

# Prints the subtests on fences and notices of a conformance program in thread mode $1.
fences()
{
    "conform-$1" --list | awk '$1 ~ /^(fence|notice)_/ { print $1 }'
}

# The kernel refuses copies between processes: one rank says so once, and messages travel instead.
# The words are a program and its arguments.
copies_refused()
{
    CONFORM_COPIES=refused gasnetrun_smp -n 4 "$@" >messages 2>&1 ||
        { cat messages; return 1; }
    [ "$(grep -c 'the kernel does not let ranks of this host access memory' messages)" = 1 ] ||
        { cat messages; return 1; }
}

# Rank 1 of large_work sends what rank 0 has not registered: the job ends with this sentence of rank 0.
large_ends()
{
    local code=0
    gasnetrun_smp -n 2 large_work "$1" >messages 2>&1 || code=$?
    cat messages
    [ "$code" != 0 ] && grep -F "rank 0 of 2" messages | grep -qF -- "fatal: $2"
}

# Prints the subtests on the collectives of aqueduct_coll.h of conform-par.
gathers()
{
    conform-par --list | awk '$1 ~ /^gather_/ { print $1 }'
}

# Prints the subtests on limits of collectives of conform-seq.
limits()
{
    conform-seq --list | awk '$1 ~ /^limits_/ { print $1 }'
}

# Prints the other subtests on collectives of conform-par: broadcasts, reductions and GASNet-1's.
colls()
{
    conform-par --list | awk '$1 ~ /^coll/ { print $1 }'
}

# tuned low|high command ...: runs it with a tuning file that gives each limit of collectives the
# least or the largest value of its range, over every conduit.
tuned()
{
    local column=2 conduit
    [ "$1" = low ] || column=3
    shift
    {
        echo "aqueduct-tuning 1"
        for conduit in smp udp mpi fake; do
            echo "[$conduit ranks 1]"
            coll_limits | awk -v column=$column '{ print $1, $column }'
        done
    } >tuning
    [ "$(wc -l <tuning)" -gt 50 ] || return
    GASNET_COLL_TUNING_FILE=$PWD/tuning "$@" 2>messages || { cat messages; return 1; }
    cat messages
    ! grep -q "is not used" messages
}

# Prints the subtests on collectives in shared memory of conform-par.
shareds()
{
    conform-par --list | awk '$1 ~ /^shared_/ { print $1 }'
}

# Prints the subtests on collectives between ranks that share no memory of conform-par.
nets()
{
    conform-par --list | awk '$1 ~ /^nets_/ { print $1 }'
}

# Runs the program $2 with $1 ranks over conduit udp; no ranks share memory unless
# GASNET_SUPERNODE_MAXSIZE is set.
on_udp()
{
    local ranks=$1
    shift
    GASNET_CONDUIT=udp GASNET_SUPERNODE_MAXSIZE=${GASNET_SUPERNODE_MAXSIZE:-1} gasnetrun_udp -n "$ranks" "$@"
}

# Sets the environment so that any mpirun also works for root, and keeps its traffic on this host.
prepare_mpirun()
{
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_btl=vader,self,tcp OMPI_MCA_btl_tcp_if_include=lo
    export OMPI_MCA_odls_base_sigkill_timeout=0 UCX_NET_DEVICES=lo
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 # Open MPI 5 and later
    case $(mpirun.openmpi --version 2>/dev/null) in
    *' 4.'*) export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_oob_tcp_if_include=lo ;;
    *' 5.'*) export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_oob_tcp_if_include=lo ;;
    *) export PRTE_MCA_mapby=:oversubscribe PRTE_MCA_prte_if_include=lo ;;
    esac
}

# Runs the program $3 with $2 ranks that the mpirun of MPI $1 starts (openmpi or mpich).
by_mpirun()
{
    local mpi=$1 ranks=$2
    shift 2
    [ -e "$AQ_BUILD/modules/aq_mpi_$mpi.so" ] && command -v "mpirun.$mpi" >/dev/null ||
        skip "$mpi was not found when this build was configured, or has no mpirun here"
    export GASNET_MODULE_PATH=$AQ_BUILD/modules
    prepare_mpirun
    case $mpi in
    openmpi) mpirun.openmpi --bind-to none -np "$ranks" "$@" ;;
    mpich) mpirun.mpich -np "$ranks" "$@" ;;
    esac
}

# Whether the mpirun of MPI $1 can start jobs. If it is not installed, its part of the test is left
# out; if it is installed but does not work, the test fails.
mpi_is_usable()
{
    local why code=0
    why=$(by_mpirun "$1" 1 true) || code=$?
    case $code in
    0) return 0 ;;
    77) left_out "$1" "$why" ;;
    *)
        echo "The mpirun of $1 cannot run 'true': exit code $code."
        exit 1
        ;;
    esac
    return 1
}

# Runs the program $3 with $2 ranks over conduit mpi of MPI $1; no ranks share memory by smp unless
# GASNET_SUPERNODE_MAXSIZE is set.
on_mpi()
{
    export GASNET_CONDUIT=mpi GASNET_SUPERNODE_MAXSIZE=${GASNET_SUPERNODE_MAXSIZE:-1}
    by_mpirun "$@"
}

# Open MPI without UCX, which does not look at OMPI_MCA_btl, and crashes in a process with the thread
# sanitizer.
without_ucx()
{
    export OMPI_MCA_pml=ob1 OMPI_MCA_osc=^ucx
}

# As on_mpi with Open MPI, in a build with the thread sanitizer, whose findings in Open MPI itself
# are suppressed. A thread in Open MPI may fill a buffer of another thread, which the sanitizer cannot
# order, so what libraries do that are not compiled with it is ignored.
on_mpi_tsan()
{
    export PMIX_MCA_gds=hash # the other way of PMIx 5 wants an address that the sanitizer has
    without_ucx
    export TSAN_OPTIONS="$TSAN_OPTIONS ignore_noninstrumented_modules=1 suppressions=$AQ_SRC/tests/conduits/mpi/openmpi.supp"
    on_mpi openmpi "$@"
}

# Whether the file `out` has these lines, in any order, and no others.
stacks_are()
{
    cat out
    diff <(printf '%s\n' "$@" | sort) <(sort out)
}

# As on_udp, over a bad network: it drops $1 percent of the datagrams, duplicates 5 and reorders 20;
# the seed is $2.
on_bad_udp()
{
    export GASNET_UDP_FAULT_DROP=$1 GASNET_UDP_FAULT_SEED=$2
    export GASNET_UDP_FAULT_DUPLICATE=5 GASNET_UDP_FAULT_REORDER=20
    shift 2
    on_udp "$@"
}

# Runs the program $3 with $1 ranks over conduit udp, between two network namespaces that drop $2
# percent. No datagram may be fragmented on the way, and all must be encrypted.
on_veth()
{
    local ranks=$1 drop=$2 code=0 lost='[1-9][0-9]*' bed=$AQ_SRC/tests/beds/veth
    shift 2
    "$bed/run" --drop "$drop" -- env GASNET_CONDUIT=udp gasnetrun_udp -n "$ranks" "$bed/rank" "$@" 2>messages || code=$?
    cat messages >&2
    [ $code = 0 ] || exit $code
    [ "$drop" != 0 ] || lost=0
    grep -Eqx "veth: [1-9][0-9]* datagrams, $lost lost, 0 fragments, 0 not encrypted" messages || {
        echo "The last line above is not what this network should have reported."
        exit 1
    }
}

# veth_job OPTION ... -- SUBTEST ...: a job over a cable with these options of tests/beds/veth/run, which has
# to end well. What it and the network said is in the file `messages`.
veth_job()
{
    local code=0 options=() bed=$AQ_SRC/tests/beds/veth
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    "$bed/run" "${options[@]}" -- env GASNET_CONDUIT=udp gasnetrun_udp -n 2 "$bed/rank" "$@" 2>messages || code=$?
    cat messages
    [ $code = 0 ] || exit $code
}

# An interface whose MTU is too small for the smallest Medium is refused; with the smallest possible
# MTU no datagram is fragmented.
on_short_veth()
{
    veth_job --mtu 768 -- "$@"
    grep -q '^veth: [1-9][0-9]* datagrams, 0 lost, 0 fragments,' messages || exit 1
    local bed=$AQ_SRC/tests/beds/veth
    expect_exit 1 "$bed/run" --mtu 767 -- env GASNET_CONDUIT=udp gasnetrun_udp -n 2 "$bed/rank" "$@" 2>messages
    cat messages
    grep -qE ': interface (near|far) cannot carry datagrams \(its MTU is below 768\); choose another' messages
}

# A route whose packets have no room for payload behind the headers of udp: the kernel fragments the
# datagrams, and the job works.
on_short_route()
{
    veth_job --route-mtu 100 -- "$@"
    grep -q '^veth: [1-9][0-9]* datagrams, 0 lost, [1-9][0-9]* fragments,' messages
}

# The far end of the cable takes shorter packets than the near end, and drops longer ones without a
# word: no rank sends these.
on_uneven_veth()
{
    veth_job --mtu 9000 --far-mtu 1500 -- "$@"
    [ "$(wc -l <messages)" = 1 ] && grep -q '^veth: [1-9][0-9]* datagrams, 0 lost, 0 fragments,' messages
}

# The path drops packets longer than 1280 bytes, unless they may be fragmented, and nobody reports
# that: the job works, ranks warn, each once, and send shorter datagrams from then on. With
# GASNET_UDP_MTU nobody warns.
on_holed_veth()
{
    veth_job --hole 1280 -- "$@"
    grep -qE '^veth: [1-9][0-9]* datagrams swallowed' messages || exit 1
    [ "$(grep -cE 'warning: .* to rank 1 at 10.83.0.2.* are lost on the way, .*GASNET_UDP_MTU=1280' messages)" = 1 ] &&
        [ "$(grep -c warning: messages)" -le 2 ] || exit 1
    GASNET_UDP_MTU=1280 veth_job --hole 1280 -- "$@"
    [ "$(wc -l <messages)" = 2 ] && grep -qx 'veth: 0 datagrams swallowed' messages || exit 1
    veth_job --hole 600 -- "$@"
    grep -q 'warning: .* to rank 1 at 10.83.0.2.* are lost on the way, .*GASNET_UDP_MTU=576' messages
}

# run_jobs JOB ...: runs these commands of the shell, until one fails.
run_jobs()
{
    local job
    for job; do
        echo "== $job"
        eval "$job" || return
    done
}

# Runs the commands in one virtual machine with a verbs device. Ranks block, because a spinning rank would keep a
# processor of this host busy.
in_guest()
{
    local -x GASNET_WAITMODE=block
    "$AQ_SRC/tests/beds/rxe-vm/run" --rdma --time "${GUEST_TIME:-600}" -- bash -c '. "$AQ_SRC/tests/run-functions.sh"
        run_jobs "$@"' bash "$@"
}

# on_netem FAULTS COMMAND ...: runs the command in a virtual machine while the kernel drops, duplicates, delays or
# reorders the packets of this host, as FAULTS says in the words of netem.
on_netem()
{
    local faults=$1
    shift
    # shellcheck disable=SC2086 # each fault is a word
    tc qdisc add dev lo root netem limit 10000 $faults && "$@" || return
    tc -s qdisc show dev lo | grep "dropped [1-9]" || {
        echo "No packet was lost."
        return 1
    }
    tc qdisc del dev lo root
}

need_ofi()
{
    grep -q '^#define AQ_EACH_NAME.*X(ofi)' "$AQ_BUILD/config.h" ||
        skip "conduit ofi is not in this build (package libfabric-dev)"
}

# on_ofi PROVIDER RANKS PROGRAM ...: runs the program over conduit ofi by a provider of libfabric, on this host; no
# ranks share memory unless GASNET_SUPERNODE_MAXSIZE is set. Ranks that wait sleep, since other tests run beside this
# one, unless GASNET_OFI_WAIT is set.
on_ofi()
{
    local provider=$1 ranks=$2
    shift 2
    need_ofi
    GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=ofi GASNET_OFI_PROVIDER=$provider \
        GASNET_OFI_WAIT=${GASNET_OFI_WAIT-fd} GASNET_SUPERNODE_MAXSIZE=${GASNET_SUPERNODE_MAXSIZE:-1} \
        gasnetrun_ofi -n "$ranks" "$@"
}

# The provider that is TCP without ofi_rxm: net of libfabric 1.17, which plain tcp is in later versions.
ofi_plain_tcp()
{
    GASNET_MODULE_PATH=$AQ_BUILD/modules gasnet_info | sed -n '/^Conduit ofi$/,/^$/p' | grep -q '^    net ' && echo net || echo tcp
}

# What travels over a network, for sanitizers, with which each subtest takes long.
sanitized_part='am_args am_medium am_long am_flood_short am_flood_mixed am_deadlock am_sleeper am_immediate_retry npam_sizes npam_many rma_values rma_segment rma_order rma_nbi rma_pair atomic-nbi atomic-count barrier_am barrier_many vis-strided vis-vector coll_same coll_many gather_many split_many hsl endpoint_am endpoint_threads window_threads fence_threads notice_threads concurrent_split'

# The subtests that show most about a conduit in little time.
ofi_part='am_args am_medium am_long am_flood_mixed am_deadlock am_sleeper npam_sizes rma_values rma_nbi atomic-nbi barrier_am vis-strided coll_same gather_many'

# In a virtual machine, with Yama's restriction that is the default of some distributions: the kernel copies between
# ranks of a user without capabilities.
copies_under_yama()
{
    echo 1 >/proc/sys/kernel/yama/ptrace_scope || return
    cd /tmp && CONFORM_COPIES=yes setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all \
        gasnetrun_smp -n 3 conform-everything everything_copies
}

# Whether conduit ofi is in this build, for tests of which it is one part.
has_ofi()
{
    (need_ofi >/dev/null) || {
        echo "left out: conduit ofi is not in this build (package libfabric-dev)"
        return 1
    }
}

# Prints how many times senders have found out that segments overtook others, rather than that these were lost.
segments_reordered()
{
    nstat -asz TcpExtTCPSACKReorder | awk 'END { print $2 }'
}

# In a virtual machine: conduit ofi over TCP, on a network that loses and reorders.
ofi_netem()
{
    local before
    has_ofi || return 0
    before=$(segments_reordered)
    on_netem "delay 2ms 1ms loss 1% reorder 25%" \
        on_ofi "tcp;ofi_rxm" 2 conform-seq am_args am_medium am_flood_mixed am_deadlock rma_values rma_nbi coll_same || return
    [ $(($(segments_reordered) - before)) -ge 10 ] || {
        echo "Hardly any segment of TCP overtook another one."
        return 1
    }
}

# In a virtual machine: conduit ofi over a verbs device, which has no completion queue for the 1,024 peers that
# provider ofi_rxm expects by default. The device itself has to put and get.
ofi_verbs()
{
    local provider="verbs;ofi_rxm"
    local -x FI_UNIVERSE_SIZE=16
    has_ofi || return 0
    compgen -G '/usr/lib*/*/libibverbs/librxe-*' >/dev/null || {
        echo "left out: conduit ofi over a verbs device (package ibverbs-providers)"
        return 0
    }
    GASNET_STATS=1 on_ofi "$provider" 2 conform-seq am_args am_long am_flood_mixed rma_values rma_segment rma_nbi 2>messages || {
        cat messages
        return 1
    }
    [ "$(grep -cE '[1-9][0-9][0-9] puts, [1-9][0-9]* gets .* of verbs;ofi_rxm on rxe0' messages)" = 2 ] || {
        cat messages
        echo "The device did not put and get."
        return 1
    }
    on_ofi "$provider" 2 conform-large rma_nbi && on_ofi "$provider" 3 conform-par --threads 2 am_medium rma_many_to_one
}

# Runs the suite with 2 ranks over provider $1, and a part of it with 4: each in modes seq and par, and the suite
# with all memory as the segment.
ofi_suite()
{
    # shellcheck disable=SC2086
    on_ofi "$1" 2 conform-seq all && on_ofi "$1" 2 conform-par --threads 2 all &&
        on_ofi "$1" 2 conform-everything all && on_ofi "$1" 2 conform-large am_long rma_segment rma_nbi &&
        on_ofi "$1" 4 conform-seq $ofi_part && on_ofi "$1" 4 conform-par --threads 2 $ofi_part
}

# Each of the providers itself does the puts and gets of a job over conduit ofi.
ofi_rma()
{
    local provider
    for provider; do
        GASNET_STATS=1 GASNET_OFI_COALESCE=0 on_ofi "$provider" 2 conform-seq rma_values 2>messages || return
        [ "$(grep -cE '^ofi: .* and [1-9][0-9]* puts, [1-9][0-9]* gets ' messages)" = 2 ] && continue
        echo "by $provider puts or gets are messages"
        cat messages
        return 1
    done
}

# Runs the program with 2 ranks over conduit ofi by spawner ssh, with a shell that runs the command here. The ranks are
# on two hosts, so they use the address that leads to other hosts; where there is none, they are on one.
ofi_by_ssh()
{
    local hosts=n1,n2
    ip route get 192.0.2.1 >route 2>&1 && ! grep -q ' dev lo ' route || hosts=n1
    printf '#!/bin/bash\nexec sh -c "${!#}"\n' >shell && chmod +x shell &&
        GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_SSH_CMD=$PWD/shell gasnetrun_ofi -spawner=ssh -H $hosts -n 2 "$@"
}

# Each spawner starts a job over conduit ofi by provider $1. What is not installed is left out.
ofi_spawners()
{
    local mpi
    on_ofi "$1" 2 conform-seq am_args rma_segment || return
    export GASNET_CONDUIT=ofi GASNET_OFI_PROVIDER=$1 GASNET_SUPERNODE_MAXSIZE=1
    ofi_by_ssh conform-seq am_args rma_segment || return
    for mpi in openmpi mpich; do
        mpi_is_usable $mpi || continue
        GASNET_SPAWNER=mpi by_mpirun $mpi 2 conform-seq am_args rma_segment || return
        GASNET_SPAWNER=pmi by_mpirun $mpi 2 conform-seq am_args rma_segment || return
    done
}

# The ways to end a job over conduit ofi; kill -9; a report of a job that hangs.
ofi_exit()
{
    local job=$AQ_SRC/tests/core/job
    need_ofi
    export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_OFI_PROVIDER="tcp;ofi_rxm"
    "$job/exit-ways.sh" ofi fork 2 1 all inside handler traffic attach stop quit abort && "$job/exit-kill.sh" ofi 3 6 && "$job/report-hang.sh" ofi
}

# Runs the program $2 with $1 ranks over conduit ofi and TCP, between two network namespaces on whose cable all
# datagrams of UDP are lost, and 1 percent of the packets of TCP.
on_bad_tcp()
{
    local ranks=$1 code=0 bed=$AQ_SRC/tests/beds/veth
    shift
    need_ofi
    export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=ofi
    export GASNET_OFI_PROVIDER=${GASNET_OFI_PROVIDER:-tcp;ofi_rxm}
    "$bed/run" --drop 100 --loss 1 -- gasnetrun_ofi -n "$ranks" "$bed/rank" "$@" 2>messages || code=$?
    cat messages >&2
    [ $code = 0 ] || exit $code
    grep -qE '^veth: [1-9][0-9]* segments of TCP lost$' messages || {
        echo "No packet was lost."
        exit 1
    }
}

# The cable between two hosts is cut while a job over conduit ofi and TCP runs.
ofi_cut()
{
    need_ofi
    GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=ofi GASNET_OFI_PROVIDER="tcp;ofi_rxm" \
        "$AQ_SRC/tests/beds/veth/run" --loss 1 -- "$AQ_SRC/tests/beds/veth/cut"
}

# A rank of a job over conduit ofi is killed amid puts and gets, with each of the providers.
ofi_lost()
{
    local provider
    need_ofi
    for provider in "$@"; do
        "$AQ_SRC/tests/conduits/ofi/check-ofi-lost.sh" "$provider" || return
    done
}

# on_ibv [--suite NAME] [--rails N] [--two] [--random] COMMAND ...: runs the commands in one virtual machine with a
# verbs device or several, or in the first of two. No ranks of jobs over conduit ibv share memory. Ranks block,
# because a spinning rank would keep an emulated processor from the threads that carry packets. The device must never
# have had to wait for a buffer.
on_ibv()
{
    local options=(--rdma --time "${GUEST_TIME:-840}")
    while [[ $1 =~ ^--(rails|suite)$ ]]; do
        options+=("$1" "$2")
        shift 2
    done
    while [[ $1 =~ ^--(two|random)$ ]]; do
        options+=("$1")
        shift
    done
    has_ibv || skip "conduit ibv is not in this build (packages libibverbs-dev and librdmacm-dev)"
    "$AQ_SRC/tests/beds/rxe-vm/run" "${options[@]}" -- bash -c '. "$AQ_SRC/tests/run-functions.sh"
        ibv_jobs "$@"' bash "$@"
}

has_ibv()
{
    grep -q '^#define AQ_EACH_NAME.*X(ibv)' "$AQ_BUILD/config.h"
}

# In a virtual machine: runs jobs of conduit ibv, for whose messages there always is a buffer.
ibv_jobs()
{
    local waits
    export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=ibv GASNET_SUPERNODE_MAXSIZE=1 GASNET_WAITMODE=block
    run_jobs "$@" || return
    waits=$(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/*rnr*err | xargs)
    [ "$waits" = "0 0 0" ] || { echo "The device had to wait for buffers: $waits times."; return 1; }
}

# In a virtual machine: runs the command with random addresses in each process, so that ranks have
# their segments, functions and buffers at different ones.
scattered()
{
    local code=0 setting=/proc/sys/kernel/randomize_va_space before
    before=$(<$setting)
    echo 2 >$setting
    "$@" || code=$?
    echo "$before" >$setting
    return $code
}

# In a virtual machine with software iWARP: conduit ibv and gasnet_info refuse the device, in one sentence.
ibv_refuses_iwarp()
{
    local sentence='of iWARP, where a put that is complete may not have reached its destination; use conduit '
    gasnet_info >messages
    grep "siw0 port 1 *not used: it is $sentence" messages || { cat messages; return 1; }
    ! GASNET_CONDUIT=ibv GASNET_SUPERNODE_MAXSIZE=1 gasnetrun_ibv -n 2 hello >messages 2>&1 || {
        echo "A job uses iWARP."
        return 1
    }
    cat messages
    [ "$(grep -c "port 1 of siw0 is $sentence" messages)" = 1 ]
}

# ibv_parts PART ...: in a virtual machine, runs the jobs of these parts of the file ibv-jobs.
ibv_parts()
{
    local part jobs
    has_ibv || left_out "conduit ibv" "it is not in this build"
    has_ibv || return 0
    for part; do
        mapfile -t jobs < <(sed -n "/^\[$part\]\$/,/^\[/{/^[^[#]/p}" "$AQ_SRC/tests/conduits/ibv/ibv-jobs")
        [ ${#jobs[@]} -gt 0 ] || { echo "There is no part $part."; return 1; }
        (ibv_jobs "${jobs[@]}") || return
    done
}

# Long messages that the device reads: all; as far as firehose can pin them; and only what is in the
# segment, since other memory may be unmapped.
ibv_messages()
{
    local -x GASNET_MSG_DEVICE=1
    gasnetrun_ibv -n 2 device_work all &&
        GASNET_FIREHOSE_MAXVICTIM_M=1MB gasnetrun_ibv -n 2 device_work some &&
        GASNET_DISABLE_MUNMAP=0 gasnetrun_ibv -n 2 device_work some away
}

# Runs a job of conduit ibv with the smallest possible number of credits, buffers and operations.
ibv_with_minimum()
{
    GASNET_AM_CREDITS_PP=1 GASNET_AM_CREDITS_SLACK=0 GASNET_BBUF_COUNT=2 GASNET_NETWORKDEPTH_PP=2 "$@"
}

# Runs a job of conduit ibv that prints its counters at the end; its standard error is also kept in
# the file `messages`. A job that hangs says for what its ranks wait, and is ended.
ibv_with_counters()
{
    local code=0
    GASNET_STATS=1 timeout --foreground -s USR2 -k 20 300 gasnetrun_ibv "$@" 2>messages || code=$?
    cat messages
    return $code
}

# counters_say COUNT PATTERN ARGUMENT ...: runs a job of conduit ibv with these arguments; at least
# COUNT lines of its counters must match the extended regular expression PATTERN.
counters_say()
{
    local count=$1 pattern=$2
    shift 2
    ibv_with_counters "$@" || return
    [ "$(grep -cE -- "$pattern" messages)" -ge "$count" ] || {
        echo "Fewer than $count lines match '$pattern'."
        return 1
    }
}

# Each pool of firehose has room for one place of conform_memory: every place has to be requested,
# and evicts what was pinned before. The device alone moves all data, and at the end only the
# buffers are registered.
ibv_evicts()
{
    local memory
    memory='80 puts and gets by the device, 0 pieces copied by peers; 20 moves asked, 20 served, 0 refused; '
    memory+='([0-9]+) pins, \1 unpins, [3-9][0-9] evictions; 1 regions left'
    GASNET_FIREHOSE_M=64K GASNET_FIREHOSE_MAXVICTIM_M=128K GASNET_FIREHOSE_MAXREGION_SIZE=64K \
        GASNET_PUTINMOVE_LIMIT=0 ibv_with_counters -n 2 conform_memory places 20 3 || return
    [ "$(grep -cE "$memory" messages)" = 2 ]
}

# Runs the subtests $2 of the suite in segment mode $1 with such small pools of firehose that nearly
# every operation evicts a region and moves a firehose.
ibv_tiny_pools()
{
    local mode=$1
    shift
    GASNET_FIREHOSE_M=8K GASNET_FIREHOSE_MAXVICTIM_M=8K GASNET_FIREHOSE_MAXREGION_SIZE=4K \
        ibv_with_counters -n 2 "conform-$mode" "$@" || return
    [ "$(grep -cE ' 0 pieces .* [0-9]{3,} moves asked.* [0-9]{3,} evictions; 1 regions left' messages)" = 2 ]
}

# The device reads a constant, which is in read-only memory, in place.
ibv_constant()
{
    ibv_with_counters -n 2 conform_memory constant || return
    grep -qE 'rank 0 in memory: [12] puts .* 1 pins, 1 unpins' messages
}

# Without firehose, messages reach a segment that is not registered as a whole.
ibv_without_firehose()
{
    GASNET_USE_FIREHOSE=0 ibv_with_counters -n 2 conform_memory places 5 1 || return
    [ "$(grep -c ': 0 puts and gets by the device, .* 0 moves asked.* 0 pins.* 1 regions left' messages)" = 2 ]
}

# Runs a command as an unprivileged user who may lock $1 bytes of memory.
ibv_with_memlock()
{
    local limit=$1
    shift
    chmod 666 /dev/infiniband/* && chmod 777 . &&
        prlimit --memlock="$limit:$limit" setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# With almost no lockable memory, one rank names the limit. With a little more, there are fewer
# buffers. With a little more than the buffers take, a segment FAST is not registered as a whole,
# and still works.
ibv_memlock()
{
    expect_exit 1 ibv_with_memlock 65536 gasnetrun_ibv -n 2 conform-seq am_args 2>messages
    cat messages
    [ "$(grep -c 'cannot be registered.*may lock 65536 bytes.*ulimit -l' messages)" = 1 ] || return
    ibv_with_memlock 1500000 gasnetrun_ibv -n 2 conform_memory places 5 1 2>messages || return
    cat messages
    [ "$(grep -c 'may lock 1500000 bytes.*ulimit -l.*continuing with' messages)" = 1 ] || return
    GASNET_STATS=1 ibv_with_memlock 2400000 gasnetrun_ibv -n 2 conform-seq am_long rma_segment 2>messages || return
    cat messages
    [ "$(grep -c 'the segment (.*may lock 2400000 bytes.*ulimit -l.* register parts of it' messages)" = 1 ] &&
        [ "$(grep -cE ' [1-9][0-9]* puts .* 0 pieces .* [1-9][0-9]* moves asked.* 1 regions left' messages)" = 2 ]
}

# Messages by RDMA, with one ring for two peers: the ring has to change its owner and carry
# messages.
ibv_rings()
{
    GASNET_AMRDMA_MAX_PEERS=1 GASNET_AMRDMA_CYCLE=32 GASNET_AMRDMA_DEPTH=4 \
        counters_say 1 ' [1-9][0-9]* in rings; ([2-9]|[1-9][0-9]+) rings granted, [1-9][0-9]* freed' \
        -n 3 conform-seq am_args am_medium am_long am_flood_short
}

# This device is atomic only with respect to itself: it does remote atomics only if a setting says
# so.
ibv_atomics()
{
    GASNET_IBV_ATOMICS=1 counters_say 3 ' [1-9][0-9]* atomics by the device' -n 3 conform-seq atomic-away &&
        counters_say 2 ' 0 atomics by the device' -n 2 conform-seq atomic-away
}

# Connect files: only the connections of the file are made at the start. A run writes those that it
# has used, in one file or one for each rank, and the next run makes the same ones.
ibv_connect_files()
{
    printf 'size: 4\n0: 1-2\n' >few &&
        GASNET_CONNECT_STATIC=1 GASNET_CONNECTFILE_IN=$PWD/few \
            counters_say 1 ' to 2 peers by 2 queue pairs' -n 4 conform_exit code 0 &&
        grep -c ' to 1 peers by 1 queue pairs' messages | grep -x 2 &&
        grep -c ' to 0 peers by 0 queue pairs' messages | grep -x 1 &&
        GASNET_CONNECT_STATIC=1 GASNET_CONNECTFILE_IN=$PWD/few GASNET_CONNECTFILE_OUT=$PWD/used \
            GASNET_CONNECTFILE_BASE=10 gasnetrun_ibv -n 4 conform-seq rma_values &&
        GASNET_CONNECTFILE_OUT=$PWD/used.% gasnetrun_ibv -n 4 conform-seq rma_values &&
        grep -h . used.[0-3] | awk '!/size|base/ || !seen[$1]++' >together &&
        diff <(sed 's/^base: .*/base: 36/' used | sort) <(sort together) &&
        [ "$(grep -c : used)" = 6 ] &&
        GASNET_CONNECT_STATIC=1 GASNET_CONNECTFILE_IN=$PWD/together \
            counters_say 4 ' to [1-3] peers by [1-3] queue pairs' -n 4 conform_exit code 0 &&
        { GASNET_CONNECT_STATIC=1 GASNET_CONNECTFILE_IN=$PWD/few gasnetrun_ibv -n 3 conform-seq am_args 2>&1 || true; } |
            grep "rank 0 of 3 .*: line 1 of the connect file .*/few (GASNET_CONNECTFILE_IN) is not"
}

# The queue pairs have the attributes that the user chose, as the device reports them; a software
# device has no service levels. Without a choice librdmacm decides. The device cannot page on demand
# (before Linux 7), or does it wrongly (7.2).
ibv_paths()
{
    local odp_refusals='cannot page memory on demand|fails a trial of on-demand paging'
    counters_say 2 ' sends to rank [01] with MTU 1024, partition index 0, .* class 0$' \
        -n 2 conform-seq am_args &&
        GASNET_MAX_MTU=256 GASNET_IBV_PKEY=0x7fff GASNET_IBV_SERVICE_LEVEL=3 GASNET_IBV_TRAFFIC_CLASS=32 \
            counters_say 2 ' sends to rank [01] with MTU 256, partition index 0, .* class 32$' \
            -n 2 conform-par --threads 2 am_flood_mixed rma_nbi &&
        GASNET_IBV_CONNECT=ud GASNET_IBV_GID_INDEX=1 GASNET_MAX_MTU=512 GASNET_IBV_TRAFFIC_CLASS=16 \
            counters_say 2 ' sends to rank [01] with MTU 512, partition index 0, .* class 16$' \
            -n 2 conform-seq rma_nbi &&
        GASNET_MAX_MTU=512 GASNET_CONNECT_STATIC=1 \
            counters_say 4 ' to 3 peers by 3 queue pairs, ' -n 4 conform-seq rma_values &&
        { GASNET_IBV_PKEY=0x1234 gasnetrun_ibv -n 2 conform-seq am_args 2>&1 || true; } |
            grep 'port 1 of verbs device rxe0 is in no partition 0x1234' &&
        GASNET_USE_ODP=1 counters_say 2 ' sends to rank' -n 2 conform-seq rma_values &&
        grep -cE "rank 0 .*warning: verbs device rxe0 ($odp_refusals)" messages | grep -x 1 &&
        { GASNET_IBV_GID_INDEX=99 gasnetrun_ibv -n 2 conform-seq am_args 2>&1 || true; } |
            grep 'port 1 of verbs device rxe0 has no GID with index 99'
}

# A peer that was never contacted has no queue pair. With static connections each peer has one,
# whichever side calls, and no more calls are outstanding than allowed; the same holds if all
# threads of all ranks call at the same time.
ibv_connections()
{
    counters_say 4 ' connected to 0 peers by 0 queue pairs, 0 calls' -n 4 conform_exit code 0 &&
        GASNET_CONNECT_STATIC=1 GASNET_CONNECT_DYNAMIC=0 GASNET_CONNECT_CALLS=2 \
            counters_say 5 ' to 4 peers by 4 queue pairs, [012] calls' -n 5 conform_exit code 0 &&
        grep -q ' 2 calls' messages &&
        GASNET_CONNECT_STATIC=1 counters_say 4 ' to 3 peers by 3 queue pairs, ' -n 4 conform_exit code 0 &&
        counters_say 4 ' to 3 peers by 3 queue pairs, [01] calls' -n 4 conform-par --threads 4 am_flood_short
}

# The same by datagrams, all of which are from the job.
ibv_connect_ud()
{
    export GASNET_IBV_CONNECT=ud
    ibv_connections && counters_say 2 ' by datagrams: [1-9][0-9]* sent .* 0 dropped here, [1-9][0-9]* received \(0 ' \
        -n 2 conform-seq am_args && gasnet_info | grep 'connections .*GASNET_IBV_CONNECT=ud'
    local code=$?
    unset GASNET_IBV_CONNECT
    return $code
}

# A port without an IP address: connections are made by datagrams, unless the user wants librdmacm;
# then one rank names the port.
ibv_connect_no_address()
{
    local wanted='port 1 of verbs device rxe0 has no network interface .* IP address, .*, or unset GASNET_IBV_CONNECT'
    ip address del 10.84.0.1/24 dev veth0 &&
        counters_say 3 ' by datagrams: [1-9]' -n 3 conform-seq am_args endpoint_am rma_nbi coll_same &&
        GASNET_CONNECT_STATIC=1 counters_say 4 ' to 3 peers by 3 queue pairs, ' -n 4 conform-par --threads 2 am_long &&
        { GASNET_IBV_CONNECT=rdmacm expect_exit 1 gasnetrun_ibv -n 2 conform-seq am_args 2>messages; cat messages; } &&
        [ "$(grep -c "$wanted" messages)" = 1 ] && ip address add 10.84.0.1/24 dev veth0 &&
        counters_say 3 ' in all: connected to [12] peers' -n 3 conform-seq am_args && ! grep 'datagrams' messages
}

# Windows: messages between further endpoints travel through queue pairs of their own. First between
# all pairs of three endpoints of each rank, then one endpoint for each of four threads, then the
# subtests at one endpoint, the first one with rings and the last one without.
ibv_windows()
{
    local to=' in all: connected to' by='.* received'
    counters_say 6 ", endpoint [1-3]$to 3 peers by 3 queue pairs,$by [1-9]" \
        -n 2 conform-par --repeat 3 endpoint_am endpoint_long &&
        counters_say 8 ", endpoint [1-4]$to 1 peers by 1 queue pairs,$by [1-9]" \
            -n 2 conform-par --threads 4 --repeat 2 endpoint_threads &&
        GASNET_AMRDMA_CYCLE=32 at_endpoint 1 counters_say 2 ", endpoint 1$to .* [0-9]{3,} in rings; [1-9]" \
            -n 2 conform-par --threads 2 &&
        GASNET_AMRDMA_MAX_PEERS=0 at_endpoint 1023 counters_say 2 \
            ", endpoint 1023$to 1 peers by 1 queue pairs,$by [0-9]{4}.* 0 in rings; 0 rings" -n 2 conform-seq
}

# With so little lockable memory that endpoint 0 gets its buffers and windows do not, a rank says so,
# and the messages travel with those of endpoint 0.
ibv_no_window()
{
    GASNET_STATS=1 ibv_with_memlock 2400000 gasnetrun_ibv -n 2 conform-par --repeat 2 endpoint_am 2>messages || return
    cat messages
    grep -q 'endpoint [1-3] gets no window over conduit ibv' messages && ! grep -q ', endpoint [1-3] in all' messages
}

# What gasnet_perf --memory prints about conduit ibv: rank 0 of 6 is connected to the ranks that it
# contacted, or that contacted it, at the start, which rank 3 did not. A connection takes at most 16
# KiB, and a rank that was never contacted 32 bytes.
ibv_memory()
{
    gasnetrun_ibv -n 6 gasnet_perf --memory >messages || return
    cat messages
    awk '$1 == "memory-bound-peers" { bound = $3 }
        $1 == "memory-connections" { connections = $3 }
        $1 == "memory-connected-peer" { each = $3 }
        $1 == "memory-unspoken-peer" { row = $3 }
        END { exit !(bound <= connections && connections < 5 && each > 0 && each <= 16384 && row > 0 && row <= 32) }
        ' messages || {
        echo "There are connections to peers that were never contacted, or peers take more memory than they may."
        return 1
    }
}

# More ranks than processors, which sleep. No rank sleeps long while it has rings, so arriving
# messages wake it.
ibv_oversubscribed()
{
    GASNET_AMRDMA_CYCLE=1 gasnetrun_ibv -n 3 conform-seq am_sleeper am_flood_short barrier_am
}

# Runs jobs of conduit ibv that the mpirun of MPI $2 starts and whose ranks join by spawner $1.
ibv_started()
{
    export GASNET_CONDUIT=ibv GASNET_SPAWNER=$1 GASNET_EXITTIMEOUT=20
    by_mpirun "$2" 2 conform-seq am_args rma_segment || return
    by_mpirun "$2" 2 conform_exit one 1 5
    [ $? = 5 ] || return
    none_left conform_exit
}

# Fails if a process with this name is there after 5 s. mpirun may end a moment before its processes.
none_left()
{
    local i
    for i in $(seq 50); do
        pgrep -x "$1" >/dev/null || return 0
        sleep 0.1
    done
    pgrep -xa "$1"
    return 1
}

# Runs the command $2, and fails unless its exit code is $1.
expect_exit()
{
    local wanted=$1 code
    shift
    "$@"
    code=$?
    [ $code = "$wanted" ] || {
        echo "The exit code is $code, not $wanted."
        exit 1
    }
}

# Prints the C files of this project, relative to AQ_SRC.
sources()
{
    (
        cd "$AQ_SRC" &&
            find conduits core examples extended firehose messages other spawner tests -name '*.[ch]' \
                ! -path core/gasnet_config.h 2>/dev/null | sort
    )
}

# fail_on_output SENTENCE COMMAND ...: runs the command; if it prints anything, prints that and the
# sentence, and ends the check.
fail_on_output()
{
    local sentence=$1 found
    shift
    found=$("$@")
    [ -n "$found" ] || return 0
    printf '%s\n%s\n' "$found" "$sentence"
    exit 1
}
