#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-names: every public name of the specifications, one a line in tests/static/built/api-names.txt, is
# there for a client that includes the six headers: as a macro, or as a type, function, constant or
# field.
#   check-names.sh [HEADER ...]    other headers than the six
set -u
. "$AQ_SRC/tests/run-functions.sh"
include=$AQ_BUILD/installed/include
[ $# -gt 0 ] || set -- gasnetex.h gasnet.h gasnet_vis.h gasnet_coll.h gasnet_ratomic.h gasnet_tools.h

# Prints the identifiers after preprocessing, except those in strings, and the macros that are
# defined at the end. The compiler has already refused names that are used but not declared.
names_of()
{
    local flags="-std=gnu11 -DGASNET_$1 -I$include -I$include/smp-conduit"
    # shellcheck disable=SC2086
    cc $flags -Wall -Werror -c six.c -o six.o || return
    # shellcheck disable=SC2086
    {
        cc $flags -E -P six.c | sed -E 's/"([^"\\]|\\.)*"//g' | grep -oE '[A-Za-z_][A-Za-z_0-9]*'
        cc $flags -E -dM six.c | sed -nE 's/^#define ([A-Za-z_0-9]+).*/\1/p'
    } | sort -u
}

for header in "$@"; do
    [ -e "$include/$header" ] || {
        echo "check-names: $header is not installed in $include." >&2
        exit 1
    }
    echo "#include <$header>"
done >six.c

for mode in SEQ PAR; do
    names_of $mode >there || {
        echo "check-names: the headers do not compile together with GASNET_$mode."
        exit 1
    }
    # The macros of the other thread mode are not defined.
    case $mode in
    SEQ) others='GASNET_PAR|GASNETT_THREAD_SAFE|GASNET_RCV_THREAD' ;;
    PAR) others='GASNET_SEQ|GASNETT_THREAD_SINGLE' ;;
    esac
    grep -vxE "$others" "$AQ_SRC/tests/static/built/api-names.txt" >wanted
    sort -u wanted | comm -23 - there | sed "s/\$/: not declared with GASNET_$mode./"
done >missing
[ "$(wc -l <wanted)" -gt 1000 ] || {
    echo "check-names: tests/static/built/api-names.txt is not complete."
    exit 1
}
[ ! -s missing ] || {
    cat missing
    echo "check-names: $(cut -d: -f1 missing | sort -u | wc -l) names are missing."
    exit 1
}

# A client sees which threads of the library a job may have: none in mode seq, and a send thread over ibv only.
for conduit in "$include"/*-conduit; do
    for mode in SEQ PAR PARSYNC; do
        case $mode-$conduit in
        SEQ-*) wanted='' ;;
        *ibv-conduit) wanted='GASNET_RCV_THREAD 1 GASNET_SND_THREAD 1' ;;
        *) wanted='GASNET_RCV_THREAD 1' ;;
        esac
        there=$(echo '#include <gasnetex.h>' | cc -DGASNET_$mode "-I$include" "-I$conduit" -E -dM - |
            sed -nE 's/^#define (GASNET_(RCV|SND)_THREAD )/\1/p' | sort | xargs)
        [ "$there" = "$wanted" ] || {
            echo "check-names: $mode of ${conduit##*/} defines '$there' instead of '$wanted'."
            exit 1
        }
    done
done
exit 0
