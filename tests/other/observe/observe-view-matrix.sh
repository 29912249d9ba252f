#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-view-matrix: gasnet_view draws the matrix of a job of 4 ranks, and one of 4,096 ranks that
# this script makes up; wrong words and files get one sentence.
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
[ -x "$AQ_BUILD/gasnet_view" ] || skip "gasnet_view is not in this build (package libjansson-dev)"

# has TEXT [TIMES]: the picture of the last expect has the text, so many times or at all.
has()
{
    local times
    times=$(grep -oF -- "$1" "$work/out" | wc -l)
    [ "$times" -gt 0 ] || fail "the picture has no '$1'"
    [ "$times" -eq "${2-$times}" ] || fail "the picture has '$1' $times times"
}

# The picture of the last expect is XML.
is_xml()
{
    if command -v xmllint >/dev/null; then
        xmllint --noout "$work/out" 2>"$work/err" || fail "the picture is not XML"
    elif command -v python3 >/dev/null; then
        python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$work/out" 2>"$work/err" ||
            fail "the picture is not XML"
    else
        left_out "$0" "nothing that reads XML is installed (package libxml2-utils)"
    fi
}

view_job()
{
    GASNET_TRAFFIC=$work/job.csv gasnetrun_smp -n 4 traffic_work >"$work/expected" || fail "no job"
    expect 0 gasnet_view matrix "$work/job.csv"
    silent
    is_xml
    has '4 ranks on 1 host, in all'
    has '<title>rank 2 to rank 3: '
    expect 0 gasnet_view matrix --what sends "$work/job.csv"
    has '<title>rank 2 to rank 3: 6 (6 sends)</title>'
    expect 0 gasnet_view matrix --text --what collectives "$work/job.csv"
    grep -q '^4 ranks on 1 host: collectives, in all [1-9]' "$work/out" || fail "no collectives"
    expect 0 gasnet_view matrix --text --what puts -o "$work/text" "$work/job.csv"
    silent
    grep -qx '4 ranks on 1 host: puts, in all 124, between hosts 0 (0.0 %)' "$work/text" || fail "no sum"
    grep -qx ' *1 *0 *6 *4.8 %' "$work/text" || fail "no pair 1 to 0"
    # A message that does not arrive
    sed '/^2,3,/s/,[0-9]*\(\(,[0-9]*\)\{7\}\(,[0-9]*\)\{2\},0\)$/,7\1/' "$work/job.csv" >"$work/lost.csv"
    expect 0 gasnet_view matrix -o "$work/out" "$work/lost.csv"
    says "rank 3 sent 13 requests to rank 2, of which 7 arrived; a message was lost"
}

# With the title of an earlier version, which had fewer columns; host 0 has ranks 0 to 255, and so on.
synthetic()
{
    printf '%s,' from to from_host to_host request_shorts request_mediums request_longs request_bytes \
        reply_shorts reply_mediums reply_longs reply_bytes puts put_bytes gets get_bytes atomics \
        arrived_requests arrived_request_bytes arrived_replies arrived_reply_bytes no_room resent
    echo snapshot
    awk 'function line(to, bytes) {
            printf "%d,%d,%d,%d,0,0,0,0,0,0,0,0,1,%d,0,0,0,0,0,0,0,0,0,0\n", i, to, i / 256, to / 256, bytes
        }
        BEGIN { for (i = 0; i < 4096; i++) {
            line((i + 1) % 4096, 1048576)
            for (j = 1; j <= 16; j++) line((i + j * (i % 250 + 2)) % 4096, 2 ^ (i * j % 20))
        } }'
}

view_synthetic()
{
    synthetic >"$work/large.csv"
    expect 0 gasnet_view matrix --title 'A < B' "$work/large.csv"
    silent
    is_xml
    has 'A &#60; B'
    has '4096 ranks on 16 hosts'
    has 'each tile is the sum of 16 x 16 ranks'
    has '>host 15</text>' 2
    has 'class="host"' 15
    [ "$(wc -c <"$work/out")" -lt 2000000 ] || fail "the picture has $(wc -c <"$work/out") bytes"
}

# wrong CODE TEXT WORD ...: one sentence, and no picture
wrong()
{
    expect "$1" gasnet_view "${@:3}"
    says "$2"
    [ ! -s "$work/out" ] || fail "there is output"
}

view_wrong()
{
    wrong 2 "'paint' is no command: the first word is matrix or trace" paint
    wrong 2 "--what 'beer' is unknown" matrix --what beer "$work/job.csv"
    wrong 2 "option --what lacks its value" matrix --what
    wrong 2 "--snapshot -1: give the number of a signal, or 0" matrix --snapshot -1 "$work/job.csv"
    wrong 2 "option '--wrong' is unknown" matrix --wrong "$work/job.csv"
    wrong 2 'the name of a file is missing' matrix
    wrong 1 "$work/none: cannot be read: No such file or directory; name the file" matrix "$work/none"
    wrong 1 "$work: cannot be read: Is a directory; name the file" matrix "$work"
    : >"$work/empty"
    wrong 1 "$work/empty: the file is empty; a job writes the title" matrix "$work/empty"
    wrong 1 'ranks 0 and 0 have this line already' matrix "$work/job.csv" "$work/job.csv"
    wrong 1 "/dev/full: cannot be written: No space left on device; make room" \
        matrix -o /dev/full "$work/job.csv"
    wrong 1 "$work/a/b: cannot be written: No such file or directory; name a file" \
        matrix -o "$work/a/b" "$work/job.csv"
    wrong 1 'no rank has written snapshot 1;' matrix --snapshot 1 "$work/job.csv"
    sed '3s/,/;/' "$work/job.csv" >"$work/damaged"
    wrong 1 "$work/damaged:3: the line is damaged" matrix "$work/damaged"
}

view_job
view_synthetic
view_wrong
exit 0
