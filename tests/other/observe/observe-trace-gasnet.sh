#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-trace-gasnet: each variable of GASNet about traces and statistics does what it says, or
# says why not.
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
unset GASNET_TRACE GASNET_TRACEFILE GASNET_STATSFILE

# work VARIABLE=VALUE ...: a job of three ranks with notes.
work()
{
    rm -f "$work"/t* "$work"/s*
    expect 0 env "$@" timeout 60 "$run" -n 3 "$AQ_BUILD/traffic_work" 1 notes
}

categories()
{
    sed -n 's/.*"cat":"\([a-z]*\)".*/\1/p' "$1" | sort -u | tr '\n' ' '
}

names()
{
    sed -n 's/^{"name":"\([^"]*\)","cat":"[a-z]*","ph":"[Xbi]".*/\1/p' "$1" | sort -u | tr '\n' ' '
}

# A file for each rank, and one for some of them.
work GASNET_TRACEFILE="$work/t%"
silent
for rank in 0 1 2; do
    head -1 "$work/t$rank" | grep -qx '\[' || fail "no begin of the trace of rank $rank"
    [ "$(grep -c '"name":"aqueduct"' "$work/t$rank")" = 1 ] || fail "not only rank $rank in its file"
    grep -q '"name":"rank '$rank' \\"works\\"","cat":"user".*"args":{"file":"traffic_work.c","line":[1-9]' "$work/t$rank" || fail "no note of rank $rank"
    [ "$(grep -c '"cat":"user"' "$work/t$rank")" = 2 ] || fail "not the notes of rank $rank"
done
work GASNET_TRACEFILE="$work/t" GASNET_TRACENODES=1-2
silent
[ "$(sed -n 's/.*"name":"aqueduct".*"pid":\([0-9]\).*/\1/p' "$work/t" | sort | tr -d '\n')" = 12 ] || fail "other nodes than 1-2"
work GASNET_TRACEFILE=- GASNET_TRACEMASK=U
[ "$(grep -c '"cat":"user"' "$work/err")" = 3 ] || fail "no forced notes on standard error"
work GASNET_TRACEFILE=stdout GASNET_TRACEMASK=B
silent
[ "$(categories "$work/out")" = 'coll user ' ] || fail "the mask B: $(categories "$work/out")"

# Masks.
work GASNET_TRACEFILE="$work/t" GASNET_TRACEMASK=GR
silent
[ "$(names "$work/t")" = 'VIS get atomic forced get ' ] || fail "the mask GR: $(names "$work/t")"
work GASNET_TRACEFILE="$work/t" GASNET_TRACEMASK=^AGRSICDN
silent
[ "$(names "$work/t" | sed 's/rank [0-9] [^ ]* //g')" = 'VIS put allreduce barrier broadcast forced put ' ] || fail "the mask ^AGRSIC: $(names "$work/t")"
work GASNET_TRACEFILE="$work/t" GASNET_TRACEMASK=PLX
says 'GASNET_TRACEMASK=PLX: this library has no events for the letters LX'
work GASNET_TRACEFILE="$work/t" GASNET_TRACEMASK=Pq
says "GASNET_TRACEMASK=Pq: 'q' is no letter of a mask, those are GPRSWBLAXIOCDNHU"
work GASNET_TRACEFILE="$work/t" GASNET_TRACELOCAL=0
silent
! grep '"cat":"rma"' "$work/t" | grep -q '"pid":1,.*"to":1' || fail "local operations"
grep '"cat":"rma"' "$work/t" | grep -q '"pid":1,.*"to":2' || fail "no operation but local ones"

# What has no effect.
work GASNET_TRACEMASK=A
says 'GASNET_TRACEMASK has no effect without GASNET_TRACEFILE'
work GASNET_TRACENODES=0
says 'GASNET_TRACENODES has no effect without GASNET_TRACEFILE'
work GASNET_TRACE="$work/t" GASNET_TRACEFILE="$work/t2"
says 'GASNET_TRACEFILE has no effect beside GASNET_TRACE'
work GASNET_TRACEFLUSH=1
says 'GASNET_TRACEFLUSH has no effect: a trace is written when the job ends'
work GASNET_STATSNODES=1
says 'GASNET_STATSNODES has no effect without GASNET_STATSFILE'

# Statistics: what the program counts before it resets them, and its notes.
work GASNET_STATSFILE="$work/s" GASNET_STATSNODES=1
silent
sed -n '/^1,/p' "$work/out" | awk -F, '{ s += $3; m += $4; l += $5; b += $6; p += $11; g += $13; a += $15 }
    END { print "request_shorts " s; print "request_mediums " m; print "request_longs " l; print "request_bytes " b }' >"$work/sent"
grep -qx '# counters of a job, a line for each: rank, name, value' "$work/s" || fail "no title"
grep -q '^1 note traffic_work.c:[0-9]*: forced$' "$work/s" && grep -q '^1 note traffic_work.c:[0-9]*: counted 7$' "$work/s" || fail "no notes"
! grep -q 'not this' "$work/s" || fail "a note that the mask hides"
! grep -q '^[02] ' "$work/s" || fail "other nodes than 1"
sed -n 's/^1 \(request_[a-z]* .*\)/\1/p' "$work/s" | head -4 | diff "$work/sent" - || fail "other counts"
sed -n 's/^1 \(request_[a-z]* .*\)/\1/p' "$work/s" | tail -n +5 | grep -qv ' 0$' && fail "counts after the reset"
expect 0 env GASNET_STATSFILE="$work/s%" GASNET_STATSMASK=PGR "$run" -n 2 "$AQ_BUILD/traffic_work"
silent
[ "$(cut -d' ' -f2 "$work/s1" | tail -n +2 | tr '\n' ' ')" = 'puts put_bytes gets get_bytes atomics vis_puts vis_put_bytes vis_gets vis_get_bytes ' ] || fail "the mask PGR"
grep -qx '1 puts 19' "$work/s1" && grep -qx '1 atomics 8' "$work/s1" || fail "puts on mapped memory are not counted"
work GASNET_STATSFILE="$work/none/s"
says "GASNET_STATSFILE=$work/none/s: cannot write this file: No such file or directory"
work GASNET_STATSFILE="$work/s" GASNET_STATSMASK=AWS
says "GASNET_STATSMASK=AWS: this library has no counters for 'S'"
