#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-view-job: the summary of the trace of a job and its traffic matrix agree.
#   observe-view-job.sh START ...   START: the launcher, with its words
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
[ -x "$AQ_BUILD/gasnet_view" ] || skip "gasnet_view is not in this build (package libjansson-dev)"
ranks=4

expect 0 env GASNET_TRACE="$work/trace" GASNET_TRAFFIC="$work/matrix" "$@" -n $ranks \
    "$AQ_BUILD/traffic_work" 2
silent
messages=$(awk -F, 'NR > 1 { for (i = 5; i <= 11; i++) sum += i == 8 ? 0 : $i; sum += $22 + $24 } END { print sum }' "$work/matrix")
expect 0 gasnet_view trace --html "$work/page" --what atomics "$work/trace"
silent
grep -q "^$ranks of $ranks ranks, " "$work/out" || fail "ranks are missing"
grep -qx 'No event was dropped.' "$work/out" || fail "events were dropped"
grep -qx "$messages messages, of which $messages are in the trace from the send to the handler" "$work/out" ||
    fail "there are $messages messages"
awk '$NF == "put" && $(NF - 1) == "VIS" { exit $1 != 4 * 4 * 2 * 2 + 4 } ' "$work/out" || fail "the number of vectors is wrong"
awk '$NF == "put" && $(NF - 1) != "VIS" { exit $1 != 4 * 4 * 2 * 6 + 4 * 7 } ' "$work/out" || fail "the number of puts is wrong"
[ "$(grep -c 'rank [0-9] to rank [0-9]: 8 (8 atomics)' "$work/page")" -eq $((ranks * ranks)) ] ||
    fail "the matrix of the page is wrong"
grep -q "<td>3</td><td>" "$work/page" || fail "the page has no summary"
exit 0
