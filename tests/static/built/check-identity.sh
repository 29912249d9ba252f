#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-identity: executables of clients contain text that says what they were built for, whether
# they are linked with the shared libraries or with the archives, compiled with or without
# optimization, as C or as C++.
set -u
. "$AQ_SRC/tests/run-functions.sh"
prefix=$AQ_BUILD/installed
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# shellcheck disable=SC2016
wanted='$GASNetConduitName: SMP $
$GASNetConfig: (libgasnet.a) RELEASE=R,
$GASNetCoreLibraryName: SMP $
$GASNetCoreLibraryVersion: R $
$GASNetExtendedLibraryVersion: R $
$GASNetThreadModel: GASNET_M $
$GASNetSegment: GASNET_SEGMENT_FAST $'

# expect_text PROGRAM MODE
expect_text()
{
    local line release
    release=$(pkg-config --modversion "gasnet-smp-$2")
    strings -n 3 "$1" >found
    while IFS= read -r line; do
        line=${line/R /$release } && line=${line/R,/$release,} && line=${line/_M /_${2^^} }
        [ "$(grep -cF -- "$line" found)" = 1 ] || {
            echo "$1 should have '$line' once, but has: $(grep '^\$GASNet' found)"
            return 1
        }
    done <<<"$wanted"
}

cat >client.c <<'END'
#include <gasnetex.h>
int main(void)
{
    return gex_Client_Init(NULL, NULL, NULL, "IDENTITY", NULL, NULL, 0) == GASNET_OK ? 0 : 1;
}
END
cp client.c client.cc

# shellcheck disable=SC2046,SC2086
for mode in seq par parsync; do
    package=gasnet-smp-$mode
    for compiler in "cc -O0 client.c" "cc -O2 -flto client.c" "c++ -O3 client.cc"; do
        command -v "${compiler%% *}" >/dev/null || {
            left_out "$compiler" 'there is no such compiler'
            continue
        }
        $compiler $(pkg-config --cflags $package) -o dynamic $(pkg-config --libs $package) && expect_text dynamic $mode || exit
        $compiler $(pkg-config --cflags $package) -o archives -Wl,-Bstatic $(pkg-config --static --libs $package) \
            -Wl,-Bdynamic && expect_text archives $mode || exit
    done
done
"$prefix/bin/gasnetrun_smp" -n 2 ./dynamic || exit

# A program that only includes the header carries no such text.
echo '#include <gasnetex.h>
int main(void) { return 0; }' >bystander.c
# shellcheck disable=SC2046
cc -O0 $(pkg-config --cflags gasnet-smp-seq) bystander.c -o bystander || exit
! strings bystander | grep GASNetConduitName
