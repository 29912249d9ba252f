#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs on all hosts of the bed: they run, the launcher returns their exit codes, and no process is
# left.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
all=$(hosts 1 "$AQ_BED_HOSTS")
count=$AQ_BED_HOSTS

# The launcher's number of connections is the width of the tree, however many hosts there are. One
# socket more is that to which gasnet_top comes.
GASNET_SSH_OUT_DEGREE=2 start_job "$count" "$run" -n "$count" -H "$all" sh -c 'echo ready; exec sleep 1000'
while [ -n "$(pgrep -x ssh)" ]; do
    sleep 0.05
done
[ "$(find "/proc/$sup/fd" -lname 'socket:*' | wc -l)" -eq 3 ] || fail "the launcher does not hold two connections and a door"
kill -TERM "$sup"
job_ends 143

# All three algorithms of the start have the same result.
[ "$count" -gt 4 ] || for algorithm in window linear; do
    expect 0 env GASNET_SPAWN_ALGORITHM=$algorithm "$run" -n "$count" -H "$all" "$hello"
    silent
    [ "$(wc -l <"$work/out")" -eq "$count" ] || fail "not all ranks have said hello"
done

for each in 1 4; do
    expect 0 "$run" -n $((count * each)) -H "$all" "$hello"
    silent
    [ "$(grep -c 'Hello from rank' "$work/out")" -eq $((count * each)) ] || fail "not all ranks have said hello"
    none_left
done
expect 0 "$run" -n "$count" -H "$all" hostname
sort -V "$work/out" | cmp -s - <(seq -f 'n%g' "$count") || fail "not one rank on each host"
silent
[ "$count" -le 4 ] || exit 0
expect 42 "$run" -n $((2 * count)) -H "$all" "$conform" code 42
silent
expect 9 "$run" -n "$count" -H "$all" "$conform" one $((count - 1)) 9
silent
expect 139 "$run" -n "$count" -H "$all" "$conform" signal 1 11
says "rank 1 of $count"
grep -q 'on host n2: .*SIGSEGV' "$work/err" || fail "host and signal are not named"
none_left
