#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# client-mpi-abi: programs run over conduit mpi with the module for the standard ABI of MPI, by the
# mpirun of each MPI that has this ABI: one that was compiled with the header of the ABI and calls MPI
# itself, and one without MPI.
set -u
. "$AQ_SRC/tests/run-functions.sh"
client=$AQ_BUILD/mpi_client_abi
[ -e "$AQ_BUILD/modules/aq_mpi_abi.so" ] ||
    skip "no MPI with the standard ABI (version 5) was found when this build was configured"
mkdir only && cp "$AQ_BUILD/modules/aq_mpi_abi.so" only || exit

fail()
{
    echo "check-mpi-abi: $*"
    cat out
    exit 1
}

# The library that the client loads, and others beside it. All have one soname, and where two MPIs
# are installed, it leads to one of them.
libraries()
{
    local first
    first=$(ldd "$client" | sed -n 's/.*libmpi_abi\.so\.1 => \([^ ]*\) .*/\1/p')
    realpath "$first" "$(dirname "$first")"/libmpi_abi_*.so.1* 2>/dev/null | sort -u
}

# Whose library the file is.
owner()
{
    if ldd "$1" | grep -q libopen-pal; then echo openmpi; else echo mpich; fi
}

works()
{
    local mpi=$1 mode
    for mode in ours theirs both; do
        on_mpi "$mpi" 2 "$client" $mode >out 2>&1 || fail "$mpi: mode $mode ends with exit code $?."
        grep -q 'mpi_client: 2 ranks are done' out || fail "$mpi: mode $mode did nothing."
    done
    on_mpi "$mpi" 2 env GASNET_MODULE_PATH="$PWD/only" "$AQ_BUILD/hello" >out 2>&1 ||
        fail "$mpi: a program without MPI ends with exit code $?."
    [ "$(grep -c '^Hello from rank [01] of 2' out)" = 2 ] || fail "$mpi: a program without MPI is not one job of 2 ranks."
}

# The library of the other MPI: each rank would be a job of its own.
other_mpirun()
{
    on_mpi "$1" 2 "$client" ours >out 2>&1 && fail "with mpirun of $1 the exit code is 0."
    grep -q 'started 2 ranks, but .* in this program sees 1; start the program with the mpirun that' out ||
        fail "with mpirun of $1 no message says which mpirun is needed."
}

used=
for library in $(libraries); do
    mpi=$(owner "$library")
    mpi_is_usable "$mpi" || continue
    mkdir "$mpi" && ln -s "$library" "$mpi/libmpi_abi.so.1" || exit
    (LD_LIBRARY_PATH=$PWD/$mpi works "$mpi") || exit
    used="$used $mpi"
done
[ -n "$used" ] || skip "no mpirun of an MPI with the standard ABI works here"
case $used in
' mpich openmpi') (LD_LIBRARY_PATH=$PWD/openmpi other_mpirun mpich) ;;
*) left_out 'mpirun of another MPI with the standard ABI' "only one has it:$used" ;;
esac
