#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# grow-kill CONDUIT KILLS: a random rank is killed while a job grows twice under traffic. The job
# ends with the code of the kill, or has ended before; no process is left. More kills are for people.
set -u
. "$(dirname "$0")/launch-functions.sh"

export GASNET_CONDUIT=$1 GASNET_SUPERNODE_MAXSIZE=$([ "$1" = smp ] || echo 1)

for ((i = 0; i < $2; i++)); do
    "$AQ_BUILD/gasnetrun_$1" -n 2 --reserve 6 "$AQ_BUILD/grow_work" traffic 2 4 >"$work/out" 2>"$work/err" &
    sup=$!
    sleep "0.0$((RANDOM % 9 + 1))"
    ranks=($(pgrep -P $sup))
    [ ${#ranks[@]} -eq 0 ] || kill -KILL "${ranks[RANDOM % ${#ranks[@]}]}" 2>/dev/null
    code=0
    wait $sup || code=$?
    sup=
    [ $code -eq 137 ] || [ $code -eq 0 ] || fail "exit code $code after kill $i"
    [ "$(grep -c '^\*\*\* GASNet: gasnetrun' "$work/err")" -le 1 ] || fail "more than one sentence of the launcher"
done
