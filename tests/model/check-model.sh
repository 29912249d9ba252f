#!/bin/bash
# model-*: spin goes through all executions of a model and finds no fault.
#   check-model.sh NAME [MACRO [OPTION ...]]   tests/model/NAME.pml with -DMACRO and options of pan
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

spin -a "$macro" "$AQ_SRC/tests/model/$name.pml" >out 2>&1 || fail "spin does not take the model."
# What spin writes does not care for warnings.
cc -O2 -w -DSAFETY -DMEMLIM=2048 "$macro" -o pan pan.c >out 2>&1 || fail "what spin wrote does not compile."
./pan "$@" -m1000000 >out 2>&1 || fail "the search broke off."
grep -q 'errors: 0$' out || fail "there is a fault; 'pan -r' shows the way to it."
! grep -qE 'max search depth too small|out of memory|incomplete' out || fail "the search was not complete."
states=$(sed -nE 's/^ *([0-9]+) states, stored$/\1/p' out)
[ "${states:-0}" -gt 1000 ] || fail "only ${states:-no} states: the model does not run."
