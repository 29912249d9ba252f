#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-top-smp-often: readers start, end and are killed while a job runs, which does not notice.
#   observe-top-often.sh READERS; in the check 50; people give 1000
set -u
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"
. "$AQ_SRC/tests/other/observe/watch-functions.sh"
readers=$1

start_job 4 hold
files_of()
{
    find "/proc/$1/fd" -lname '/memfd:aqueduct-rank*' | wc -l
}
[ "$(files_of "$job")" -eq 4 ] || fail "the launcher does not hold the files of 4 ranks"
for ((i = 0; i < readers; i += 10)); do
    running=
    for ((j = 0; j < 10; j++)); do
        "$top" --once --json "$job" >"$work/out.$j" &
        running="$running $!"
    done
    "$top" --prometheus "$work/metrics" -d 0.1 "$job" &
    victim=$!
    for reader in $running; do
        wait "$reader" || fail "a reader fails"
    done
    kill -KILL "$victim"
    wait "$victim" 2>/dev/null
    for ((j = 0; j < 10; j++)); do
        [ "$(grep -c '^      "rank":' "$work/out.$j")" -eq 4 ] || fail "a reader does not show 4 ranks"
    done
done
[ "$(files_of "$job")" -eq 4 ] || fail "the number of files has changed"
[ ! -s "$work/hold.err" ] || fail "the job complains: $(cat "$work/hold.err")"
release_job
