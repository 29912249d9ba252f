#!/bin/bash
# observe-trace-refused: what a trace cannot do costs a sentence, and the job goes on.
set -u
. "$(dirname "$0")/../launch/launch-functions.sh"
work_program=$AQ_BUILD/traffic_work

# refuses VALUE FILE TEXT
refuses()
{
    expect 0 env GASNET_TRACE="$1" timeout 60 "$run" -n 2 "$work_program"
    says "rank 0 of 2 on host"
    says "GASNET_TRACE=$2: cannot write this file: $3; name a file in a folder that exists"
}

refuses "$work/missing/trace:am" "$work/missing/trace" 'No such file or directory'
mkdir "$work/fold:er"
refuses "$work/fold:er/" "$work/fold:er/" 'Is a directory'
mkfifo "$work/pipe"
refuses "$work/pipe" "$work/pipe" 'No such device or address'

expect 0 env GASNET_TRACE="$work/trace:am,foo" "$run" -n 2 "$work_program"
says "GASNET_TRACE=$work/trace:am,foo: 'foo' is no category of events: give some of am, rma, coll, wait, net, firehose, user, all,"
grep -q '"cat":"rma"' "$work/trace" || fail "a wrong category leaves others out"

# A full disk: each rank says that its events are missing. On a small one, what there was room for
# is there.
expect 0 env GASNET_TRACE=/dev/full timeout 60 "$run" -n 2 "$work_program"
for sentence in 'rank 0 of 2 on host .* cannot write this file: No space left on device' \
    'rank 1 of 2 on host .* cannot write the events of this rank: No space left on device; the trace lacks them'; do
    grep -q "$sentence" "$work/err" || fail "no '$sentence'"
done
[ "$(wc -l <"$work/err")" -eq 2 ] || fail "not a sentence of each rank"
# shellcheck disable=SC2016
expect 0 unshare --mount sh -c 'mount -t tmpfs -o size=32k disk "$1" && GASNET_TRACE=$1/trace timeout 60 "$2" -n 3 "$3" 2 && cat "$1/trace"' \
    sh "$work/fold:er" "$run" "$work_program"
grep -q 'cannot write the events of this rank: No space left on device' "$work/err" || fail "no word about the small disk"
grep -q '"name":"aqueduct"' "$work/out" || fail "nothing on the small disk"

# Categories by word and by letter; the file of an earlier job is emptied.
echo rubbish >"$work/trace"
for what in coll,user cu; do
    expect 0 env GASNET_TRACE="$work/trace:$what" "$run" -n 2 "$work_program" 1 notes
    silent
    ! grep -q rubbish "$work/trace" || fail "the old trace is still there"
    [ "$(sed -n 's/.*"cat":"\([a-z]*\)".*/\1/p' "$work/trace" | sort -u | tr '\n' ' ')" = 'coll user ' ] || fail "other events with $what"
done
