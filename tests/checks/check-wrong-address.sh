#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# wrong-address: puts, gets, atomics and the like to memory that their target does not have
# (wrong_address.c).
#   check-wrong-address.sh START return            one job with GASNET_ERRORS=return makes them all, and
#                                                  reads an error of each
#   check-wrong-address.sh START OPERATION:PLACE   each in a job of its own (also several, or shell patterns),
#                                                  which ends with one sentence of the initiator, and
#                                                  with a signal if the address is far from all segments
#   START: the function that starts a job (on_fake, on_udp ...), with its words
#   WRONG_FURTHER=1: to the segment of endpoint 1
#   PROGRAM=wrong_address_everything: all memory is the segment, and the sentence is one of the target
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$AQ_SRC/tests/checks/check-functions.sh"
program=${PROGRAM:-wrong_address}
start=$1
shift

run()
{
    job "$start" 2 "$program" "$@"
}

if [ "$1" = return ]; then
    name=return
    GASNET_ERRORS=return run return
    [ $code -eq 0 ] || complain "the exit code is $code"
    grep -qE '^[1-9][0-9]* errors, 0 complaints$' "$work/out" || complain "the job did not go on to its end"
    [ ! -s "$work/err" ] || complain "there are messages"
    sed 's/^/return: /' "$work/out"
    [ $failed = 0 ]
    exit
fi

while read -r operation place; do
    name=$operation:$place
    is_chosen "$@" || continue
    run "$operation" "$place"
    ! grep -q '^went on' "$work/out" || complain "nobody found that the address is wrong"
    # A wild address in mapped memory ends the process by its signal, as a wild pointer does.
    wanted=1 kind='fatal: '
    ! grep -q '^wild' "$work/out" || wanted=139 kind='was accessed'
    # The mpirun of MPICH ends with the number of the signal.
    [ $code -eq $wanted ] || [ $((code + 128)) -eq $wanted ] || complain "the exit code is $code, not $wanted"
    [ "$(grep -c "fatal: \|was accessed" "$work/err")" -eq 1 ] || complain "not exactly one sentence says what is wrong"
    grep -E "^\*\*\* GASNet: rank [01] of 2 on host [^ ]*: .*$kind" "$work/err" >"$work/said" || complain "no rank says why"
    while read -r text; do
        grep -qF -- "${text#expect: }" "$work/said" || complain "the sentence does not say '${text#expect: }'"
    done < <(grep '^expect: ' "$work/out")
done < <("$AQ_BUILD/$program" --list; echo put no-segment; echo get no-segment)

conclude 'wrong accesses'
