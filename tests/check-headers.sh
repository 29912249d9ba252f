#!/bin/bash
# static-headers: each installed header compiles alone, as C11 and as C++11, in every thread mode.
set -u
. "$AQ_SRC/tests/run-functions.sh"
include=$AQ_BUILD/installed/include
warnings="-Wall -Wextra -Wpedantic -Werror"
command -v c++ >/dev/null || skip "there is no C++ compiler (package g++)"

count=0
for header in "$include"/*.h "$include"/*-conduit/*.h; do
    [ -e "$header" ] || break
    count=$((count + 1))
    for mode in SEQ PAR PARSYNC; do
        printf '#include <%s>\nextern int alone;\n' "${header#"$include/"}" >unit.c
        cp unit.c unit.cc
        # shellcheck disable=SC2086
        cc -std=c11 $warnings -DGASNET_$mode -I"$include" -O1 -c unit.c -o unit.o &&
            c++ -std=c++11 $warnings -DGASNET_$mode -I"$include" -O1 -c unit.cc -o unit.o || {
            echo "${header##*/} does not compile alone with GASNET_$mode."
            exit 1
        }
    done
done
[ $count -gt 0 ] || {
    echo "No header is installed in $include."
    exit 1
}
