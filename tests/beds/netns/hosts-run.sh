#!/bin/bash
# Jobs on all hosts of the bed: they run, their codes come back, and nothing stays.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
all=$(hosts 1 "$AQ_BED_HOSTS")
count=$AQ_BED_HOSTS

for each in 1 2; do
    expect 0 "$run" -n $((count * each)) -H "$all" "$hello"
    silent
    [ "$(grep -c 'Hello from rank' "$work/out")" -eq $((count * each)) ] || fail "not all ranks have said hello"
    none_left
done
expect 0 "$run" -n "$count" -H "$all" hostname
sort -V "$work/out" | cmp -s - <(seq -f 'n%g' "$count") || fail "not one rank on each host"
silent
expect 42 "$run" -n $((2 * count)) -H "$all" "$conform" code 42
silent
expect 9 "$run" -n "$count" -H "$all" "$conform" one $((count - 1)) 9
silent
expect 139 "$run" -n "$count" -H "$all" "$conform" signal 1 11
says "rank 1 of $count"
grep -q 'on host n2: .*SIGSEGV' "$work/err" || fail "host and signal are not named"
none_left
