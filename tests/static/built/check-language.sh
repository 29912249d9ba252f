#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-language-*: the ring of examples/languages, built from the installed library, over shared
# memory and over udp.
#   check-language.sh cc|f90|rs|py
set -u
. "$AQ_SRC/tests/run-functions.sh"
language=$1
prefix=$AQ_BUILD/installed
source=$AQ_SRC/examples/languages/ring.$language
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PATH=$prefix/bin:$PATH
[ -e "$prefix/lib/libaqueduct.so" ] || skip "this build has no shared library"

# needs PROGRAM PACKAGE
needs()
{
    "$1" --version >/dev/null 2>&1 || skip "there is no $1 (package $2)"
}

# Builds ./ring for a conduit.
build()
{
    local cflags libs
    cflags=$(pkg-config --cflags "gasnet-$1-par") || return
    libs=$(pkg-config --libs "gasnet-$1-par") || return
    # shellcheck disable=SC2086,SC2001
    case $language in
    cc) c++ -std=c++11 -Wall -Wextra -Werror -O2 $cflags "$source" -o ring $libs ;;
    f90) gfortran -std=f2008 -Wall -Wno-unused-dummy-argument -Werror -O2 "$source" -o ring $libs ;;
    rs) rustc -D warnings -O "$source" -o ring $(sed 's/[^ ]*/-C link-arg=&/g' <<<"$libs") ;;
    py)
        printf '#!/bin/sh\nGASNET_LIBRARY=%s exec python3 -B %s\n' \
            "$prefix/lib/libgasnet-$1-par.so" "$source" >ring
        chmod +x ring
        ;;
    esac
}

case $language in
cc) needs c++ g++ ;;
f90) needs gfortran gfortran ;;
rs) needs rustc rustc ;;
py) needs python3 python3 ;;
esac
for conduit in smp udp; do
    build $conduit || exit
    timeout 50 "gasnetrun_$conduit" -n 3 ./ring >out || exit
    [ "$(cat out)" = "3 nodes, 100 times round: all sums are right" ] || {
        cat out
        exit 1
    }
done
