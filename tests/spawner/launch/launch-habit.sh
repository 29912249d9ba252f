#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-habit: a program of conduit udp without a launcher, `program N arguments`.
set -u
. "$(dirname "$0")/launch-functions.sh"
udp=$AQ_BUILD/conform_exit_udp
usage="takes the number of ranks, 1 to 4096, as its first argument (program 4 ...)"

# N processes, which do not see that argument.
for ranks in 1 3; do
    for how in '' GASNET_SPAWNFN=L; do
        expect 0 env $how "$udp" "$ranks" args one 2
        printf 'args\none\n2\n' | cmp -s - <(sed 1d "$work/out") || fail "arguments with N = $ranks"
        [ "$(basename "$(head -1 "$work/out")")" = conform_exit_udp ] || fail "the name of the program"
        expect 0 env $how "$udp" "$ranks" pid
        [ "$(cut -d' ' -f1 "$work/out" | sort -n | xargs)" = "$(seq -s' ' 0 $((ranks - 1)))" ] ||
            fail "not $ranks ranks"
        silent
    done
done
expect 5 "$udp" 4 one 2 5
expect 0 env GASNET_SUPERNODE_MAXSIZE=1 GASNET_STATS=1 "$udp" 2 code 0
grep -q '^udp: rank 1 in all' "$work/err" || fail "no traffic over udp"

# A missing or wrong number.
expect 65 "$udp"
says "the number of ranks is missing: a program of conduit udp"
says "$usage"
for wrong in pid 0 -1 +2 4097 2x 99999999999999999999 '' ' 2'; do
    expect 65 "$udp" "$wrong" pid
    says "'$wrong' is not a number of ranks: a program of conduit udp"
    says "$usage"
done

# GASNet's other letters: the program becomes the launcher (C: launch-custom); R is not supported.
expect 65 env GASNET_SPAWNFN=R "$udp" 2 pid
says "GASNET_SPAWNFN=R: GASNet dropped rexec"
here=$(hostname)
for how in "GASNET_SPAWNFN=S GASNET_SSH_SERVERS=$here" "GASNET_SPAWNFN=S SSH_SERVERS=$here" "AMUDP_SSH_SERVERS=$here"; do
    # shellcheck disable=SC2086
    expect 5 env $how "$udp" 2 one 1 5
    silent
done
expect 2 env -u SLURM_JOB_NODELIST GASNET_SPAWNFN=S "$udp" 2 pid
says "GASNET_SPAWNFN asks for the spawner 'ssh', but no hosts are named"
expect 1 env SSH_SERVERS=no-such-host SSH_CMD=false "$udp" 2 pid
grep -q 'host no-such-host: ' "$work/err" || fail "SSH_CMD is not read"

# Where the number comes from elsewhere, the program keeps the argument; other conduits have no such convention.
expect 64 env GASNET_PSHM_NODES=2 "$udp" 2 pid
expect 0 env GASNET_PSHM_NODES=2 "$udp" pid
[ "$(wc -l <"$work/out")" -eq 2 ] || fail "not two ranks by GASNET_PSHM_NODES"
expect 64 "$AQ_BUILD/gasnetrun_udp" -n 2 "$udp" 2 pid
expect 0 "$AQ_BUILD/gasnetrun_udp" -n 2 "$udp" pid
expect 64 "$conform" 2 pid
