#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# model-weak-*: an order of memory accesses is enough for processors that reorder them, and each of
# its parts is needed.
#   check-weak.sh NAME MACRO BROKEN ...
# Spin explores the model tests/model/NAME.pml with MACRO, such as -DSLEEP, and finds no error. With
# each number BROKEN, which the head of the model explains, it finds one.
set -u
. "$AQ_SRC/tests/run-functions.sh"
command -v spin >/dev/null || skip "spin is not installed (package spin)"
name=$1 macro=$2
shift 2

fail()
{
    cat out
    echo "check-weak: $name $macro: $1"
    exit 1
}

# explore NUMBER: the models are small, so that optimizing them would take longer than running.
explore()
{
    spin -a "$macro" "-DBROKEN=$1" "$AQ_SRC/tests/model/$name.pml" >out 2>&1 || fail "spin refuses the model."
    # -w: the code that spin generates causes warnings. COLLAPSE: states take a fifth of the memory.
    cc -O0 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=1024 -o pan pan.c >out 2>&1 ||
        fail "the code that spin generated does not compile."
    ./pan -w20 -m20000 >out 2>&1 || fail "the search stopped with an error."
    ! grep -qE 'max search depth too small|out of memory|reached -DMEMLIM' out ||
        fail "the search is not complete."
}

explore 0
grep -q 'errors: 0$' out || fail "the model has an error; 'pan -r' shows the steps to it."
states=$(sed -nE 's/^ *([0-9]+) states, stored$/\1/p' out)
[ "${states:-0}" -gt 1000 ] || fail "only ${states:-no} states: the model does not run."
for number; do
    explore "$number"
    grep -q 'errors: 1$' out || fail "nothing is found although order $number is broken."
    ! grep -qE 'STORES|number<' out || fail "order $number: a location has too many values."
done
