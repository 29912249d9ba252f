#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# grow-refusals: what --reserve and gasnetx_Job_Grow refuse, each with one sentence.
set -u
. "$(dirname "$0")/launch-functions.sh"

grow=$AQ_BUILD/grow_work

# refused CODE TEXT command ...: one sentence
refused()
{
    expect "$1" "${@:3}"
    says "$2"
}

refused 2 "option --reserve has no value" "$run" -n 2 --reserve
refused 2 "option --reserve: 'x' is not a whole number" "$run" -n 2 --reserve=x "$grow"
refused 2 "option --reserve: spawner rendezvous starts all ranks at once" "$AQ_BUILD/gasnetrun_udp" -n 2 -spawner=rendezvous --reserve 2 "$grow"
refused 2 "600000 ranks and a reserve of 600000: a job has at most" "$run" -n 600000 --reserve 600000 "$grow"
refused 1 "4106 ranks: one host carries 1 to" "$run" -n 10 --reserve 4096 "$grow"
refused 2 "conduit fake cannot have ranks that start later" \
    env GASNET_MODULE_PATH="$AQ_BUILD/modules" GASNET_CONDUIT=fake GASNET_SUPERNODE_MAXSIZE=1 "$AQ_BUILD/gasnetrun" -n 2 --reserve 2 "$grow"

expect 0 "$run" -n 3 --reserve 2 "$grow" wrong
grep -q "rank 0 of 3 .*: gasnetx_Job_Grow: 3 ranks were asked for, and the reserve has 2;" "$work/err" || fail "no word of the reserve"
grep -q "gasnetx_Job_Grow: flags have to be 0" "$work/err" || fail "no word of the flags"
grep -q "gasnetx_Job_Grow: another rank asks for another number" "$work/err" || fail "no word of the other rank"
[ "$(grep -c "" "$work/err")" = 4 ] || fail "not one sentence for each mistake"
expect 0 "$run" -n 3 "$grow" wrong
[ "$(grep -c "and the reserve has 0;" "$work/err")" = 3 ] || fail "no word of the reserve"
expect 0 env GASNET_PSHM_NODES=2 "$grow" wrong
[ "$(grep -c "and the reserve has 0;" "$work/err")" = 3 ] || fail "no word of the reserve"
refused 0 "the nodes of GASNet-1 are fixed" "$run" -n 2 --reserve 1 "$grow" fixed,nodes
