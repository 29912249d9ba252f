#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-view-signal: at a signal each rank adds its lines, also one that hangs in a handler.
#   observe-view-signal.sh START ...   START: the launcher, with its words
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
ranks=3

# lines_of SNAPSHOT: its lines, as traffic_work prints them
lines_of()
{
    grep ",$1\$" "$work/matrix" 2>/dev/null | cut -d, -f1,2,5-25,28-35 | sort
}

# await SNAPSHOT: all ranks have written it.
await()
{
    for _ in $(seq 200); do
        [ "$(lines_of "$1" | cut -d, -f1 | uniq | wc -l)" -eq $ranks ] && return
        sleep 0.05
    done
    fail "snapshot $1 lacks ranks"
}

GASNET_TRAFFIC=$work/matrix "$@" -n $ranks "$AQ_BUILD/traffic_work" 2 hang >"$work/out" 2>"$work/err" &
sup=$!
for _ in $(seq 400); do
    [ "$(grep -c -e '^hangs' -e '^[0-9]*,' "$work/out")" -eq $((ranks * ranks + 1)) ] && break
    sleep 0.05
done
grep -q '^hangs' "$work/out" || fail "no rank hangs"
sed -n '/^[0-9]*,[0-9]*,/p' "$work/out" | sort >"$work/expected"
for snapshot in 1 2; do
    kill -USR2 $sup
    await $snapshot
    lines_of $snapshot | diff "$work/expected" - >"$work/diff" ||
        fail "snapshot $snapshot differs (> is what was written): $(cat "$work/diff")"
done
[ "$(grep -c 'report: waits' "$work/err")" -ge $((2 * ranks)) ] || fail "the signal lacks its report"
[ "$(sed 1d "$work/matrix" | wc -l)" -eq $((2 * ranks * ranks)) ] || fail "there are further lines"
kill -TERM $sup
wait $sup
sup=
exit 0
