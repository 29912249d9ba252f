#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-headers: each installed header compiles alone, as C11 and as C++11, in every thread mode;
# our headers give a program that includes <gasnetex.h> fewer than 3,000 lines after
# preprocessing; and calls of the library take no stub of the PLT where the compiler can do without.
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

# Which way calls of the library go in a program for a shared library: one line for each, the kind of its relocation.
printf '#include <gasnetex.h>\nint poll(void) { return gasnet_AMPoll(); }\n' >poll.c
printf '#if !defined __x86_64__ || !__has_attribute(noplt)\n#error\n#endif\n' >able.c
if cc -E able.c >able.out 2>&1; then
    cc -DGASNET_PAR -I"$include" -I"$include/smp-conduit" -O1 -fPIC -c poll.c -o poll.o &&
        objdump -r poll.o | awk '/aq_|gasnet/ { print $2 }' >calls || exit
    grep -q GOTPC calls && ! grep -q PLT calls || {
        echo "A call of the library takes a stub of the PLT:"
        cat calls
        exit 1
    }
fi
