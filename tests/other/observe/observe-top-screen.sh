#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-top-screen: the screen of gasnet_top in a terminal, driven by its keys.
#   observe-top-screen.sh RANKS
set -u
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"
. "$AQ_SRC/tests/other/observe/watch-functions.sh"
command -v tmux >/dev/null || {
    echo "tmux is not installed (package tmux)"
    exit 77
}
ranks=$1
export TMUX_TMPDIR=$work
unset TMUX

end_terminal()
{
    tmux -L top kill-server 2>/dev/null
    clean_up
}
trap end_terminal EXIT

# shows TEXT: waits until the screen has it.
shows()
{
    local turn=0
    until tmux -L top capture-pane -p >"$work/screen" && grep -q -- "$1" "$work/screen"; do
        turn=$((turn + 1))
        [ "$turn" -lt 200 ] || fail "the screen has no '$1': $(cat "$work/screen")"
        sleep 0.05
    done
}

keys()
{
    tmux -L top send-keys "$@"
}

start_job "$ranks" missing
tmux -L top -f /dev/null new-session -d -x 130 -y 30 "$top -d 0.3 $job; sleep 600"
shows "^watched_work: $ranks ranks, $ranks shown"
shows 'sorted by rank'
shows "^ *0 .* barrier 2 of the team of all ranks"
keys w
shows 'sorted by wait'
keys Down Down Up
keys r
shows 'sorted by rank'
keys Enter
shows "^rank 1 of $ranks on "
shows '^polls: [0-9kMG]* found something, [0-9kMG]* nothing'
shows '^waits that are over: event  room condition collective receive  send  rank$'
shows '^ *seconds *[0-9.]* *[0-9.]* *[0-9.]* *[0-9.]* *[0-9.]* *[0-9.]* *[0-9.]*$'
shows 'the team of all ranks: rank 1 of'
keys s
shows 'stack of thread'
shows 'watched_work+0x'
keys Escape
shows 'sorted by rank'
sleep 1.1 # a diagnosis leaves out shorter waits
keys d
shows "for rank $((ranks - 1)), which is not in the library"
keys h
shows 'sort by rank, wait'
shows '^s and d send the report signal'
keys Escape
shows 'sorted by rank'
for ((i = 1; i < ranks; i++)); do
    keys Down
done
shows "^ *$((ranks - 1)) "
kill -KILL "$job" # the screen notices that the job is over, and ends
shows '^the job has ended'
tmux -L top kill-server

# On 80 columns each rank has a line, and the next one follows. What is dropped has a column if there
# is any.
narrow_job()
{
    start_job "$ranks" count "$@"
    await counted "$work/count.out"
    tmux -L top -f /dev/null new-session -d -x 80 -y 24 "$top -d 0.3 $job; sleep 600"
    shows ' byte/s rma/s poll% '
    keys h
    shows '^s and d send the report signal'
    keys Escape
    shows ' byte/s rma/s poll% '
    lines=$((ranks < 20 ? ranks : 20))
    sed -n "5,$((4 + lines))p" "$work/screen" | awk '{ print $1 }' >"$work/shown"
    seq 0 $((lines - 1)) | diff - "$work/shown" || fail "not a line for each rank: $(cat "$work/screen")"
}
narrow_job
! grep -q drops "$work/screen" || fail "a column of drops without drops"
tmux -L top kill-server
release_job
[ "$ranks" -gt 8 ] || [ ! -x "$AQ_BUILD/gasnetrun_udp" ] || {
    GASNET_UDP_FAULT_DROP=40 GASNET_SUPERNODE_MAXSIZE=1 narrow_job "$AQ_BUILD/gasnetrun_udp"
    shows ' poll% drops '
    shows '; dropped: [0-9kM]*, most at rank [0-9]*$'
    most=$(sed -n 's/.*; dropped: .*, most at rank \([0-9]*\)$/\1/p' "$work/screen")
    for ((i = 0; i < most; i++)); do
        keys Down
    done
    keys Enter
    shows "^rank $most of $ranks on "
    shows '^dropped: .*[0-9kM]* injected'
    tmux -L top kill-server
    release_job
}
