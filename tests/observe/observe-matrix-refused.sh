#!/bin/bash
# observe-matrix-refused: a file that cannot be written costs a sentence, and the job goes on.
set -u
. "$(dirname "$0")/../launch/launch-functions.sh"
work_program=$AQ_BUILD/traffic_work

# refuses FILE TEXT
refuses()
{
    expect 0 env GASNET_TRAFFIC="$1" timeout 60 "$run" -n 3 "$work_program"
    says "rank 0 of 3 on host"
    says "GASNET_TRAFFIC=$1: cannot write this file: $2; name a file in a folder that exists"
}

refuses "$work/missing/matrix" 'No such file or directory'
mkdir "$work/folder"
refuses "$work/folder" 'Is a directory'
mkfifo "$work/pipe"
refuses "$work/pipe" 'No such device or address'

# A full disk: each rank says that its lines are missing.
expect 0 env GASNET_TRAFFIC=/dev/full timeout 60 "$run" -n 3 "$work_program"
for sentence in 'rank 0 of 3 on host .* cannot write this file: No space left on device' \
    'rank [12] of 3 on host .* cannot write the lines of this rank: No space left on device; the matrix lacks them'; do
    grep -q "$sentence" "$work/err" || fail "no '$sentence'"
done
[ "$(wc -l <"$work/err")" -eq 3 ] || fail "not a sentence of each rank"

# The file of an earlier job is emptied, and a rank that returns from main adds its lines, too.
echo rubbish >"$work/matrix"
expect 0 env GASNET_TRAFFIC="$work/matrix" "$run" -n 3 "$AQ_BUILD/hello"
silent
grep -q rubbish "$work/matrix" && fail "the old matrix is still there"
[ "$(wc -l <"$work/matrix")" -eq 7 ] || fail "$(wc -l <"$work/matrix") lines in place of 7"
[ "$(head -1 "$work/matrix" | tr -dc , | wc -c)" = "$(sed -n 2p "$work/matrix" | tr -dc , | wc -c)" ] ||
    fail "the title does not fit the lines"
