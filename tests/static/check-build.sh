#!/bin/bash
# build-VARIANT: builds the tree once more, in $AQ_BUILD/VARIANT, with warnings as errors.
#   check-build.sh strict|debug|asan|tsan
#   check-build.sh fuzz PROGRAM ...
# Only what changed since the last time is compiled again. strict is the installation of the other checks; debug
# is one without shared libraries, and the one that compiles all programs of the tests; the others make what is
# run with them: asan with the sanitizers of addresses and of undefined behaviour, tsan with that of threads. fuzz
# makes the fuzzers for tests/fuzz/run, by clang with libFuzzer. fuzz_driver.c has a main that replays a corpus;
# in this build that function has another name, so that the linker takes libFuzzer's main.
set -eu

sanitized="--disable-shared CFLAGS=-O1\ -g1 --enable-sanitizer"
case ${1-} in
strict) options="--prefix=$AQ_BUILD/strict/installed" goal=all ;;
debug) options="--enable-debug --disable-shared --prefix=$AQ_BUILD/debug/installed" goal=check-programs ;;
asan) options="--enable-debug $sanitized=address,undefined" goal=sanitized-programs ;;
tsan) options="$sanitized=thread" goal=sanitized-programs ;;
fuzz)
    fuzzed=-fsanitize=fuzzer-no-link,address,undefined
    options="--enable-debug --disable-shared CC=clang CFLAGS=-O1\ -g\ $fuzzed\ -fno-sanitize-recover=all LDFLAGS=$fuzzed"
    goal="${*:2} CPPFLAGS=-Dmain=replay_main LDFLAGS=-fsanitize=fuzzer,address,undefined"
    ;;
*)
    echo "check-build: '${1-}' is no variant; use strict, debug, asan, tsan or fuzz."
    exit 1
    ;;
esac
[ "$1" = fuzz ] || options="--enable-werror $options" # clang warns of other things than gcc
folder=$AQ_BUILD/$1
jobs=${AQ_JOBS:-$(nproc)}

# A tree that was configured in place cannot serve other builds; they get a copy of it.
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
make -s Makefile config.h # configure, if it has to run again, does without the variables of the goal
# shellcheck disable=SC2086
make -j "$jobs" $goal
