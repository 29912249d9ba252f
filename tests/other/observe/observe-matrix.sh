#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-matrix: the traffic matrix has the lines of a program that knows what it sends.
#   observe-matrix.sh RANKS THREADS START ...   START: the function that starts a job, with its words
# TROUBLE: no_room or resent, of which there must be some.
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$AQ_SRC/tests/checks/check-functions.sh"
ranks=$1 threads=$2
shift 2
name="$ranks ranks of $threads threads"

GASNET_TRAFFIC=$work/matrix GASNET_STATSFILE=$work/counts job "$*" "$ranks" traffic_work "$threads"
[ "$code" = 0 ] || complain "the exit code is $code"
[ ! -s "$work/err" ] || complain "there is a message"
sed -n '/^[0-9]*,[0-9]*,/p' "$work/out" | sort >"$work/expected"
[ "$(wc -l <"$work/expected")" -eq $((ranks * ranks)) ] || complain "not a line for each pair"
tail -n +2 "$work/matrix" | cut -d, -f1,2,5-25,28-35 | sort >"$work/written"
diff "$work/expected" "$work/written" || complain "the matrix differs (> is what was written)"
head -1 "$work/matrix" | grep -q '^from,to,from_host,to_host,' || complain "there is no title"
# Each rank but one gets the 1,000 bytes of a broadcast.
tail -n +2 "$work/matrix" | awk -F, -v ranks="$ranks" '{n += $26; b += $27} END {exit n < ranks - 1 || b < 1000 * (ranks - 1)}' ||
    complain "collectives moved too little"
sums=$(tail -n +2 "$work/matrix" | awk -F, '{n += $36; r += $37} END {print "no_room " n " resent " r}')
[ -z "${TROUBLE:-}" ] || [[ $sums =~ $TROUBLE\ [1-9] ]] || complain "there is no trouble: $sums"

# The reasons of drops, which the ranks count for those who watch, agree with what conduits count.
awk -v ranks="$ranks" '
    $2 == "dropped" { all[$1] = $3; count++ }
    $2 ~ /^dropped_/ { reasons[$1] += $3 }
    $2 == "polls_found" && ranks > 1 && $3 == 0 { print "no poll of rank " $1 " has found anything" }
    END {
        for (rank in all)
            if (all[rank] != reasons[rank])
                print "rank " rank " has " all[rank] " drops, and reasons for " reasons[rank]
        if (count != ranks)
            print count " ranks have counts"
    }' "$work/counts" >"$work/odd"
[ ! -s "$work/odd" ] || complain "$(cat "$work/odd")"
[ "${TROUBLE:-}" != resent ] || grep -q ' dropped_injected [1-9]' "$work/counts" || complain "nothing was dropped"
conclude matrices
