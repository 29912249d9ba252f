# SPDX-License-Identifier: BSD-3-Clause
# Functions for the scripts of this folder that measure what others do: launchers and their MPIs,
# without this library. A script prints one line for each thing it has measured:
#
#   subject | result
#
# The first line of its head is "# NAME: question"; tests/platforms/run makes a table of it. 77: there
# is nothing here to measure, and the last line says why.
set -u
export LC_ALL=C OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 \
    PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d "${TMPDIR:-/tmp}/platforms.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# The name of a launcher with its version: "Open MPI 5.0.7", "MPICH 4.2.1".
launcher_name()
{
    case $1 in
    openmpi) mpirun.openmpi --version | sed -n "1s/^.*) /Open MPI /p" ;;
    mpich) mpirun.mpich --version | sed -n 's/^ *Version: */MPICH /p' ;;
    esac
}

# Whether 'true' can be started by it.
launcher_works()
{
    command -v "mpirun.$1" >/dev/null && limited "mpirun.$1" -np 1 true >/dev/null 2>&1 </dev/null
}

# each_launcher FUNCTION: calls it with each launcher's kind and name.
each_launcher()
{
    local kind found=no
    for kind in openmpi mpich; do
        launcher_works $kind || continue
        found=yes
        "$1" $kind "$(launcher_name $kind)"
    done
    [ $found = yes ] || {
        echo "there is no mpirun of Open MPI or MPICH that starts a program"
        exit 77
    }
}

# The command within a minute; 124 is the code of one that is still there then.
limited()
{
    timeout -k 5 60 "$@"
}

# The number of processors.
processors()
{
    nproc
}
