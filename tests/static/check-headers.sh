#!/bin/bash
# build-headers: each installed header compiles alone, as C11 and as C++11, in every thread mode;
# and our headers give a program that includes <gasnetex.h> fewer than 3,000 lines after
# preprocessing.
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

# Lines that are not blank and come from a header of ours.
printf '#include <gasnetex.h>\nint main(void) { return 0; }\n' >hello.c
lines=$(cc -DGASNET_PAR -I"$include" -I"$include/smp-conduit" -E hello.c |
    awk -v ours="\"$include/" '/^# [0-9]/ { on = index($3, ours) == 1; next } on && NF' | wc -l)
[ "$lines" -gt 100 ] && [ "$lines" -lt 3000 ] || {
    echo "A program that includes <gasnetex.h> compiles $lines lines of our headers; it should be 100 to 2,999."
    exit 1
}
