#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-bind: the processors of ranks: bound to cores of their own, left alone, refused. In
# namespaces of its own, because other jobs of this host may have bound ranks too.
set -u
if [ -z "${AQ_BIND_INSIDE-}" ]; then
    for isolated in 'unshare' 'unshare --map-root-user'; do
        isolated+=' --net --mount --pid --fork --kill-child --mount-proc'
        # shellcheck disable=SC2086
        $isolated mount -t sysfs aq /sys 2>/dev/null || continue
        AQ_BIND_INSIDE=1 exec $isolated bash -c 'mount -t sysfs aq /sys && ip link set lo up && exec "$0"' "$0"
    done
    echo "The test needs the right to make namespaces and to mount /sys."
    exit 77
fi
. "$(dirname "$0")/launch-functions.sh"
cpus=$(nproc)
all=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
if [ "$cpus" -lt 2 ] || [ "$cpus" -gt 16 ] || [ "$all" != "$(cat /sys/devices/system/cpu/online)" ]; then
    echo "The test needs 2 to 16 processors, all of them for this process."
    exit 77
fi
udp=$AQ_BUILD/conform_exit_udp
export GASNET_SPAWN_VERBOSE=1

# none RANKS: the last job had that many, none of which is bound.
none()
{
    [ "$(grep -c "^[0-9]* $all\$" "$work/out")" -eq "$1" ] || fail "not $1 ranks that are not bound"
    ! grep -q 'are bound to' "$work/err" || fail "the launcher says that ranks are bound"
}

# Prints the processors of each rank of the last job, a list a line.
lists()
{
    sed -n 's/^[0-9]* \([0-9][0-9,-]*\)$/\1/p' "$work/out"
}

# apart RANKS: the last job had that many, each of which has processors of its own.
apart()
{
    [ "$(lists | wc -l)" -eq "$1" ] || fail "not $1 ranks"
    [ -z "$(lists | spread | sort | uniq -d)" ] || fail "ranks share a processor"
    [ "$(grep -c 'ranks are bound to processors: ' "$work/err")" -ge 1 ] || fail "the launcher does not say that ranks are bound"
}

# Prints the numbers of lists of processors, one a line.
spread()
{
    tr , '\n' | while IFS=- read -r low high; do seq "$low" "${high:-$low}"; done
}

# why TEXT: the launcher has said that ranks are not bound, and why.
why()
{
    grep -qF -- "ranks are not bound to processors: $1" "$work/err" || fail "no '$1'"
}

# wait_state PROCESS NAME STATE LIST: the process runs that program, in that state (a pattern), and is
# bound to these processors.
wait_state()
{
    local text
    for _ in $(seq 100); do
        text=$(sed -nE 's/^(Name|State|Cpus_allowed_list):[[:space:]]*([^ ]*).*/\2/p' "/proc/$1/status" | xargs)
        # shellcheck disable=SC2254
        case $text in "$2 "$3" $4") return 0 ;; esac
        sleep 0.05
    done
    fail "process $1 does not become $2 on processors $4: $text"
}

job()
{
    expect 0 "$@"
    grep -q '^0 ' "$work/out" || fail "rank 0 prints nothing"
}

# As many ranks as there are processors, fewer, more.
for ranks in $(seq 2 "$cpus"); do
    job "$run" -n "$ranks" "$conform" cpus
    apart "$ranks"
done
job "$AQ_BUILD/gasnetrun_udp" -n 2 "$udp" cpus
apart 2
job env GASNET_PSHM_NODES=2 "$conform" cpus
apart 2
job "$udp" 2 cpus
apart 2
job "$run" -n 1 "$conform" cpus
none 1
why "the only rank of this host may use all $cpus processors"
job "$run" -n $((cpus + 1)) "$conform" cpus
none $((cpus + 1))
why "$((cpus + 1)) ranks are more than the $cpus processors"
job "$run" -n 1 --reserve 1 "$conform" cpus
apart 1
job "$run" -n 1 --reserve "$cpus" "$conform" cpus
none 1
expect 0 "$run" -n 1 --reserve $((cpus - 1)) "$AQ_BUILD/grow_work" $((cpus - 1))
[ "$(grep -o ' to [0-9,-]*' "$work/err" | grep -c .)" -ge "$cpus" ] || fail "ranks that come later are not bound"

# By request; -v says it without the variable.
for how in '--bind none' '--bind=none' '-c 0'; do
    # shellcheck disable=SC2086
    job "$run" -n 2 $how "$conform" cpus
    none 2
    why "GASNET_BIND is none"
done
job env GASNET_BIND=none "$run" -n 2 "$conform" cpus
none 2
job env -u GASNET_SPAWN_VERBOSE GASNET_BIND=none "$run" -v --bind auto -n 2 "$conform" cpus
apart 2
job "$run" -n 2 --bind core "$conform" cpus
apart 2
job "$run" -n 2 -c 1 "$conform" cpus
apart 2
job env -u GASNET_SPAWN_VERBOSE "$run" --bind core -n $((cpus + 1)) "$conform" cpus
none $((cpus + 1))
says "warning: GASNET_BIND=core: ranks are not bound to processors: $((cpus + 1)) ranks are more than the $cpus processors"
expect 2 "$run" -n 2 --bind pigeon "$conform" cpus
says "option --bind: 'pigeon' is not one of auto, core, none"
expect 2 "$run" -n 2 --bind
says "option --bind has no value"
expect 2 env GASNET_BIND=pigeon "$run" -n 2 "$conform" cpus
says "GASNET_BIND: 'pigeon' is not one of auto, core, none"
expect 2 env GASNET_MASTER=127.0.0.1:1 "$run" -spawner=rendezvous -n 2 --bind core "$conform" cpus
says "option --bind: spawner rendezvous"

# Something else has bound the launcher, or a rank starts a job.
expect 0 taskset -c 0 "$run" -n 1 "$conform" cpus
grep -qx '0 0' "$work/out" || fail "the ranks do not stay where the launcher is"
why "what started this process has bound it already, to processors 0"
expect 0 "$run" -n 2 sh -c '"$1" -n 1 "$0" cpus >"$2.$$" 2>&1; exec "$0" cpus' "$conform" "$run" "$work/nested"
apart 2
cmp -s <(lists | sort) <(grep -hx '0 [0-9,-]*' "$work"/nested.* | cut -d' ' -f2 | sort) ||
    fail "a job in a rank leaves its processors"
if [ "$cpus" -ge 3 ]; then
    job taskset -c 1,2 "$run" -n 2 --bind core "$conform" cpus
    [ "$(grep '^[01] ' "$work/out" | sort | xargs)" = "0 1 1 2" ] || fail "--bind core leaves the processors of the launcher"
fi

# A second job finds the processors taken, until the first one is gone, however that ends.
for sig in TERM KILL; do
    start 2 "$run" -n 2 "$conform" sleep 60
    for _ in $(seq 100); do grep -q 'are bound to' "$work/err" && break || sleep 0.05; done
    cp "$work/err" "$work/first"
    job "$run" -n 2 "$conform" cpus
    none 2
    why "another job has bound its ranks to processor "
    job "$run" -n 2 --bind core "$conform" cpus
    apart 2
    grep -q 'are bound to' "$work/first" || fail "the first job is not bound"
    kill -$sig "$sup"
    wait "$sup" 2>/dev/null
    sup=
    none_left
    job "$run" -n 2 "$conform" cpus
    apart 2
done

# A program that claims nothing is bound to the same processors, and runs; or sleeps, or is not bound.
taskset -c 0 sleep 60 &
pids=$!
wait_state $! sleep S 0
bash -c 'while :; do :; done' &
pids+=" $!"
job "$run" -n 2 "$conform" cpus
apart 2
taskset -c $((cpus - 1)) bash -c 'while :; do :; done' &
pids+=" $!"
wait_state $! bash R $((cpus - 1))
job "$run" -n 2 "$conform" cpus
none 2
why "process $! runs and is bound to some of the same processors"
kill $pids
none_left

# Two hosts that are this one: whoever comes second leaves its ranks alone.
printf '#!/bin/bash\nexec sh -c "${!#}"\n' >"$work/shell"
chmod +x "$work/shell"
export GASNET_WORKERIP=127.0.0.1 GASNET_SSH_CMD=$work/shell
job "$AQ_BUILD/gasnetrun_udp" -n 4 -H a,b "$udp" cpus
[ -z "$(lists | grep -vxF "$all" | spread | sort | uniq -d)" ] || fail "two hosts bind ranks to one processor"
[ "$(grep -c 'are bound to' "$work/err")" -eq 1 ] || fail "not one host of two says that its ranks are bound"
job "$AQ_BUILD/gasnetrun_udp" -v --bind none -n 2 -H a "$udp" cpus
none 2

# Processes that start one by one know of each other.
export GASNET_SPAWNFN=C GASNET_MASTERIP=127.0.0.1 GASNET_CSPAWN_CMD='for i in $(seq %N); do %C & done; wait'
job "$udp" 2 cpus
apart 2
unset GASNET_SPAWNFN
(umask 077 && head -c 24 /dev/urandom | base64 >"$work/key")
export GASNET_MASTER=127.0.0.1:$((10000 + RANDOM % 20000)) GASNET_KEY_FILE=$work/key GASNET_SIZE=2
expect 0 sh -c 'GASNET_RANK=1 "$0" cpus & GASNET_RANK=0 "$0" cpus; wait' "$conform"
apart 2
unset GASNET_MASTER GASNET_KEY_FILE GASNET_SIZE

# mpirun binds ranks, or does not; then nothing else does.
if [ -e "$AQ_BUILD/modules/aq_mpi_openmpi.so" ] && command -v mpirun.openmpi >/dev/null; then
    expect 0 bash -c '. "$AQ_SRC/tests/run-functions.sh"; on_mpi openmpi 2 "$0" cpus' "$conform"
    none 2
fi

# More threads than processors: the rank may use all again, unless the user asked for the binding.
threads=$((cpus / 2 + 1))
released="this rank has [0-9]* threads, more than the processors to which it was bound"
expect 0 "$run" -n 2 "$AQ_BUILD/gasnet_perf_par" am-short --threads $threads --iters 100
grep -q "$released" "$work/err" || fail "threads stay on too few processors"
expect 0 "$run" -n 2 "$AQ_BUILD/gasnet_perf_par" am-short --iters 100
! grep -q "$released" "$work/err" || fail "one thread is released"
expect 0 "$run" -n 2 --bind core "$AQ_BUILD/gasnet_perf_par" am-short --threads $threads --iters 100
! grep -q "$released" "$work/err" || fail "--bind core does not hold"

# Another layout: all processors are hardware threads of one core; none is described.
mount -t tmpfs aq /sys/devices/system/cpu || exit 1
for cpu in $(spread <<<"$all"); do
    mkdir -p "/sys/devices/system/cpu/cpu$cpu/topology"
    echo "$all" >"/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list"
done
job "$run" -n 2 "$conform" cpus
apart 2
job env -u GASNET_SPAWN_VERBOSE "$run" -n 2 --bind core "$conform" cpus
none 2
says "ranks are not bound to processors: 2 ranks are more than the 1 cores"
rm -r /sys/devices/system/cpu/cpu0/topology
job "$run" -n 2 "$conform" cpus
none 2
why "/sys/devices/system/cpu does not describe the processors of this host"
