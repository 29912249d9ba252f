#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-custom: jobs that a command of the user starts, as in GASNet: GASNET_SPAWNFN=C,
# GASNET_CSPAWN_CMD.
set -u
. "$(dirname "$0")/launch-functions.sh"
cp "$AQ_BUILD/conform_exit_udp" "$work/conform_exit" || exit 1
conform=$work/conform_exit
export GASNET_SPAWNFN=C GASNET_MASTERIP=127.0.0.1
loop='for i in $(seq %N); do %C & done; wait'

# job CODE COMMAND program arguments: started without a launcher, and with each launcher.
job()
{
    local code=$1 way
    export GASNET_CSPAWN_CMD=$2
    for way in "$conform 3" "$AQ_BUILD/gasnetrun_udp -n 3 $conform" "$AQ_BUILD/amudprun -np 3 $conform"; do
        # shellcheck disable=SC2086
        expect "$code" $way "${@:3}"
        no_rank_left 50
    done
}

ranks()
{
    [ "$(cut -d' ' -f1 "$work/out" | sort -n | xargs)" = "0 1 2" ] || fail "not ranks 0 to 2"
    silent
}

job 0 "$loop" pid
ranks
job 5 "$loop" one 2 5
job 0 "$loop" args 'a b' "c'd" '%N'
printf 'args\na b\n%s\n%%N\n' "c'd" | cmp -s - <(sed 1d "$work/out") || fail "arguments"
job 0 'for i in $(seq %N); do %C & done' pid # in the background
ranks
job 137 "$loop" signal 1 9
expect 3 env -u GASNET_SPAWNFN "$AQ_BUILD/gasnetrun_udp" -spawner=custom -n 2 "$conform" code 3
expect 3 env -u GASNET_SPAWNFN "$AQ_BUILD/amudprun" -spawn C -np 2 "$conform" code 3

# Processes of one host share memory; others talk over udp.
export GASNET_CSPAWN_CMD=$loop
expect 0 "$AQ_BUILD/gasnetrun_udp" -n 3 "$AQ_BUILD/conform-seq" query_position am_args rma_segment
GASNET_SUPERNODE_MAXSIZE=1 expect 0 "$AQ_BUILD/gasnetrun_udp" -n 3 "$AQ_BUILD/conform-seq" am_args rma_segment

# The replacements of letters; variable names without prefix and with AMUDP's.
CSPAWN_SERVERS='a b c' GASNET_CSPAWN_CMD='echo %N/%M/%D/%%/%P;'"$loop" \
    expect 0 "$AQ_BUILD/gasnetrun_udp" -n 2 "$conform" code 0
[ "$(cat "$work/out")" = "2/a b/$PWD/%/$conform" ] || fail "the letters stand for something else"
for name in CSPAWN_CMD AMUDP_CSPAWN_CMD; do
    expect 3 env -u GASNET_CSPAWN_CMD $name="$loop" "$conform" 2 code 3
done

# Standard input; output through the command or through the launcher.
GASNET_CSPAWN_CMD="{ $loop; } >$work/there" expect 0 "$conform" 2 pid
[ ! -s "$work/out" ] && [ "$(wc -l <"$work/there")" -eq 2 ] || fail "output does not go by the command"
CSPAWN_ROUTE_OUTPUT=1 GASNET_CSPAWN_CMD="{ $loop; } >$work/there" expect 0 "$conform" 2 pid
[ ! -s "$work/there" ] && [ "$(wc -l <"$work/out")" -eq 2 ] || fail "output does not go by the launcher"

# The rank that a process asks for.
GASNET_CSPAWN_CMD='for i in 2 1 0; do GASNET_WORKER_RANK=MINE MINE=$i %C & done; wait' \
    expect 0 "$conform" 3 pid
ranks

# The key is in no word of the command; remedy for an environment that is not passed on.
GASNET_CSPAWN_CMD='echo "%C" | grep -Eq "/-/" && '"$loop" expect 0 "$conform" 2 code 0
GASNET_CSPAWN_CMD='env -i %C' GASNET_CSPAWN_KEY=command expect 3 "$conform" 1 code 3

# A start that fails: one sentence, within GASNET_CONNECT_TIMEOUT, and no process is left.
refused()
{
    local code=$1
    export GASNET_CSPAWN_CMD=$2
    expect "$code" "$conform" 2 pid
    says "$3"
    no_rank_left 50
    [ ! -s "$work/out" ] || fail "output of a job that did not start"
}
export GASNET_CONNECT_TIMEOUT=1
refused 2 '' "GASNET_CSPAWN_CMD is not set: set it to the command that starts the processes, such as"
refused 2 '  ' "GASNET_CSPAWN_CMD is not set"
refused 2 'srun -n %N' "there is no %C in 'srun -n %N'"
refused 2 '%C %x' '%x has no meaning here; write %N, %C, %D, %P or %M'
refused 2 '%C %' '%  has no meaning here'
refused 1 'true %C' '0 of 2 processes had arrived within 1 seconds (GASNET_CONNECT_TIMEOUT)'
refused 1 '%C' '1 of 2 processes had arrived within 1 seconds'
refused 1 '%C & sleep 600' '1 of 2 processes had arrived within 1 seconds'
refused 1 'exit 7; %C' '0 of 2 processes had arrived when the command ended with exit code 7'
refused 1 'kill -9 $$; %C' '0 of 2 processes had arrived when the command was killed by signal 9'
refused 1 'echo %M; %C' 'GASNET_CSPAWN_SERVERS names 0 servers for 2 processes'
# Workers without the key, or with half of one: the launcher reports it for all of them, after the
# timeout or when the command fails.
keyless='has called without the key of the job: the command of GASNET_CSPAWN_CMD does not pass its environment on'
for way in '-u GASNET_SPAWN_KEY' '-i' 'GASNET_SPAWN_KEY=abc'; do
    refused 1 "for i in 1 1; do env $way %C & done; wait" "$keyless"
    grep -q 'or set GASNET_CSPAWN_KEY=command$' "$work/err" || fail "no remedy where the key does not arrive"
done
refused 1 '%C & env -i %C' "$keyless"
export GASNET_CONNECT_TIMEOUT=20
refused 1 'env -i %C' "$keyless"
refused 1 'env -i %C & env -i %C; e=$?; wait; exit $e' "$keyless"
refused 1 'for i in 1 1; do GASNET_WORKER_RANK=$i %C & done; wait' 'GASNET_WORKER_RANK is 0 in no process'
refused 1 'for i in 0 2; do GASNET_WORKER_RANK=$i %C & done; wait' 'GASNET_WORKER_RANK is 2 in the process on host'
refused 1 'for i in 1 1; do GASNET_WORKER_RANK=NO_SUCH_VARIABLE %C & done; wait' 'is neither the number of a rank nor'
refused 1 'GASNET_WORKER_RANK=-1 %C & GASNET_WORKER_RANK=0 %C & wait' 'is neither the number of a rank nor'
refused 1 'GASNET_WORKER_RANK=1 %C & %C & wait' 'is set in some processes, and not in that on host'
for option in "-H a" "-N 2" -cyclic "-c 1"; do
    # shellcheck disable=SC2086
    GASNET_CSPAWN_CMD=$loop expect 2 "$AQ_BUILD/gasnetrun_udp" -n 2 $option "$conform" pid
    says "spawner custom leaves"
done

# A signal before all workers are here, and one to a running job.
export GASNET_CONNECT_TIMEOUT=60
GASNET_CSPAWN_CMD="echo here; %C & sleep 600" begin "$AQ_BUILD/gasnetrun_udp" -n 2 "$conform" pid
wait_lines 1
kill -TERM "$sup"
ended 143
no_rank_left 50
GASNET_CSPAWN_CMD=$loop begin "$AQ_BUILD/gasnetrun_udp" -n 2 sh -c 'echo up; exec "$0" sleep 600' "$conform"
wait_lines 2
kill -TERM "$sup"
ended 143
no_rank_left 50
GASNET_CSPAWN_CMD=$loop begin "$AQ_BUILD/gasnetrun_udp" -n 2 sh -c 'echo up; exec "$0" sleep 600' "$conform"
wait_lines 2
kill -KILL "$sup"
ended 137
no_rank_left 100

# Commands that users have.
for mpirun in mpirun.openmpi mpirun.mpich; do
    command -v $mpirun >/dev/null || continue
    as_root=
    [ $mpirun != mpirun.openmpi ] || as_root='--allow-run-as-root --oversubscribe'
    GASNET_CSPAWN_CMD="$mpirun $as_root -np %N %C" expect 4 "$conform" 3 one 1 4
    no_rank_left 50
done
exit 0
