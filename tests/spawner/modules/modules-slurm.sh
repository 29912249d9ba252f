#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# modules-slurm: boot module slurm, in allocations of a private Slurm of three nodes
# (tests/beds/slurm): by priority and by name, hosts, exit codes, deaths, and what is left.
set -u
[ "${1-}" = inside ] || exec "$AQ_SRC/tests/beds/slurm/run" --nodes 3 -- "$0" inside
. "$(dirname "$0")/../launch/launch-functions.sh"
cp "$AQ_BUILD/conform_exit_udp" "$work/conform_exit" || exit 1
conform=$work/conform_exit
launcher=$AQ_BUILD/gasnetrun_udp
export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_SSH_CMD=/no/ssh GASNET_WAITMODE=block

# job CODE options program ...: in the allocation of this script; srun's own messages go elsewhere.
job()
{
    expect "$1" timeout 60 "$launcher" "${@:2}"
    no_rank_left 100
    sed -i '/^srun: /d' "$work/err"
    for _ in $(seq 400); do
        [ -n "$(squeue -h -s | grep -v '\.extern\|\.batch')" ] || return
        sleep 0.05
    done
    fail "Slurm does not end a step"
}

# on_nodes WANTED: so many ranks on each node, as the ranks print it.
on_nodes()
{
    [ "$(sed -n 's/^on //p' "$work/out" | sort | uniq -c | awk '{ print $2 ":" $1 }' | xargs)" = "$1" ] || fail "not on $1"
    silent
}
where='echo "on $SLURMD_NODENAME"; exec "$@"'

# The recipe.
GASNET_CONDUIT=udp PATH=$AQ_BUILD:$PATH expect 0 timeout 60 sbatch --wait --output="$work/recipe" "$AQ_SRC/examples/clusters/slurm.sh"
[ "$(grep -c '^Hello from rank [0-5] of 6' "$work/recipe")" = 6 ] || fail "the recipe prints $(cat "$work/recipe")"

# An allocation without a shell; the variables are those of salloc.
salloc -N 3 -n 6 --ntasks-per-node=2 --no-shell 2>"$work/salloc" || fail "$(cat "$work/salloc")"
SLURM_JOB_ID=$(sed -n 's/.*job allocation //p' "$work/salloc" | head -1)
export SLURM_JOB_ID SLURM_JOBID=$SLURM_JOB_ID SLURM_JOB_NODELIST='node[1-3]' 'SLURM_JOB_CPUS_PER_NODE=2(x3)'

job 0 -n 6 sh -c "$where" sh "$conform" pid
on_nodes 'node1:2 node2:2 node3:2'
[ "$(sed '/^on/d' "$work/out" | cut -d' ' -f1 | sort | xargs)" = '0 1 2 3 4 5' ] || fail "not ranks 0 to 5"
job 0 -n 3 -N 3 "$AQ_BUILD/conform-seq" query_position am_args
job 0 -n 3 -H node3,node1 sh -c "$where" sh "$conform" pid
on_nodes 'node1:1 node3:2'
job 3 -n 3 "$conform" code 3
job 5 -n 4 "$conform" one 3 5
job 137 -n 6 "$conform" signal 5 9
job 137 -spawner=slurm -n 4 "$conform" signal 0 9
export GASNET_CONNECT_TIMEOUT=20
job 1 -n 2 -H node1,node9 "$conform" pid
says 'the helpers of 0 of 2 hosts had called when a program that it started failed; missing: node1, node9;'
GASNET_SPAWN_PRIORITY=slurm=0 expect 2 "$launcher" -n 2 -H node2 "$conform" pid
says "GASNET_SSH_CMD: the remote shell '/no/ssh' is not installed"
PATH=/no expect 2 "$launcher" -spawner=slurm -n 2 "$conform" pid
says 'srun is not in PATH'
expect 2 env -u SLURM_JOB_ID "$launcher" -spawner=slurm -n 2 "$conform" pid
says 'this is no allocation of Slurm (SLURM_JOB_ID is not set): run it under sbatch or salloc'

# A launcher that is killed leaves nothing.
for signal in TERM KILL; do
    begin "$launcher" -n 6 sh -c 'echo up; exec "$0" sleep 600' "$conform"
    wait_lines 6
    kill -$signal "$sup"
    ended $((128 + $(kill -l $signal)))
    no_rank_left 200
done 2>/dev/null
scancel "$SLURM_JOB_ID"
exit 0
