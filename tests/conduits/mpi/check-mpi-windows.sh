#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# endpoint-mpi-*-counts MPI: messages between further endpoints travel as messages of MPI between their
# windows, also where the ranks have mailboxes; those of endpoint 0 then travel through the mailboxes.
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"
mpi=$1
export GASNET_STATS=1

# sent RANK: the messages of MPI that a rank has sent.
sent()
{
    sed -n "s/^mpi: rank $1 in all: \([0-9]*\) messages .*/\1/p" "$work/err"
}

by_mpirun "$mpi" 1 true || exit
expect 0 on_mpi "$mpi" 2 conform-seq handlers am_medium am_flood_mixed
zero=$(sent 0)
CONFORM_ENDPOINT=7 expect 0 on_mpi "$mpi" 2 conform-seq handlers am_medium am_flood_mixed
for rank in 0 1; do
    [ "$(sent $rank)" -gt 5000 ] || fail "the window of rank $rank has sent '$(sent $rank)' messages"
done
[ "${zero:-9999}" -lt 200 ] || fail "endpoint 0 of rank 0 has sent '$zero' messages by MPI"
exit 0
