#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-view-trace: gasnet_view sums up a trace whose numbers are known (view-trace.json), makes a
# page of it that needs no network and draws in a browser, and a picture; wrong files get one
# sentence.
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
[ -x "$AQ_BUILD/gasnet_view" ] || skip "gasnet_view is not in this build (package libjansson-dev)"
here=$AQ_SRC/tests/other/observe
trace=$here/view-trace.json
page=$work/page.html

view_summary()
{
    expect 0 gasnet_view trace "$trace"
    silent
    diff "$here/view-trace.expected" "$work/out" >"$work/err" ||
        fail "the summary differs (> is what was printed): $(cat "$work/err")"
    # Ranks of hosts that share no file, in any order, and a file whose end is lost
    sed '/"sequence":2/s/"barrier"\(.*\)"sequence":2/"gather"\1"sequence":2,"root":1/' "$trace" >"$work/rooted"
    expect 0 gasnet_view trace "$work/rooted"
    grep -q '^ *gather 2 of team 0, root 1  *2 ' "$work/out" || fail "the root is not told"
    sed -n '1p; /"pid":2/p' "$trace" >"$work/second"
    grep -v '"pid":2' "$trace" >"$work/first"
    expect 0 gasnet_view trace "$work/second" "$work/first"
    diff "$here/view-trace.expected" "$work/out" >"$work/err" || fail "two files give another summary"
    head -c -30 "$trace" >"$work/cut"
    expect 0 gasnet_view trace "$work/cut"
    grep -q 'ends in the middle of a line: what followed is missing' "$work/out" || fail "no word of the cut"
}

# wrong TEXT SCRIPT: after that edit by sed, the trace gets one sentence.
wrong()
{
    sed "$2" "$trace" >"$work/wrong"
    expect 1 gasnet_view trace "$work/wrong"
    says "$work/wrong$1"
    [ ! -s "$work/out" ] || fail "there is output"
}

view_wrong()
{
    wrong ':2: this trace is of another version; take gasnet_view from the' '2s/"version":1/"version":3/'
    wrong ':4: the line is damaged: it is not an event in JSON; remove the line' '4s/{/[/'
    wrong ':4: the line is damaged: its rank (pid) has no line "aqueduct" before' '4s/"pid":1/"pid":7/'
    wrong ':4: the line is damaged: ts or dur is not a time in microseconds' '4s/"ts":[0-9.]*/"ts":1e300/'
    wrong ':2: the line is damaged: the number of ranks does not fit' '2s/"ranks":3/"ranks":0/'
    wrong ':2: this is not a trace of this library: the line "aqueduct" is missing' '/"aqueduct"/d; /process_name/d'
    wrong ':1: this is not a trace, which begins with a line of one bracket' '1s/.*/from,to/'
    wrong ': no rank has written events; ranks do so when the job ends' '2,$d'
    expect 1 gasnet_view trace "$trace" "$trace"
    says 'the rank has been here before; give each file once'
    expect 1 gasnet_view trace "$work/none"
    says "$work/none: cannot be read: No such file or directory; name the file of GASNET_TRACE"
    expect 1 gasnet_view trace -o /dev/full "$trace"
    says '/dev/full: cannot be written: No space left on device'
    expect 0 gasnet_view trace --help
    grep -q '^usage: gasnet_view matrix' "$work/out" || fail 'no help behind the command'
    expect 2 gasnet_view trace --html
    says 'option --html lacks its value'
    expect 2 gasnet_view trace --text "$trace"
    says "option '--text' is unknown"
}

view_page()
{
    expect 0 gasnet_view trace --title 'A <b> & c' --html "$page" "$trace"
    silent
    ! sed 's!http://www.w3.org/2000/svg!!' "$page" | grep -nE '(https?|file|ftp):|//[a-z]+\.|src=|href=|@import|url\(' ||
        fail "the page refers to something outside"
    [ "$(grep -c '</script>' "$page")" -eq 2 ] || fail "a name of an event ends the script"
    grep -qF 'A &#60;b&#62; &#38; c' "$page" || fail "the page has no title"
    grep -qF 'rank 0 to rank 2: 4 KiB (4096 bytes)' "$page" || fail "the page has no matrix"
    GASNET_TRAFFIC=$work/job.csv gasnetrun_smp -n 3 traffic_work >"$work/expected" || fail "no job"
    expect 0 gasnet_view trace --matrix "$work/job.csv" --what atomics --html "$work/other.html" "$trace"
    grep -qF 'rank 2 to rank 0: 4 (4 atomics)' "$work/other.html" || fail "the page has no other matrix"
}

# count N TEXT: the picture has it in N lines.
count()
{
    [ "$(grep -cF -- "$2" "$work/picture.svg")" -eq "$1" ] || fail "the picture has not $1 times '$2'"
}

view_picture()
{
    expect 0 gasnet_view trace --title 'A <b> & c' --svg "$work/picture.svg" "$trace"
    silent
    diff "$here/view-trace.expected" "$work/out" >"$work/err" || fail "with a picture, the summary differs"
    count 1 'A &#60;b&#62; &#38; c</text>'
    count 1 '3 ranks, 3 threads, 33 events in 4.02 ms'
    count 3 'from the send to the handler</title>'
    count 1 'rank 0 to rank 1, 30 us from the send'
    count 2 ' came last, '
    count 1 'barrier 2 of team 0: rank 2 came last, 1.9 ms after the first; others waited 3.3 ms in all'
    count 1 '<title>step 3 &#60;/script&#62;, rank 0</title>'
    count 1 '>4 ms</text>'
    count 1 '<path stroke="#d0342c"' # between the hosts
    expect 1 gasnet_view trace --svg "$work/none/picture.svg" "$trace"
    says "$work/none/picture.svg: cannot be written: No such file or directory; name a file in a folder"
    expect 1 gasnet_view trace --svg /dev/full "$trace"
    says '/dev/full: cannot be written: No space left on device'
}

# The script runs to its end, and says what it has drawn.
view_browser()
{
    command -v chromium >/dev/null || {
        left_out "the page in a browser" "chromium is not installed"
        return
    }
    HOME=$work timeout 50 chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$page" \
        >"$work/out" 2>"$work/err"
    grep -qF '<p id="status">3 rows, 25 events, 3 messages, 4.02 ms</p>' "$work/out" ||
        fail "the script of the page has not drawn"
}

view_summary
view_wrong
view_page
view_picture
view_browser
exit 0
