#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-tools: a client of the GASNet tools compiles in C11, gnu11 and C++11 against the installed
# headers, and works without a job and with one; and a hello client does not read thousands of lines
# of ours.
set -eu
. "$AQ_SRC/tests/run-functions.sh"
prefix=$AQ_BUILD/installed
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
client=$AQ_SRC/tests/other/tools/tools_client.c
warnings="-Wall -Wextra -Wpedantic -Werror -O2"
command -v c++ >/dev/null || skip "there is no C++ compiler (package g++)"
unset GASNET_BACKTRACE GASNET_BACKTRACE_TYPE GASNET_VERBOSEENV

fail()
{
    echo "check-tools: $*"
    exit 1
}

# compile PACKAGE THREADS OPTION ...: compiles tools-c and tools-cxx; THREADS is 1 if the package
# has threads.
compile()
{
    local package=$1 flags
    flags="$warnings -DTOOLS_THREADS=$2 ${3-}"
    # shellcheck disable=SC2046,SC2086
    {
        cc -std=c11 $flags $(pkg-config --cflags "$package") -c "$client" -o strict.o
        cc -std=gnu11 $flags $(pkg-config --cflags "$package") "$client" -o tools-c $(pkg-config --libs "$package")
        c++ -x c++ -std=c++11 $flags $(pkg-config --cflags "$package") "$client" -x none -o tools-cxx \
            $(pkg-config --libs "$package")
    } || fail "the client does not compile with $package."
}

# run_both WORD ...: runs both programs with these words in front; each prints its line once.
run_both()
{
    local program
    for program in ./tools-c ./tools-cxx; do
        [ "$("$@" $program)" = "tools: ok" ] || fail "$* $program does not print 'tools: ok'."
    done
}

# A fatal error names its place and ends by SIGABRT; killmyprocess leaves with its code.
run_to_ends()
{
    local code=0
    (ulimit -c 0 && exec ./tools-c fatal) 2>err || code=$?
    [ $code -eq $((128 + $(kill -l ABRT))) ] || fail "gasnett_fatalerror ends with exit code $code."
    grep -q 'fatal: argument fatal (in main at .*tools_client.c:[0-9]*)' err || fail "gasnett_fatalerror does not say what and where."
    code=0
    ./tools-c leave || code=$?
    [ $code -eq 3 ] || fail "gasnett_killmyprocess(3) ends with exit code $code."
}

for mode in seq par; do
    threads=$([ $mode = par ] && echo 1 || echo 0)
    compile gasnet_tools-$mode "$threads"
    run_both env
    run_to_ends
    compile gasnet-smp-$mode "$threads" -DTOOLS_WITH_JOB
    run_both "$prefix/bin/gasnetrun_smp" -n 2
done

# The number of lines of our headers after preprocessing, in a client that includes gasnetex.h.
echo '#include <gasnetex.h>' >hello.c
# shellcheck disable=SC2046
lines=$(cc -E $(pkg-config --cflags gasnet-smp-par) hello.c |
    awk -v ours="\"$prefix/" '/^# [0-9]+ "/ { on = index($3, ours) == 1; next } on' | wc -l)
((lines > 100 && lines < 3000)) || fail "gasnetex.h brings $lines lines of ours; 100 to 3000 are expected."
