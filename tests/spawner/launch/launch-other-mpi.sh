#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-other-mpi: a program that is linked with an MPI, or with a version of the standard ABI, for
# which this build has no module gets one message at its start. Libraries that this test makes play
# the MPIs; they have what the library looks at, and nothing else.
set -u
. "$(dirname "$0")/launch-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"
cc=$(sed -n 's/^CC = //p' "$AQ_BUILD/Makefile")
mkdir "$work/none"

# play NAME CODE: makes $work/NAME.so of a few lines of C.
play()
{
    $cc -shared -fPIC -o "$work/$1.so" -x c - <<<"$2
int MPI_Get_library_version(char *text, int *length) { __builtin_strcpy(text, \"Played MPI\\nof this test\"); *length = 10; return 0; }
int PMPI_Init(int *argc, char ***argv) { return !argc && !argv; }" || fail "no library for $1"
}

# refused NAME MODULES MESSAGE: the program does not start with that MPI and these modules.
refused()
{
    expect 65 env GASNET_SPAWNER=mpi GASNET_MODULE_PATH="$2" LD_PRELOAD="$work/$1.so" "$conform" code 0
    says "$3"
}

# lacks MODULE WHAT NAME: the same, without a module for it.
lacks()
{
    if has_module "aq_mpi_$1.so"; then
        left_out "a program of $2 without a module for it" 'the installed library has one'
    else
        refused "$3" "$work/none" "this installation has no module for $2"
    fi
}

version='int MPI_Abi_get_version(int *major, int *minor) { *major = *minor = VERSION; return 0; }'
play unknown ''
play openmpi 'int ompi_mpi_comm_world;'
play mpich "int MPI_UNWEIGHTED; ${version/VERSION/-1}"
play abi "${version/VERSION/1} int ompi_mpi_comm_world;"
play abi2 "${version/VERSION/2}"
refused unknown "$AQ_BUILD/modules" "the program is linked with an MPI that is not known here ('Played MPI')"
refused abi2 "$AQ_BUILD/modules" "the program is linked with version 2 of the standard ABI of MPI ('Played MPI')"
lacks openmpi 'Open MPI' openmpi
lacks mpich MPICH mpich
lacks abi 'the standard ABI of MPI' abi
for mpi in openmpi mpich abi; do
    if [ -e "$AQ_BUILD/modules/aq_mpi_$mpi.so" ]; then
        refused $mpi "$AQ_BUILD/modules" "the program is linked with $work/$mpi.so, but $AQ_BUILD/modules/aq_mpi_$mpi.so with "
    else
        left_out "a module for another MPI than the program's: $mpi" 'it was not found when this build was configured'
    fi
done
exit 0
