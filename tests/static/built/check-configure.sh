#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-configure: configure refuses with one sentence what make cannot build, finds the standard ABI
# of an MPI, and a cross build runs no program of the other machine.
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
    [ "$lines" = 1 ] && grep -qFe "$sentence" out && return
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

# gcc VERSION for riscv64, as far as macros tell.
for_riscv64()
{
    echo "CPPFLAGS=-D__riscv -D__riscv_xlen=64 -U__GNUC__ -D__GNUC__=${1%.*} -U__GNUC_MINOR__ -D__GNUC_MINOR__=${1#*.}"
}

compilers_for_riscv64()
{
    local version
    for version in 10.5 11.4 12.2 13.2; do
        refused "for riscv64 has GCC bug 114130" "$(for_riscv64 $version)"
    done
    for version in 11.5 12.4 13.3 14.0; do # these are refused later, for another reason
        refused 'is not that of GNU' "$(for_riscv64 $version) $(fake_libc musl <<<'#undef __GLIBC__' | cut -d= -f2)"
    done
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

# fake_abi FOLDER VERSION: an MPI with the standard ABI: a shared library, and a header that needs no macro.
fake_abi()
{
    mkdir -p "$1/standard_abi" "$1/lib"
    echo 'int MPI_Abi_get_version(int *major, int *minor) { *major = *minor = 1; return 0; }' >"$1/abi.c"
    cc -shared -fPIC -o "$1/lib/libmpi_abi.so" "$1/abi.c" || exit
    printf '#define MPI_VERSION 5\n#define MPI_ABI_VERSION %s\nint MPI_Abi_get_version(int *, int *);\n' "$2" \
        >"$1/standard_abi/mpi.h"
}

# fake_mpi NAME: an MPI for pkg-config whose own interface is in the folder NAME.
fake_mpi()
{
    mkdir -p "abi/$1/lib"
    printf 'includedir=%s\nlibdir=%s/lib\nName: %s\nDescription: new\nVersion: 5\nCflags: -I${includedir}\nLibs: -L${libdir} -lmpi\n' \
        "$PWD/abi/$1" "$PWD/abi/$1" "$1" >"abi/$1.pc"
    printf '#define MPI_VERSION 5\n#define MPI_SUBVERSION 0\n' >"abi/$1/mpi.h"
}

# takes CFLAGS LIBS ARGUMENT ...: with these arguments, configure uses these flags for the standard
# ABI of MPI; both are empty: it finds none.
takes()
{
    local wanted="$1 | $2" found
    shift 2
    rm -rf work && mkdir work
    (cd work && PATH=$PWD/../abi/bin:$PATH "$source/configure" --quiet --no-create --cache-file="../${1:+other-}cache" \
        --disable-ibv --disable-ofi PKG_CONFIG_PATH="$PWD/../abi" "$@") >out 2>&1 || { tail -n 5 out && exit 1; }
    found=$(sed -n "s/^MPIABI_CFLAGS='\(.*\)'$/\1 |/p; s/^MPIABI_LIBS='\(.*\)'$/\1/p" work/config.log | paste -sd' ' | tr -s ' ')
    [ "$found" = "$wanted" ] && return
    echo "for the standard ABI of MPI, configure $* should take '$wanted', but takes '$found'"
    exit 1
}

# Made-up MPIs, which pkg-config finds before those of this machine. Open MPI has the header in a folder
# of its own, MPICH behind a macro.
standard_abi()
{
    local ompi=$PWD/abi/ompi-c mpich=$PWD/abi/mpich more=$PWD/abi/more
    mkdir -p abi/bin
    fake_mpi ompi-c
    fake_mpi mpich
    fake_abi abi/ompi-c 2
    takes '' ''
    fake_abi abi/more 1
    printf '#!/bin/sh\necho "gcc -O2 -I%s/standard_abi -L%s/lib -Wl,-rpath,/none -lmpi_abi"\n' "$more" "$more" >abi/bin/mpicc_abi
    chmod +x abi/bin/mpicc_abi
    takes "-I$more/standard_abi" "-L$more/lib -Wl,-rpath,/none -lmpi_abi"
    printf '#ifdef MPI_ABI\n#include <%s>\n#endif\n' "$more/standard_abi/mpi.h" >>abi/mpich/mpi.h
    cc -fno-pic -c -o abi/archived.o -x c - <<<'int one = 1; int MPI_Abi_get_version(int *a, int *b) { return (*a = *b = one) - 1; }' &&
        ar rc abi/mpich/lib/libmpi_abi.a abi/archived.o || exit
    cp "$more/lib/libmpi_abi.so" "$more/lib/libmpi_abi.so.1"
    LIBRARY_PATH=$more/lib takes "-I$mpich -DMPI_ABI" '-l:libmpi_abi.so.1'
    fake_abi abi/ompi-c 1
    takes "-I$ompi/standard_abi" "-L$ompi/lib -lmpi_abi"
    takes "-I$more/standard_abi" "-L$more/lib -lmpi_abi" MPIABI_CFLAGS="-I$more/standard_abi" MPIABI_LIBS="-L$more/lib -lmpi_abi"
    refused 'MPIABI_CFLAGS and MPIABI_LIBS do not lead to a shared library' --disable-ibv --disable-ofi \
        PKG_CONFIG_PATH="$PWD/abi" MPIABI_LIBS=-lnone
}

cross_build()
{
    mkdir cross
    cd cross || exit
    "$source/configure" --quiet --build=i686-pc-linux-gnu --host="$(cc -dumpmachine)" CC=cc --disable-ibv --disable-ofi \
        --disable-mpi-modules --with-vapi-spawner=mpi --with-udp-spawner=slurm >out 2>&1 || { tail -n 5 out && exit 1; }
    [ "$(sed -n 's/^#define \(AQ_[A-Z]*_SPAWNER\) /\1=/p' config.h | sort | paste -sd' ')" = \
        'AQ_IBV_SPAWNER="mpi" AQ_MPI_SPAWNER="auto" AQ_OFI_SPAWNER="auto" AQ_SMP_SPAWNER="auto" AQ_UDP_SPAWNER="slurm"' ] ||
        { grep '_SPAWNER ' config.h; echo "config.h has other default spawners than configure was told." && exit 1; }
    make -s gasnet.7 >out 2>&1 || { tail -n 5 out && exit 1; }
    [ ! -e gasnet_info ] || { echo "A cross build makes the manual page by running gasnet_info." && exit 1; }
    grep -q '^\.B GASNET_SPAWN_CONTROL\|^\.B GASNET_SPAWNFN' gasnet.7 || { echo "gasnet(7) lacks its variables." && exit 1; }
}

# The names are those of settings.h; a word that is part of them is none.
spawners()
{
    local names='use one of auto fork ssh universe custom rendezvous mpi pmi k8s slurm tm.'
    refused "--with-ibv-spawner=nothing: 'nothing' is no spawner; $names" --with-ibv-spawner=nothing
    refused "--with-vapi-spawner=fork ssh: 'fork ssh' is no spawner; $names" '--with-vapi-spawner=fork ssh'
    refused "--with-udp-spawner=no: 'no' is no spawner; $names" --without-udp-spawner
}

folders_with_a_space
spawners
refused "is not that of GNU" "$(fake_libc musl <<<'#undef __GLIBC__')"
refused "is older than glibc 2.34" "$(printf '#undef __GLIBC_MINOR__\n#define __GLIBC_MINOR__ 31\n' | fake_libc old-libc)"
old_compiler
compilers_for_riscv64
old_libraries
standard_abi
cross_build
exit 0
