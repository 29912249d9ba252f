#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-install: the installation is sufficient for a client that uses only pkg-config.
#   check-install.sh [CONDUIT]     only with the packages of this conduit
set -eu
. "$AQ_SRC/tests/run-functions.sh"
prefix=$AQ_BUILD/installed
rm -rf "$prefix"
make -s -C "$AQ_BUILD" install >make.out 2>&1 || {
    cat make.out
    exit 1
}
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
flags="-std=gnu11 -Wall -Wextra -Wpedantic -Werror"

# The files that constructors and the table of layers (extended/rma/layer_table.c) need.
needed_files()
{
    local start
    cd "$AQ_SRC" || return
    grep -rlE '__attribute__\(\(.*constructor' --include='*.c' core extended messages
    echo extended/rma/layer_table.c
    for start in $(sed -n 's/^void \(aq_[a-z0-9_]*\)(void);/\1/p' extended/rma/layer_table.h); do
        grep -rl "^void $start(void)\$" --include='*.c' extended messages || echo "extended/$start.c"
    done
}

archives_are_complete()
{
    local file missing=0
    for file in $(needed_files); do
        file=$(basename "$file" .c)
        grep -q "[^a-z_0-9]$file\.o" "$1" || {
            echo "$file.c is not in a program that is linked with the archives; see extended/rma/layer_table.c."
            missing=1
        }
    done
    return $missing
}

# For conduits whose ranks only mpirun can start: uses the first MPI that has a module.
use_mpirun()
{
    local mpi
    for mpi in openmpi mpich; do
        [ -e "$prefix/lib/gasnet/aq_mpi_$mpi.so" ] || continue
        (by_mpirun $mpi 1 true) >/dev/null || continue
        by_mpirun $mpi 1 true # sets its environment in this shell
        export GASNET_MODULE_PATH= MPIRUN_CMD="mpirun.$mpi -np %N %C"
        [ $mpi != openmpi ] || MPIRUN_CMD="mpirun.openmpi --oversubscribe -np %N %C"
        return
    done
    return 1
}

# try_link_name CONDUIT MODE: links with the shared libraries, then with the archives only.
try_link_name()
{
    local package=gasnet-$1-$2
    # shellcheck disable=SC2046,SC2086
    cc $flags $(pkg-config --cflags "$package") "$AQ_SRC/examples/hello.c" -o "hello-$2" $(pkg-config --libs "$package")
    if [ "$1" = mpi ] && ! use_mpirun; then
        left_out "hello over conduit mpi" "there is no MPI"
        return
    fi
    "$prefix/bin/gasnetrun_$1" -n 8 "./hello-$2"
    [ ! -e "$prefix/lib/libaqueduct.so" ] || ldd "./hello-$2" | grep -q "$prefix/lib/libgasnet-$1-$2.so" || {
        echo "hello does not load lib$package.so of the installation."
        return 1
    }

    mkdir -p archives
    cp "$prefix"/lib/*.a archives
    # shellcheck disable=SC2046,SC2086
    cc $flags $(pkg-config --cflags "$package") "$AQ_SRC/examples/hello.c" -o "static-$2" -Larchives -Wl,-t,-t \
        $(pkg-config --static --libs "$package" | sed "s!-L$prefix/lib!!") >members
    archives_are_complete members || return 1
    ! ldd "./static-$2" | grep -q -e libgasnet -e libaqueduct || {
        echo "The program linked with the archives loads a shared library of ours."
        return 1
    }
    "$prefix/bin/gasnetrun_$1" -n 8 "./static-$2"
}

for package in "$prefix"/lib/pkgconfig/gasnet-${1-*}-*.pc; do
    IFS=- read -r _ conduit mode <<<"$(basename "$package" .pc)"
    echo "-- gasnet-$conduit-$mode"
    try_link_name "$conduit" "$mode"
done
[ -n "${mode-}" ]
