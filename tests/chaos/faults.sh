# SPDX-License-Identifier: BSD-3-Clause
# The actions of each fault. A fault NAME (see plan.sh) has up to four functions:
#
#     before_NAME   before the job starts: may add variables of the job to $settings, words in front
#                   of the launcher to $front, words in front of the program to $program_front, and
#                   a file for its standard output to $redirect
#     during_NAME   $after tenths of a second after the first round of the job; may take $length of
#                   them; fails if the fault could not be made
#     after_NAME    when the job is over: restores everything
#     complains_NAME  prints what is wrong although the result is right
#     says_NAME     prints an extended regular expression that the messages of a job that ends match
#
# It sets $expected_code if the job must end with that code. A fault without says_NAME needs no
# message.

pause()
{
    sleep "$(($1 / 10)).$(($1 % 10))"
}

signal_for_a_while()
{
    kill -STOP "$1" || return
    pause "$length"
    kill -CONT "$1"
}

# Prints the processes of the ranks, in the order of the ranks.
ranks_of_job()
{
    cat "/proc/$launcher/task/$launcher/children" 2>/dev/null
}

victim_process()
{
    local pids
    read -ra pids < <(ranks_of_job)
    echo "${pids[$victim]-}"
}

before_noise()
{
    settings+=(GASNET_UDP_FAULT_SEED="$seed_of_round" GASNET_UDP_FAULT_DROP="$rate" GASNET_UDP_FAULT_DUPLICATE="$rate"
        GASNET_UDP_FAULT_REORDER=$((3 * rate)) GASNET_UDP_FAULT_DELAY="$rate" GASNET_UDP_FAULT_DELAY_MS="$length"
        GASNET_UDP_FAULT_TRUNCATE=$((rate / 2)) GASNET_UDP_FAULT_FLIP=$((rate / 2)))
}

during_stop_rank() { signal_for_a_while "$(victim_process)"; }
during_stop_launcher() { signal_for_a_while "$launcher"; }

# ---- the network ----

# A job that must survive a failure of the network must not take it for the end of a host.
before_partition() { settings+=(GASNET_UDP_PEER_TIMEOUT=60); }
before_route() { before_partition; }
before_mtu() { before_partition; }

cut_cable() { in_middle ip link set left down; }
restore_cable() { in_middle ip link set left up; }

during_partition()
{
    cut_cable || return
    pause "$length"
    restore_cable
}

before_partition_stays() { settings+=(GASNET_UDP_PEER_TIMEOUT=2); }
during_partition_stays() { cut_cable; }
after_partition_stays() { restore_cable; }
says_partition_stays() { echo 'GASNet: .*rank [0-9]+'; }

during_route()
{
    local kinds=(unreachable prohibit blackhole)
    ip route add "${kinds[rate % 3]}" $network.2/32 || return
    pause "$length"
    ip route del "${kinds[rate % 3]}" $network.2/32
}

during_mtu()
{
    local side
    for side in "ip link set near" "in_there ip link set far"; do
        $side mtu $((1400 - 70 * rate)) || return
    done
    pause "$length"
    ip link set near mtu 1500 && in_there ip link set far mtu 1500
}

# insert_attacker KIND: replaces the bridge with an attacker of that kind.
insert_attacker()
{
    bed_bridge off
    : >"$work/middle"
    nsenter --net="/proc/$middle/ns/net" \
        "$AQ_BUILD/chaos_middle" left right "$1" "$rate" "$seed_of_round" >"$work/middle" 2>&1 &
    attacker=$!
    disown
    for _ in $(seq 100); do
        ! grep -q ready "$work/middle" || return 0
        sleep 0.05
    done
    echo "chaos: chaos_middle does not start: $(cat "$work/middle")" >&2
}

remove_attacker()
{
    kill -TERM "$attacker" 2>/dev/null
    for _ in $(seq 40); do
        [ -d "/proc/$attacker" ] || break
        sleep 0.05
    done
    kill -KILL "$attacker" 2>/dev/null
    attacker=
    bed_bridge on
    remark=$(tail -n 1 "$work/middle")
    [[ $remark =~ [1-9][0-9]*\ replaced ]] || not_made="nobody replaced a datagram"
}

# Only the protection under test may refuse the attacker's datagrams, so checksums are off.
before_listener() { before_partition; settings+=(GASNET_UDP_CHECKSUM=no); insert_attacker listener; }
after_listener() { remove_attacker; }
before_middle() { before_partition; settings+=(GASNET_UDP_CHECKSUM=no); insert_attacker middle; }
after_middle() { remove_attacker; }

# Each rank changes some of its datagrams before they are sealed, which is impossible without the
# key.
before_insider() { before_noise; settings+=(GASNET_UDP_FAULT_FORGE="$((rate + 1)).5"); }
says_insider() { echo 'GASNet: |chaos_work: '; }

# ---- other users of the host ----

# Those who find the sockets of the job must be in its network namespace; those who attack are
# somebody else. With conduit ofi, others send messages of the provider.
before_strangers()
{
    local script
    another=0 program_front=()
    : >"$work/calling"
    work_options=(--while "$work/calling")
    settings+=(CHAOS_DOORS="$work/doors")
    [ "$conduit" != udp ] || settings+=(GASNET_WORKERIP=127.0.0.0)
    chmod 711 "$work" # who attacks gets as far as to the files of sockets
    script=$(cat "$here/strangers.py")
    : >"$work/doors" >"$work/attack"
    python3 -c "$script" find "CHAOS_MARK=$work" >"$work/doors" 2>>"$work/said" &
    finder=$!
    tail -n +1 -s 0.1 -f --pid=$finder "$work/doors" 2>/dev/null |
        "${stranger[@]}" python3 -c "$script" attack "$seed_of_round" >"$work/attack" 2>>"$work/said" &
    attacker=$!
    disown -a
}

# Messages of the provider, shorter and longer than an inbox.
call_by_provider()
{
    local kind host port bytes
    RANDOM=$seed_of_round
    while read -r kind host port; do
        [ "$kind" = tcp ] || continue
        for bytes in $((RANDOM % 16384)) $((16385 + RANDOM * 100)); do
            timeout 20 "$AQ_BUILD/tests/conduits/ofi/ofi_stranger" "$provider" "$host" "$port" "$bytes" 3
        done
    done <"$work/doors"
}

# Another job starts while somebody holds the names that its processes would have.
start_another()
{
    local master=127.0.0.1:$((30000 + seed_of_round % 2000))
    another=0
    env "${settings[@]}" GASNET_MASTER="$master" timeout $PATIENCE "${start[@]}" "$build/chaos_work" \
        --seconds 0 >>"$work/said" 2>&1 </dev/null || another=$?
}

during_strangers()
{
    pause "$length"
    [ "$conduit" != ofi ] || call_by_provider >"$work/messages"
    start_another
    rm "$work/calling"
    [ "$conduit" != ofi ] || grep -q '^3 of 3' "$work/messages" || { echo "no message of the provider was sent" && false; }
}

# A job on one host has no socket with a name; the others have ports.
missing_doors()
{
    local kind kinds=
    case $conduit in
    udp) kinds=udp ;;
    ofi) kinds=tcp ;;
    hosts | rendezvous | universe) kinds='udp tcp local' ;;
    esac
    for kind in $kinds; do
        [[ $remark =~ [1-9][0-9]*\ $kind ]] || not_made="nobody found a socket of $kind"
    done
}

after_strangers()
{
    kill "$finder"
    for _ in $(seq 100); do
        [ ! -s "$work/attack" ] || break
        sleep 0.1
    done
    remark=$(cat "$work/attack")
    kill -KILL "$attacker" 2>/dev/null
    attacker='' finder=''
    missing_doors
}

complains_strangers()
{
    [[ $remark != *'FILES TAKEN'* ]] || echo "another user has taken a file of a socket"
    [ "${another:-0}" = 0 ] || echo "another job that started meanwhile ended with code $another"
    [ "$(wc -l <"$work/err")" -le 20 ] || echo "more than 20 lines of warnings"
}

# ---- disks, files, memory ----

fill()
{
    dd if=/dev/zero of="$1/fill" bs=4k >/dev/null 2>&1
    return 0
}

full_disk_of_job()
{
    mkdir -p "$work/full" && mount -t tmpfs -o size=64k chaos "$work/full" && fill "$work/full"
}

before_full_disk()
{
    full_disk_of_job && fill /dev/shm
    settings+=(TMPDIR="$work/full")
}

after_full_disk()
{
    rm -f /dev/shm/fill
    umount "$work/full"
}

before_full_output()
{
    full_disk_of_job
    : >"$work/full/out"
    redirect=$work/full/out
}

after_full_output() { umount "$work/full"; }
says_full_output() { echo .; }

before_few_files() { front+=(prlimit --nofile=$((6 + 2 * rate))); }
says_few_files() { echo 'GASNet: .*(descriptor|open|files|ulimit -n)'; }

during_no_more_files() { prlimit --pid "$(victim_process)" --nofile=3:3; }
says_no_more_files() { echo 'GASNet: '; }

before_little_memory() { front+=(prlimit --as=$(((20 + 15 * rate) * 1000000))); }
says_little_memory() { echo 'GASNet: |chaos_work: |error while loading shared libraries|annot allocate'; }

during_no_more_memory()
{
    local pid bytes
    pid=$(victim_process)
    bytes=$(awk '$1 == "VmSize:" { print 1024 * $2 }' "/proc/$pid/status")
    prlimit --pid "$pid" --as="$bytes:$bytes"
}
says_no_more_memory() { echo 'GASNet: |chaos_work: '; }

# ---- time ----

before_clock()
{
    front+=(unshare --time --monotonic $((10 ** (rate % 9))) --boottime $((10 ** (rate % 9))) --fork --kill-child)
}

# ---- ends ----

during_kill_rank() { kill -KILL "$(victim_process)"; }
says_kill_rank() { echo 'GASNet: .*rank [0-9]+ of [0-9]+ .*was killed by SIGKILL'; }

during_kill_launcher() { kill -KILL "$launcher"; }

before_term_launcher() { settings+=(GASNET_TERM_TIMEOUT=1); }
during_term_launcher()
{
    kill -STOP "$(victim_process)" || return
    kill -TERM "$launcher"
}

code_of_fault()
{
    case $fault in
    kill-rank | kill-launcher) echo 137 ;;
    term-launcher) echo 143 ;;
    esac
}

# ---- what can be done here ----

lacks_strangers()
{
    if [ -n "$no_bed" ]; then
        echo "$no_bed"
    elif [ ! -x /usr/bin/python3 ] || ! "${stranger[@]}" true 2>/dev/null; then
        echo 'only root can act as another user, with setpriv and python3'
    elif [ "$conduit" = ofi ] && [ ! -x "$AQ_BUILD/tests/conduits/ofi/ofi_stranger" ]; then
        echo 'conduit ofi is not in this build'
    fi
}

# Prints why a fault cannot be made on this machine; nothing if it can.
lacks()
{
    case $1 in
    partition* | route | mtu | listener | middle | full-*) echo "$no_bed" ;;
    strangers) lacks_strangers ;;
    few-files | no-more-* | little-memory) command -v prlimit >/dev/null || echo 'prlimit is missing (package util-linux)' ;;
    clock) unshare --time --monotonic 1 --fork true 2>/dev/null || echo 'the kernel lets this user make no time namespaces' ;;
    esac
}
