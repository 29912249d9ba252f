#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs on the hosts of the bed that grow: each host gets ranks that join, old and new ranks work
# together, an exit of either ends all, and no process is left.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
all=$(hosts 1 "$AQ_BED_HOSTS")
count=$AQ_BED_HOSTS
grow=$AQ_BUILD/grow_work
export GROW_WORK_MARK=$work/mark

# grows CODE RANKS RESERVE [WAYS] COUNT...
grows()
{
    rm -f "$GROW_WORK_MARK"
    expect "$1" "$run" -n "$2" --reserve "$3" -H "$all" "$grow" "${@:4}"
}

grows 0 "$count" $((2 * count + 1)) 1 $((2 * count))
silent
grows 0 $((count + 1)) 3 traffic,late 3
silent
grows 7 "$count" 2 old 2
silent
grows 7 "$count" 2 new 2
silent
none_left
grows 137 "$count" 1 kill 1
says "rank $count of $((count + 1))"
grows 3 "$count" "$count" refuse "$count"
grep -q "on host n.*ended with exit code 3" "$work/err" || fail "no word of the exit code"
grows 0 2 2 wrong
[ "$(grep -c "reserve has 2;" "$work/err")" = 2 ] || fail "no word of the reserve"
none_left
