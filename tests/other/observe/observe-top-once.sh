#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-top-*-once: what gasnet_top prints of a job agrees with what a program of known counts did.
#   observe-top-once.sh RANKS [LAUNCHER]
set -u
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"
. "$AQ_SRC/tests/other/observe/watch-functions.sh"
ranks=$1

# Prints "from to shorts mediums bytes" of each pair in the JSON.
pairs_in()
{
    awk '{ value = $2; sub(",", "", value) }
         /^      "rank":/ { from = value }
         /^          "request_shorts":/ { shorts = value }
         /^          "request_mediums":/ { mediums = value }
         /^          "request_bytes":/ { bytes = value }
         /^          "to":/ { print from, value, shorts, mediums, bytes }' "$1"
}

expected()
{
    local from to
    for ((from = 0; from < ranks; from++)); do
        for ((to = 0; to < ranks; to++)); do
            echo "$from $to $((from + 1)) $to $((8 * to))"
        done
    done
}

start_job "$ranks" count "${2:-$run}"
await counted "$work/count.out"

expect 0 "$top" --once --json "$job"
[ ! -s "$work/err" ] || fail "gasnet_top complains"
! command -v python3 >/dev/null || python3 -m json.tool "$work/out" >/dev/null || fail "not JSON"
pairs_in "$work/out" >"$work/pairs"
expected | diff - "$work/pairs" || fail "the counts differ (> is what gasnet_top prints)"

# Ranks but 0 sleep in a barrier: they have polled, in vain at the end.
counts_in()
{
    sed -n "s/^        \"$1\": \([0-9]*\),\{0,1\}\$/\1/p" "$work/out" | tr '\n' ' '
}
all_sleep()
{
    expect 0 "$top" --once --json "$job"
    [ "$(counts_in sleeps | wc -w)" -eq "$ranks" ] || fail "not all ranks have counts of their own"
    [[ " $(counts_in sleeps | cut -d' ' -f2-)" != *' 0 '* ]]
}
turn=0
until all_sleep; do
    turn=$((turn + 1))
    [ "$turn" -lt 100 ] || fail "ranks in a barrier do not sleep: $(counts_in sleeps)"
    sleep 0.1
done
[[ " $(counts_in polls_found)" != *' 0 '* ]] || fail "a rank has found nothing: $(counts_in polls_found)"
[[ " $(counts_in polls_empty | cut -d' ' -f2-)" != *' 0 '* ]] || fail "ranks sleep without polls"
[[ " $(counts_in sleep_ns | cut -d' ' -f2-)" != *' 0 '* ]] || fail "sleeps have no time"

cp "$work/out" "$work/json"

# By a rank, and by the name of the program unless another such job runs.
rank_process=$(sed -n 's/^      "process": \([0-9]*\),$/\1/p' "$work/out" | tail -1)
expect 0 "$top" --once "$rank_process"
[ "$(grep -c ' of the team of all ranks$' "$work/out")" -eq $((ranks - 1)) ] ||
    fail "not all ranks but 0 wait in the barrier"
[ "$(grep -c '^rank [0-9]*: polls: [0-9kMG]* found something, [0-9kMG]* nothing' "$work/out")" -eq "$ranks" ] ||
    fail "not a line of counts for each rank"
grep -q ' gets/s poll% ' "$work/out" || fail "no column for the polls"
grep -q "^watched_work: $ranks ranks, $ranks shown; " "$work/out" || fail "no title"

umask 022
expect 0 "$top" --once --prometheus "$work/metrics" "$job"
[ "$(stat -c %a "$work/metrics")" = 644 ] || fail "the metrics have the mode $(stat -c %a "$work/metrics")"
for ((rank = 0; rank < ranks; rank++)); do
    messages=$((ranks * (rank + 1) + ranks * (ranks - 1) / 2))
    grep -q "^aqueduct_messages_total{job_number=\"[0-9a-f]*\",program=\"watched_work\",host=\"[^\"]*\",rank=\"$rank\"} $messages\$" \
        "$work/metrics" || fail "rank $rank has not sent $messages messages: $(grep messages_total "$work/metrics")"
done
awk -f "$AQ_SRC/tests/other/observe/exposition-check.awk" "$work/metrics" || fail "not the text exposition format"
# What a rank counts of itself has the names of the JSON, as labels or as names of metrics.
sed -n '/^      "counts": {$/,/^      }/s/^        "\([a-z_]*\)": [0-9]*,\{0,1\}$/\1/p' "$work/json" |
    sort | uniq -c >"$work/names"
sed -n 's/^aqueduct_polls_total{.*,result="\([a-z]*\)"} .*/polls_\1/p
    s/^aqueduct_wait_seconds_total{.*,kind="\([a-z]*\)"} .*/wait_\1_ns/p
    s/^aqueduct_dropped_total{.*,reason="\([a-z]*\)"} .*/dropped_\1/p
    s/^aqueduct_sleep_seconds_total{.*/sleep_ns/p
    s/^aqueduct_\(no_room\|refused\|resent\|sleeps\)_total{.*/\1/p' "$work/metrics" |
    sort | uniq -c | diff "$work/names" - || fail "the metrics are not the counts of the JSON"
grep -q '^aqueduct_sleep_seconds_total{.*rank="1"} [1-9.]*[0-9.e-]*$' "$work/metrics" ||
    fail "no time asleep: $(grep sleep_seconds "$work/metrics")"
[ "$(find "$work" -name 'metrics*' | wc -l)" -eq 1 ] || fail "a temporary file is left"
release_job
