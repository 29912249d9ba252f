#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-configure: configure refuses with one sentence what make cannot build, and a cross build runs
# no program of the other machine.
set -u
. "$AQ_SRC/tests/run-functions.sh"
cd "$TMPDIR" || exit

# A tree that was configured in place cannot be configured elsewhere.
source=$AQ_SRC
if [ -e "$AQ_SRC/config.status" ]; then
    source=$TMPDIR/source
    make -s -C "$AQ_SRC" distdir distdir="$source" || exit
fi

# refused SENTENCE ARGUMENT ...: configure with these arguments says so, once, and fails.
refused()
{
    local sentence=$1 lines
    shift
    mkdir -p work
    if (cd work && "$source/configure" --quiet "$@") >out 2>&1; then
        echo "configure $* succeeds, but should say: $sentence"
        exit 1
    fi
    lines=$(grep -c '^configure: error:' out)
    [ "$lines" = 1 ] && grep -qF "$sentence" out && return
    printf 'configure %s should say once: %s\n' "$*" "$sentence"
    tail -n 5 out
    exit 1
}

# A folder with a features.h that begins with that of the system, and then has the lines of standard input.
fake_libc()
{
    mkdir -p "$1"
    { echo '#include_next <features.h>' && cat; } >"$1/features.h"
    echo "CPPFLAGS=-I$PWD/$1"
}

# fake_package NAME VERSION: a file of pkg-config for it, whose headers are in the folder `old`.
fake_package()
{
    mkdir -p old
    printf 'Name: %s\nDescription: old\nVersion: %s\nCflags: -I%s/old\n' "$1" "$2" "$PWD" >"old/$1.pc"
}

old_compiler()
{
    printf '#!/bin/sh\nexec cc "$@" -std=c99 -pedantic-errors\n' >cc99
    chmod +x cc99
    refused "the compiler '$PWD/cc99' does not compile C11" CC="$PWD/cc99"
}

folders_with_a_space()
{
    mkdir -p 'a build'
    (cd 'a build' && "$source/configure" --quiet) >out 2>&1 && echo "configure runs in a folder with a space." && exit 1
    grep -q '^configure: error: the path of the build folder contains a space' out || { cat out && exit 1; }
    ln -s "$source" 'a source'
    "a source/configure" --quiet >out 2>&1 && echo "configure accepts sources in a folder with a space." && exit 1
    grep -q '^configure: error: the path of the sources contains a space' out || { cat out && exit 1; }
}

old_libraries()
{
    fake_package libfabric 1.6.2
    refused 'conduit ofi needs libfabric 1.11 or later' --disable-ibv PKG_CONFIG_PATH="$PWD/old"
    rm old/libfabric.pc
    fake_package ompi-c 1.4
    printf '#define MPI_VERSION 2\n#define MPI_SUBVERSION 1\n' >old/mpi.h
    refused 'Open MPI is older than MPI 3.0' --disable-ibv --disable-ofi PKG_CONFIG_PATH="$PWD/old"
}

cross_build()
{
    mkdir cross
    cd cross || exit
    "$source/configure" --quiet --build=i686-pc-linux-gnu --host="$(cc -dumpmachine)" CC=cc --disable-ibv --disable-ofi \
        --disable-mpi-modules >out 2>&1 || { tail -n 5 out && exit 1; }
    make -s gasnet.7 >out 2>&1 || { tail -n 5 out && exit 1; }
    [ ! -e gasnet_info ] || { echo "A cross build makes the manual page by running gasnet_info." && exit 1; }
    grep -q '^\.B GASNET_SPAWN_CONTROL\|^\.B GASNET_SPAWNFN' gasnet.7 || { echo "gasnet(7) lacks its variables." && exit 1; }
}

folders_with_a_space
refused "is not that of GNU" "$(fake_libc musl <<<'#undef __GLIBC__')"
refused "is older than glibc 2.34" "$(printf '#undef __GLIBC_MINOR__\n#define __GLIBC_MINOR__ 31\n' | fake_libc old-libc)"
old_compiler
old_libraries
cross_build
exit 0
