#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# maps: wrong puts to segments of further endpoints (conform_maps wrong, or PROGRAM).
#   check-maps.sh START PLACE=TEXT ...    each in a job of its own, which ends with one sentence that has the text
#   START: the function that starts a job (on_fake, on_udp ...), with its words
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$AQ_SRC/tests/checks/check-functions.sh"
start=$1
shift

for wrong in "$@"; do
    name=${wrong%%=*} text=${wrong#*=}
    job "$start" 2 "${PROGRAM:-conform_maps}" wrong "$name"
    [ $code -eq 1 ] || complain "the exit code is $code, not 1"
    ! grep -q '^went on' "$work/out" || complain "nobody found that the address is wrong"
    one_is_fatal
    grep -qE "^\*\*\* GASNet: rank [01] of 2 on host [^ ]*: fatal: .*$text" "$work/err" || complain "the sentence does not say '$text'"
done
conclude "wrong puts"
