#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Creates the folders that the build of Chapel expects, for an installation (make install-chapel):
#
#   chapel-tree.sh TREE BINDIR INCLUDEDIR LIBDIR CONDUIT...
#
#   TREE/substrate-CONDUIT/seg-MODE/bin                                 a link to BINDIR: the launchers
#                                  /include/CONDUIT-conduit/*.mak       makefile fragments
#                                  /lib/pkgconfig/gasnet-CONDUIT-*.pc   package files
#
# MODE is fast, large and everything. Fragments and package files are copies of the installed ones,
# with the define of the segment mode added. They refer to the installation, so run this again after
# moving it.
set -eu

fail()
{
    echo "chapel-tree: $*" >&2
    exit 1
}

[ $# -ge 5 ] && [ -n "$1" ] || fail "TREE is missing; call it as make install-chapel CHPL_GASNET=.../third-party/gasnet/install/<cfg>"
tree=$1 bindir=$2 includedir=$3 libdir=$4
shift 4

# copy FROM TO DEFINE: copies a file and adds the define in front of the others.
copy()
{
    sed "s/^\(GASNET_DEFINES *= *\)/\1$3 /" "$1" >"$2"
    grep -q "^GASNET_DEFINES *= *$3 " "$2" || fail "$1 has no GASNET_DEFINES"
}

one_tree()
{
    root=$tree/substrate-$1/seg-$2
    define=-DGASNET_SEGMENT_$(echo "$2" | tr '[:lower:]' '[:upper:]')
    mkdir -p "$root/include/$1-conduit" "$root/lib/pkgconfig"
    rm -f "$root/bin"
    ln -s "$bindir" "$root/bin"
    for mode in seq par parsync; do
        copy "$includedir/$1-conduit/$1-$mode.mak" "$root/include/$1-conduit/$1-$mode.mak" "$define"
        copy "$libdir/pkgconfig/gasnet-$1-$mode.pc" "$root/lib/pkgconfig/gasnet-$1-$mode.pc" "$define"
    done
}

for conduit; do
    [ -e "$libdir/pkgconfig/gasnet-$conduit-par.pc" ] || fail "$libdir/pkgconfig has no gasnet-$conduit-par.pc; run make install first"
    for segment in fast large everything; do
        one_tree "$conduit" $segment
    done
done
