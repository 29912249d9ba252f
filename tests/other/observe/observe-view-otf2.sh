#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-view-otf2: the archives of gasnet_view trace --otf2 have what the trace has, and another
# program (otf2-print) reads them; a directory that cannot be taken gets one sentence.
#   observe-view-otf2.sh RANKS   ranks of a job whose trace is converted, too
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
[ -x "$AQ_BUILD/gasnet_view" ] || skip "gasnet_view is not in this build (package libjansson-dev)"
trace=$AQ_SRC/tests/other/observe/view-trace.json
archive=$work/archive

# converts TRACE: its archive is in records, one a line, in the order of time.
converts()
{
    rm -rf "$archive"
    expect 0 gasnet_view trace --otf2 "$archive" "$1"
    silent
    cp "$work/out" "$work/summary"
    otf2-print "$archive/traces.otf2" >"$work/records" 2>"$work/err" || fail "otf2-print: $(cat "$work/err")"
    awk '/^[A-Z_]+ +[0-9]+ +[0-9]+ / {
             if ($3 < last[$2]) { print "back in time: " $0; bad = 1 }
             last[$2] = $3
             n[$1]++
             deep[$2] += ($1 == "ENTER") - ($1 == "LEAVE")
             if (deep[$2] < 0) { print "left more than entered: " $0; bad = 1 }
             tag = $0; sub(/.*Tag: /, "", tag)
             if ($1 == "MPI_SEND") sent[tag]++
             if ($1 == "MPI_RECV") received[tag]++
         }
         END {
             for (l in deep) if (deep[l]) { print "location " l " ends inside of a call"; bad = 1 }
             for (t in sent) if (sent[t] != 1 || received[t] != 1) { print "no pair: " t; bad = 1 }
             for (t in received) if (sent[t] != 1) { print "no pair: " t; bad = 1 }
             for (k in n) print k, n[k] >"'"$work/counts"'"
             exit bad
         }' "$work/records" >"$work/err" || fail "the archive is wrong: $(head -3 "$work/err")"
}

# has NUMBER KIND ...
has()
{
    while [ $# -gt 0 ]; do
        [ "$(awk -v kind="$2" '$1 == kind { n = $2 } END { print n + 0 }' "$work/counts")" = "$1" ] ||
            fail "there are not $1 $2: $(grep "^$2 " "$work/counts")"
        shift 2
    done
}

record()
{
    grep -qE -- "$1" "$work/records" || fail "no record '$1'"
}

otf2_known()
{
    converts "$trace"
    has 3 MPI_SEND 3 MPI_RECV 2 RMA_PUT 1 RMA_OP_COMPLETE_BLOCKING 1 RMA_OP_COMPLETE_NON_BLOCKING \
        6 NON_BLOCKING_COLLECTIVE_REQUEST 6 NON_BLOCKING_COLLECTIVE_COMPLETE 1 PARAMETER_STRING 21 ENTER 21 LEAVE
    record '^MPI_SEND +2 +1500000 +Receiver: 0 .*Length: 64'
    record '^MPI_RECV +0 +1499000 +Sender: 2 .*Length: 64'
    record '^RMA_PUT +0 +1100000 .*Remote: 2 .*Bytes: 4096'
    record '^ENTER +1 +1030000 +Region: "handler 200"'
    record 'PARAMETER_STRING .*"step 3 </script>"'
    otf2-print -G "$archive/traces.otf2" >"$work/records" || fail "otf2-print does not read the definitions"
    record '^LOCATION_GROUP +2 +Name: "rank 2" .*Parent: "host::h1"'
    record 'LOCATION_GROUP_PROPERTY .*"rank 2" .*"events dropped" .*Value: 7'
    record '^COMM +0 +Name: "all ranks"'
}

# A team of two ranks, a kind that OTF2 does not have, a receive, and a rank without a file.
otf2_teams()
{
    sed -e '/"pid":0/d' -e '/"sequence":2/s/"team":0/"team":5,"root":2/' -e '/"sequence":1/s/barrier/split/' -e 's/handler 201/receive/' \
        "$trace" >"$work/teams"
    rm -rf "$archive"
    expect 0 gasnet_view trace --otf2 "$archive" "$work/teams"
    says 'archive: 2 collectives are left out, since OTF2 has no such kinds'
    otf2-print -G "$archive/traces.otf2" >"$work/records"
    record '^GROUP .*"team 5" .*2 Members: 0 .*, 1 '
    record '^LOCATION_GROUP +0 +Name: "rank 1"'
    record '^REGION .*Name: "receive" .*POINT2POINT, Paradigm: "GASNet"'
    otf2-print "$archive/traces.otf2" >"$work/records"
    # Rank 2 of the job has number 1 in the team.
    record '^NON_BLOCKING_COLLECTIVE_COMPLETE .*BARRIER, Communicator: "team 5" <1>, Root: ("rank 2" <)?1\b'
}

# A rank without events has a thread, as readers need one.
otf2_idle()
{
    sed '/"pid":2,"tid":1/d' "$trace" >"$work/idle"
    rm -rf "$archive"
    expect 0 gasnet_view trace --otf2 "$archive" "$work/idle"
    otf2-print -G "$archive/traces.otf2" >"$work/records"
    record '^LOCATION +2 +Name: "thread 1" .*Events: 0, Group: "rank 2"'
}

otf2_wrong()
{
    expect 1 gasnet_view trace --otf2 "$archive" "$trace"
    says "$archive: the directory is not empty; remove it, or name one that does not exist yet"
    expect 1 gasnet_view trace --otf2 "$trace" "$trace"
    says "$trace: cannot be written: Not a directory"
    expect 1 gasnet_view trace --otf2 "$work/none/archive" "$trace"
    says "$work/none/archive: cannot be made: No such file or directory; name a directory in a folder"
}

# All messages and puts of a job are there. That the summary has all is for observe-view-job.
otf2_job()
{
    local messages puts
    expect 0 env GASNET_TRACE="$work/trace" gasnetrun_smp -n "$1" traffic_work 2
    converts "$work/trace"
    messages=$(sed -n 's/^\([1-9][0-9]*\) messages, of which \1 are in the trace from the send .*/\1/p' "$work/summary")
    [ -n "$messages" ] || fail "the trace lacks ends of messages"
    puts=$(grep -c '"name":"[^"]*put","cat":"rma","ph":"[Xb]".*"to":' "$work/trace")
    [ "$puts" -ge $(($1 * $1 * 2 * 3)) ] || fail "the trace lacks puts"
    has "$messages" MPI_SEND "$messages" MPI_RECV "$puts" RMA_PUT
}

otf2_full()
{
    ulimit -f 2
    trap '' XFSZ
    expect 1 gasnet_view trace -o /dev/null --otf2 "$work/full" "$work/trace"
    says "$work/full: cannot be written: File is too large; make room there, remove what is in it, and try again"
}

gasnet_view trace -o /dev/null --otf2 "$archive" "$trace" 2>"$work/err" || {
    says "$archive: not written, since libotf2 was not there when this gasnet_view was built"
    skip "gasnet_view writes no OTF2 (package libopen-trace-format2-dev)"
}
command -v otf2-print >/dev/null || skip "the program otf2-print is missing (package otf2-tools)"
otf2_known
otf2_teams
otf2_idle
otf2_wrong
otf2_job "$1"
( otf2_full ) || exit
exit 0
