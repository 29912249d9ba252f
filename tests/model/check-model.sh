#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# model-*: spin explores all executions of a model and finds no error.
#   check-model.sh NAME [MACRO [OPTION ...]]
# MACRO, such as -DSTAR, is defined for the model tests/model/NAME.pml; OPTION is an option of pan.
set -u
. "$AQ_SRC/tests/run-functions.sh"
command -v spin >/dev/null || skip "spin is not installed (package spin)"
name=$1 macro=${2--DPLAIN}
shift $(($# < 2 ? $# : 2))

fail()
{
    cat out
    echo "check-model: $name: $1"
    exit 1
}

spin -a "$macro" "$AQ_SRC/tests/model/$name.pml" >out 2>&1 || fail "spin refuses the model."
# -w: the code that spin generates causes warnings.
cc -O2 -w -DSAFETY -DMEMLIM=2048 "$macro" -o pan pan.c >out 2>&1 ||
    fail "the code that spin generated does not compile."
./pan "$@" -m1000000 >out 2>&1 || fail "the search stopped with an error."
grep -q 'errors: 0$' out || fail "the model has an error; 'pan -r' shows the steps to it."
! grep -qE 'max search depth too small|out of memory|incomplete' out ||
    fail "the search is not complete."
states=$(sed -nE 's/^ *([0-9]+) states, stored$/\1/p' out)
[ "${states:-0}" -gt 1000 ] || fail "only ${states:-no} states: the model does not run."
