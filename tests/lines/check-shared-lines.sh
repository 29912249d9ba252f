#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check-shared-lines.sh THREADS OPERATIONS
# Links shared_lines.c with the library that is instrumented for the thread sanitizer, and with
# functions that record cache lines in place of the sanitizer's, and runs it.
set -eu

build=$AQ_BUILD/tsan
libraries=("$build/.libs/libgasnet-smp-par.a" "$build/.libs/libaqueduct.a")
dependencies=$(sed -n "s/^dependency_libs='\(.*\)'/\1/p" "$build/libaqueduct.la")
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -O1 -g -no-pie -Wall -Werror -o shared_lines -DGASNET_PAR \
    -I"$build/core" -I"$AQ_SRC/core" -I"$AQ_SRC/extended" -I"$AQ_SRC/other/tools" \
    "$AQ_SRC/tests/lines/shared_lines.c" "$AQ_SRC/tests/lines/line_recorder.c" \
    "${libraries[@]}" $dependencies -lpthread -lm
./shared_lines "$@" >report && cat report && exit
while read -r line; do
    echo "$line"
    case $line in *" such as at "*) addr2line -pfe shared_lines "${line##* }" ;; esac
done <report
exit 1
