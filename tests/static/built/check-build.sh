#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-VARIANT: builds the tree once more, in $AQ_BUILD/VARIANT, with warnings as errors.
#   check-build.sh strict|asan|tsan
#   check-build.sh asan|tsan suite     only what the quick check runs
#   check-build.sh fuzz PROGRAM ...
# Only files that changed since the last time are compiled again. The other checks use the
# installations of strict and of asan. asan has --enable-debug, the sanitizers of addresses and of
# undefined behaviour, and no shared libraries; tsan has the sanitizer of threads, and only the
# programs that run with it. fuzz makes the fuzzers for tests/fuzz/run, by clang with libFuzzer: the
# main of fuzz_driver.c, which replays the seeds, gets another name, so that the linker takes
# libFuzzer's main.
set -eu

sanitized="--disable-shared CFLAGS=-O1\ -g1 --enable-sanitizer"
case "$*" in
strict) options="--prefix=$AQ_BUILD/strict/installed --with-ofi-spawner=fork" goal=all ;; # check-manuals.sh reads that
asan | 'asan suite')
    options="--enable-debug --prefix=$AQ_BUILD/asan/installed $sanitized=address,undefined"
    goal=checked-${2-programs}
    ;;
tsan | 'tsan suite') options="$sanitized=thread" goal=sanitized-${2-programs} ;;
'fuzz '*)
    fuzzed=-fsanitize=fuzzer-no-link,address,undefined
    options="--enable-debug --disable-shared CC=clang CFLAGS=-O1\ -g\ $fuzzed\ -fno-sanitize-recover=all LDFLAGS=$fuzzed"
    goal="${*:2} CPPFLAGS=-Dmain=replay_main LDFLAGS=-fsanitize=fuzzer,address,undefined"
    ;;
*)
    echo "check-build: '$*' is not a variant; use strict, asan, tsan, asan suite, tsan suite or fuzz PROGRAM."
    exit 1
    ;;
esac
[ "$1" = fuzz ] || options="--enable-werror $options" # clang's warnings differ from gcc's
folder=$AQ_BUILD/$1
jobs=${AQ_JOBS:-$(nproc)}

# Other builds cannot use a tree that was configured in place, so they use a copy.
source=$AQ_SRC
if [ -e "$AQ_SRC/config.status" ]; then
    source=$folder/source
    mkdir -p "$folder"
    make -s -C "$AQ_SRC" distdir distdir="$source"
fi

mkdir -p "$folder"
cd "$folder"
if [ ! -e config.status ] || [ "$(cat options 2>/dev/null)" != "$options" ]; then
    eval "'$source/configure' --quiet --enable-silent-rules $options"
    echo "$options" >options
fi
make -s Makefile config.h # if configure has to run again, it must not see the variables of the goal
# shellcheck disable=SC2086
make -j "$jobs" $goal
