#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-trace-refused: what a trace cannot do costs a sentence, and the job goes on.
set -u
variable=GASNET_TRACE
. "$AQ_SRC/tests/run-functions.sh"
. "$(dirname "$0")/refused-functions.sh"

refuses_paths :am

expect 0 env GASNET_TRACE="$work/$(printf '%04096d' 0):am" "$run" -n 2 "$work_program"
says "rank 0 of 2 on host"
says "GASNET_TRACE: the name of its file has $((${#work} + 4097)) bytes, and at most 4095 are allowed; name a file"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "more than a sentence about a long name"

expect 0 env GASNET_TRACE="$work/trace:am,foo" "$run" -n 2 "$work_program"
says "GASNET_TRACE=$work/trace:am,foo: 'foo' is no category of events: give some of am, rma, coll, wait, net, firehose, user, all,"
grep -q '"cat":"rma"' "$work/trace" || fail "a wrong category leaves others out"

# On a small disk, what there was room for is there.
refuses_full events trace
on_small_disk()
{
    # shellcheck disable=SC2016
    expect 0 unshare --mount sh -c 'mount -t tmpfs -o size=32k disk "$1" && GASNET_TRACE=$1/trace timeout 60 "$2" -n 3 "$3" 2 && cat "$1/trace"' \
        sh "$work/fold:er" "$run" "$work_program"
    grep -q 'cannot write the events of this rank: No space left on device' "$work/err" || fail "no word about the small disk"
    grep -q '"name":"aqueduct"' "$work/out" || fail "nothing on the small disk"
}
if unshare --mount true 2>/dev/null; then
    on_small_disk
else
    left_out 'a small disk' 'the kernel refuses namespaces'
fi

# Categories by word and by letter; the file of an earlier job is emptied.
echo rubbish >"$work/trace"
for what in coll,user cu; do
    expect 0 env GASNET_TRACE="$work/trace:$what" "$run" -n 2 "$work_program" 1 notes
    silent
    ! grep -q rubbish "$work/trace" || fail "the old trace is still there"
    [ "$(sed -n 's/.*"cat":"\([a-z]*\)".*/\1/p' "$work/trace" | sort -u | tr '\n' ' ')" = 'coll user ' ] || fail "other events with $what"
done
