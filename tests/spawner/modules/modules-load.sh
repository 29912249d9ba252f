#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# modules-load: boot modules that are loaded at run time (spawner/aqueduct_spawn.h): their calls,
# hosts, threads, priorities and faults, with modules that start all helpers on this host
# (spawn_here.c); and those that are refused. modules-load.sh threads has the threads only.
set -u
. "$(dirname "$0")/../launch/launch-functions.sh"
cp "$AQ_BUILD/conform_exit_udp" "$work/conform_exit" || exit 1
conform=$work/conform_exit
launcher=$AQ_BUILD/gasnetrun_udp
mkdir -m 755 "$work/modules" || exit 1
export GASNET_MODULE_PATH=$work/modules HERE_LOG=$work/log

# module NAME options ...: builds the module with nothing but its header.
module()
{
    cc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused -Werror -fPIC -fvisibility=hidden -shared -Wl,-z,defs \
        -I"$AQ_SRC/spawner" "-DNAME=\"$1\"" "${@:2}" "$AQ_SRC/tests/spawner/modules/spawn_here.c" \
        -o "$work/modules/aq_spawn_$1.so" || fail "module $1 does not build"
}

# job CODE options program ...: by module here, unless another one is named.
job()
{
    rm -f "$work/log"
    expect "$1" "$launcher" -spawner=here "${@:2}"
    no_rank_left 100
}

ranks()
{
    [ "$(cut -d' ' -f1 "$work/out" | sort -n | xargs)" = "$(seq 0 $(($1 - 1)) | xargs)" ] || fail "not ranks 0 to $(($1 - 1))"
    silent
}

# Threads: as many calls at once as the window says.
threads_start_hosts()
{
    export GASNET_SPAWN_ALGORITHM=threads HERE_INSIDE=3 HERE_TENTHS=300
    GASNET_SPAWN_WINDOW=3 job 0 -n 4 -H a,b,c,d "$conform" pid
    ranks 4
    HERE_TENTHS=2 GASNET_SPAWN_WINDOW=2 job 1 -n 4 -H a,b,c,d "$conform" pid
    says ' calls were made at once'
    HERE_TENTHS=2 expect 1 "$launcher" -spawner=single -n 4 -H a,b,c,d "$conform" pid
    says 'host a: spawner single cannot start its helper: only 1 calls were made at once'
    export GASNET_SPAWN_ALGORITHM=tree
    HERE_TENTHS=2 job 1 -n 4 -H a,b,c,d "$conform" pid
    says 'only 1 calls were made at once'
    unset GASNET_SPAWN_ALGORITHM HERE_INSIDE
}

module here
module single -DFLAGS=0
[ "${1-}" != threads ] || {
    threads_start_hosts
    exit
}
module all -DALL
module newer -DVERSION=7
module tableless -DNO_TABLE
module startless -DNO_START
cp "$work/modules/aq_spawn_here.so" "$work/modules/aq_spawn_alias.so"
echo text >"$work/modules/aq_spawn_text.so"

# A job over three hosts of a file, whose unknown keys reach the module; and the calls in order.
printf '%s\n' 'n1 slots=2 colour=red user=ann' 'n2 slots=1' 'n3 rack=7 place="left side"' >"$work/hosts"
GASNET_SSH_NODEFILE=$work/hosts job 0 -n 4 "$conform" pid
ranks 4
grep -v -e '^host' -e '^start_host' "$work/log" | xargs >"$work/calls"
[ "$(cat "$work/calls")" = 'init parse_options allocate_hosts verify_hosts prepare finalize deallocate_hosts' ] || fail "calls: $(cat "$work/calls")"
[ "$(grep ^host "$work/log")" = "$(printf 'host %s\n' 'n1 user=ann ranks=2 <colour=red>' 'n2 user= ranks=1' \
    'n3 user= ranks=1 <rack=7> <place=left side>')" ] || fail "hosts: $(grep ^host "$work/log")"
[ "$(grep ^start_host "$work/log" | xargs)" = 'start_host n1 start_host n2 start_host n3' ] || fail "starts: $(cat "$work/log")"
HERE_SCHEMA=$'a slots=2\nb shelf=9' job 5 -n 3 "$conform" one 2 5
grep -qx 'host b user= ranks=1 <shelf=9>' "$work/log" || fail "the module's own hosts"
HERE_SCHEMA='#' job 2 -n 3 "$conform" pid
says 'the boot module names no host'
job 0 -v -t -n 2 -H a,b "$conform" pid
grep -q 'module here starts 2 helpers' "$work/out" && grep -q 'ranks 1-1 on host b' "$work/out" || fail "description"
! grep -q start_host "$work/log" || fail "-t starts helpers"

# What a job does: signals, memory shared within a host, input, a prefix, a command without -n.
job 137 -n 3 -H a,b "$conform" signal 2 9
GASNET_WAITMODE=block job 0 -n 3 -H a:2,b "$AQ_BUILD/conform-seq" query_position am_args
echo input | expect 0 "$launcher" -spawner=here -n 2 -H a,b cat
[ "$(cat "$work/out")" = input ] || fail "rank 0 does not get the input"
mkdir -p "$work/there/bin" && cp "$launcher" "$work/there/bin/gasnetrun" || exit 1
echo "a prefix=$work/there" >"$work/hosts"
GASNET_SSH_NODEFILE=$work/hosts GASNET_SPAWN_VERBOSE=1 job 3 -n 1 "$conform" code 3
job 2 -H a "$conform" pid
says 'the number of ranks is missing'
for signal in TERM KILL; do
    begin "$launcher" -spawner=here -n 2 -H a,b sh -c 'echo up; exec "$0" sleep 600' "$conform"
    wait_lines 2
    kill -$signal "$sup"
    ended $((128 + $(kill -l $signal)))
    no_rank_left 100
done

# One command for all hosts, which finds the name of its host in a variable.
expect 0 "$launcher" -spawner=all -n 3 -H n1,n2,n3 "$conform" pid
ranks 3
HERE_WAY=same expect 1 "$launcher" -spawner=all -n 2 -H n1,n2 "$conform" pid
without_late
says 'spawner all started two processes on host n1, at '
HERE_WAY=unnamed expect 1 "$launcher" -spawner=all -n 1 -H n1 "$conform" pid
says "calls its host '?', which is not in the list of hosts"
HERE_FAIL=start expect 1 "$launcher" -spawner=all -n 1 -H n1 "$conform" pid
says 'spawner all cannot start the helpers: start fails because HERE_FAIL says so'
no_rank_left 100

threads_start_hosts

# The window of ssh: as many remote shells, which never answer here, as it says.
printf '#!/bin/sh\necho >>"%s"\nexec sleep 600\n' "$work/shells" >"$work/shell" && chmod +x "$work/shell" || exit 1
for window in 1 3; do
    : >"$work/shells"
    GASNET_SSH_CMD=$work/shell GASNET_SPAWN_ALGORITHM=window GASNET_SPAWN_WINDOW=$window \
        begin "$launcher" -spawner=ssh -n 5 -H a,b,c,d,e "$conform" pid
    for _ in $(seq 400); do
        [ "$(wc -l <"$work/shells")" -ge $window ] && break
        sleep 0.05
    done
    kill -TERM "$sup"
    ended 143
    [ "$(wc -l <"$work/shells")" = $window ] || fail "$(wc -l <"$work/shells") remote shells with a window of $window"
done

# A start that fails: one sentence, and nothing is left.
for call in parse_options allocate_hosts verify_hosts; do
    HERE_FAIL=$call job 2 -n 2 -H a,b "$conform" pid
    says "spawner here: $call fails because HERE_FAIL says so"
done
HERE_FAIL=prepare job 1 -n 2 -H a,b "$conform" pid
says 'spawner here: prepare fails because HERE_FAIL says so'
HERE_FAIL=b job 1 -n 2 -H a,b "$conform" pid
without_late
says 'host b: spawner here cannot start its helper: HERE_FAIL says so'
HERE_WAY=die job 1 -n 2 -H a,b "$conform" pid
says 'the helpers of 0 of 2 hosts had called when the boot module was killed by signal 6; missing: a, b;'
HERE_WAY=fail job 1 -n 2 -H a,b "$conform" pid
says 'the helpers of 0 of 2 hosts had called when a program that it started failed; missing: a, b;'
HERE_WAY='a fails' job 1 -n 2 -H a,b "$conform" pid
without_late
says 'of 2 hosts had called when a program that it started failed; missing: a'
HERE_WAY=nothing GASNET_CONNECT_TIMEOUT=1 job 1 -n 2 -H a,b "$conform" pid
says 'had called within 1 seconds (GASNET_CONNECT_TIMEOUT); missing: a, b; spawner here has to start each'
HERE_WAY=bare job 1 -n 1 -H a "$conform" pid
says 'spawner here does not pass its environment on'
HERE_WAY=bare GASNET_CSPAWN_KEY=command job 3 -n 2 -H a,b "$conform" code 3

# Modules that are refused, when they are asked for; otherwise -v -v and gasnet_info say why.
refused()
{
    expect 2 "$launcher" -spawner="$1" -n 1 "$conform" pid
    says "option -spawner asks for the spawner '$1', but "
    says "$2"
}
refused newer "$work/modules/aq_spawn_newer.so was built for version 7 of aqueduct_spawn.h, and this launcher needs version 1: install the module"
refused tableless 'aq_spawn_tableless.so is no boot module, because it does not export aqueduct_spawn_module'
refused startless 'aq_spawn_startless.so needs the name startless, a usage, init, and one of start, start_host and join'
refused alias 'aq_spawn_alias.so needs the name alias, a usage'
refused text 'its module cannot be loaded: '
refused nowhere 'there is no spawner of this name'
refused ../here 'there is no spawner of this name'
HERE_FAIL=init refused here 'init fails because HERE_FAIL says so'
expect 65 env GASNET_SPAWNER=nowhere GASNET_PSHM_NODES=2 "$AQ_BUILD/conform_exit" pid
says "this installation has no spawner 'nowhere'"
expect 65 env GASNET_SPAWNER=newer "$AQ_BUILD/conform_exit" pid
says "GASNET_SPAWNER asks for the spawner 'newer', but "
expect 0 env GASNET_SPAWNER=here GASNET_PSHM_NODES=2 "$AQ_BUILD/conform_exit" pid # a job of its own
ranks 2
expect 0 "$AQ_BUILD/gasnet_info"
for line in 'here  *yes: helpers of all hosts on this host' 'newer  *no: .* version 7 of aqueduct_spawn.h' 'text  *no: its module'; do
    grep -q "^ *$line" "$work/out" || fail "gasnet_info does not print '$line'"
done

# Priorities: of the module, and the user's.
chosen()
{
    expect 0 "$launcher" -t -n 2 -H a,b "$conform" pid
    grep -q "conduit udp, spawner $1," "$work/out" || fail "spawner $1 is not chosen"
}
chosen ssh
HERE_PRIORITY=21 chosen here
HERE_PRIORITY=21 GASNET_SPAWN_PRIORITY=ssh=22,here=3 chosen ssh
GASNET_SPAWN_PRIORITY=here=30,nowhere=99 chosen here
expect 0 env GASNET_SPAWN_PRIORITY=here=30 "$launcher" -v -v -t -n 2 -H a,b "$conform" pid
grep -q 'spawner ssh is not taken: here has a higher priority' "$work/out" &&
    grep -q 'spawner newer is not taken: .*version 7' "$work/out" || fail "-v -v does not say why"
GASNET_SPAWN_PRIORITY=ssh=-1 expect 2 "$launcher" -t -n 2 -H a,b "$conform" pid
says 'option -H: spawner fork starts all ranks on this host'
GASNET_SPAWN_PRIORITY=fork=-1,all=-1,here=-1,single=-1,rendezvous=-1,mpi=-1,pmi=-1 expect 2 "$launcher" -t -n 2 "$conform" pid
says 'GASNET_SPAWN_PRIORITY excludes all spawners'
for list in here here= here=x '=3' 'here=3;ssh=1' here=2000 here=-2 'here= 3'; do
    GASNET_SPAWN_PRIORITY=$list expect 2 "$launcher" -t -n 2 "$conform" pid
    says "GASNET_SPAWN_PRIORITY: '$list' is not a list of spawners and priorities"
done

# What others can write is not loaded.
trusted()
{
    refused here "is not loaded, because other users can change $1"
}
chmod o+w "$work/modules"
trusted "$work/modules"
chmod o-w "$work/modules"
chmod o+w "$work/modules/aq_spawn_here.so"
trusted "$work/modules/aq_spawn_here.so"
chmod o-w "$work/modules/aq_spawn_here.so"
job 0 -n 1 -H a "$conform" pid
exit 0
