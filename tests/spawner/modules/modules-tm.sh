#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# modules-tm: boot module tm, in a job of PBS that a library of the test plays (fake_pbs.c).
set -u
. "$(dirname "$0")/../launch/launch-functions.sh"
unshare --uts true 2>/dev/null || {
    echo "the library that plays PBS needs the right to make namespaces (root)"
    exit 77
}
cp "$AQ_BUILD/conform_exit_udp" "$work/conform_exit" || exit 1
conform=$work/conform_exit
launcher=$AQ_BUILD/gasnetrun_udp
mkdir "$work/lib" && cc -std=gnu11 -Wall -Wextra -Werror -fPIC -shared "$AQ_SRC/tests/spawner/modules/fake_pbs.c" \
    -o "$work/lib/libpbs.so.0" || exit 1
export GASNET_MODULE_PATH=$AQ_BUILD/modules LD_LIBRARY_PATH=$work/lib${LD_LIBRARY_PATH+:$LD_LIBRARY_PATH}
export PBS_JOBID=17.server PBS_NODEFILE=$work/nodes FAKE_PBS_LOG=$work/log
printf '%s\n' p1 p1 p2.cluster p2.cluster p3 >"$PBS_NODEFILE"

job()
{
    expect "$1" "$launcher" "${@:2}"
    no_rank_left 100
}

# Without -spawner: one task on each host, on which the slots of PBS put ranks.
job 0 -n 5 sh -c 'hostname; exec "$@"' sh "$conform" pid
[ "$(grep '^p' "$work/out" | sort | xargs)" = 'p1 p1 p2.cluster p2.cluster p3' ] || fail "not the hosts of PBS"
[ "$(cat "$work/log")" = '3 tasks, 3 answers' ] || fail "not one task for each host: $(cat "$work/log")"
silent
job 5 -n 3 -N 2 "$conform" one 2 5
[ "$(cat "$work/log")" = '2 tasks, 2 answers' ] || fail "not the hosts of -N: $(cat "$work/log")"
job 0 -n 2 -H p3,p2 sh -c 'hostname; exec "$@"' sh "$conform" pid
[ "$(grep '^p' "$work/out" | sort | xargs)" = 'p2.cluster p3' ] || fail "not the hosts of -H"

# The recipe.
GASNET_CONDUIT=udp PATH=$AQ_BUILD:$PATH PBS_O_WORKDIR=$work expect 0 "$AQ_SRC/examples/clusters/pbs.sh"
[ "$(grep -c '^Hello from rank [0-4] of 5' "$work/out")" = 5 ] || fail "the recipe does not run 5 ranks"

job 2 -spawner=tm -n 1 -H p4 "$conform" pid
says 'spawner tm: host p4 is not in PBS_NODEFILE, so PBS does not start a task there'
FAKE_PBS=tm_init job 1 -n 2 "$conform" pid
says 'spawner tm cannot start the helpers: tm_init of PBS failed with error 17000: see tm(3)'
FAKE_PBS=tm_poll job 1 -n 3 -N 3 "$conform" pid
without_late
says 'tm_spawn of PBS failed with error 17000'
export -n LD_LIBRARY_PATH
rm "$work/lib/libpbs.so.0"
job 2 -spawner=tm -n 1 "$conform" pid
says "option -spawner asks for the spawner 'tm', but the library of PBS cannot be loaded"
expect 2 env -u PBS_JOBID "$launcher" -spawner=tm -n 1 "$conform" pid
says 'this is no job of PBS (PBS_JOBID and PBS_NODEFILE are not set): run it under qsub'
exit 0
