#!/bin/bash
# mpi-client-MPI: a client that calls MPI between the calls of GASNet, over conduit mpi of the MPI $1; what is
# said when one of the two is used wrongly.
set -u
. "$AQ_SRC/tests/run-functions.sh"
mpi=$1
by_mpirun "$mpi" 1 true || exit
client=$AQ_BUILD/mpi_client_$mpi

fail()
{
    echo "check-mpi-client: $*"
    cat out
    exit 1
}

for mode in ours theirs both; do
    on_mpi "$mpi" 3 "$client" $mode >out 2>&1 || fail "mode $mode ends with exit code $?."
    grep -q 'mpi_client: 3 ranks are done' out || fail "mode $mode did nothing."
done

# One-sided puts are not answered by messages; others are. (mpirun may mix the lines of ranks.)
for rma in 0 1; do
    GASNET_MPI_RMA=$rma on_mpi "$mpi" 2 "$client" puts >out 2>&1 || fail "mode puts ends with exit code $?."
    frames=$(sed -n 's/^.*200 puts, \([0-9]*\) frames$/\1/p' out)
    [ -n "$frames" ] && [ $((frames < 50)) = $rma ] || fail "with GASNET_MPI_RMA=$rma there were '$frames' frames."
done

# mode, what is said
refused()
{
    on_mpi "$mpi" 2 "$client" "$1" >out 2>&1 && fail "mode $1 ends with exit code 0."
    grep -qF "$2" out || fail "mode $1 does not say: $2"
}

refused before 'MPI_Finalize was called before init'
refused meanwhile 'MPI_Finalize was called while conduit mpi was in use'
refused single 'MPI was started without support for threads'

# The mpirun of another MPI; and no mpirun at all, which for MPI is a job of one rank.
for other in openmpi mpich; do
    [ $other = "$mpi" ] && continue
    (by_mpirun $other 1 true) >/dev/null || continue
    on_mpi $other 2 "$client" ours >out 2>&1 && fail "with mpirun of $other the exit code is 0."
    grep -q 'started 2 ranks, but .* in this program sees 1; start the program with the mpirun that' out ||
        fail "with mpirun of $other it is not said whose mpirun is needed."
done
GASNET_CONDUIT=mpi GASNET_SPAWNER=fork GASNET_PSHM_NODES=2 GASNET_SUPERNODE_MAXSIZE=1 "$client" >out 2>&1 &&
    fail "without mpirun the exit code is 0."
grep -q 'conduit mpi knows the ranks that mpirun started, and these are started by another spawner' out ||
    fail "it is not said that conduit mpi needs mpirun."
exit 0
