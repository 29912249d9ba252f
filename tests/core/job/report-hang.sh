#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report-hang: a job whose rank 0 reads and whose rank 1 waits for it reports what both do, and goes
# on.
#   report-hang.sh CONDUIT    udp, ibv or ofi, whose counters must be printed too
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
case $1 in
udp) counters='^udp: rank 1 in all: ' ;;
ofi) counters=' rank 1 of 2 .*: ofi: provider .* on .*; [0-9]+ messages and [0-9]+ puts sent; ' ;;
ibv)
    counters=' rank 1 of 2 .*: ibv: rank 0: connected; 0 of [1-9][0-9]* entries of the send queue used; '
    counters+='credits for [1-9][0-9]* more requests, 0 to give back; no ring there; no ring here$'
    ;;
esac

# SIGUSR2 to the launcher: each rank reports what it waits for, and goes on.
mkfifo "$work/hang"
GASNET_SUPERNODE_MAXSIZE=1 "$AQ_BUILD/gasnetrun_$1" -n 2 "$conform" echo <"$work/hang" >"$work/out" 2>"$work/err" &
sup=$!
exec 9>"$work/hang"
# Whether both ranks catch the signal yet.
both_catch()
{
    local pid count=0
    for pid in $(cat "/proc/$sup/task/$sup/children"); do
        (($((16#$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$pid/status"))) & 1 << 11)) && count=$((count + 1))
    done
    [ $count = 2 ]
}
for _ in $(seq 300); do
    sleep 0.1
    both_catch 2>/dev/null || continue
    kill -USR2 "$sup"
    grep -q 'rank 1 of 2 .*report: barrier 1 waits for rank 0$' "$work/err" && break
done
for _ in $(seq 100); do
    ! grep -qE "$counters" "$work/err" || break
    sleep 0.1
done
echo goes on >&9
exec 9>&-
ended 0
[ "$(cat "$work/out")" = 'goes on' ] || fail "the job did not go on after reports"
grep -q 'rank 0 of 2 .*report: waits for nothing in the library' "$work/err" || fail "rank 0 waits for input, and no message says so"
grep -q 'rank 1 of 2 .*report: waits for an event (pending: barrier or other: 1)$' "$work/err" || fail "no event is named"
grep -q 'rank 1 of 2 .*report: barrier 1 waits for rank 0$' "$work/err" || fail "no message names the missing rank"
grep -qE "$counters" "$work/err" || fail "no counters like '$counters'"
