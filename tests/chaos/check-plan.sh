#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# chaos-plan: equal seeds give equal schedules, different seeds different ones, and every fault
# occurs.
set -u
run=$AQ_SRC/tests/chaos/run

fail()
{
    echo "$*"
    exit 1
}

"$run" --plan 60 --seed 5 >first && "$run" --plan 60 --seed 5 >second && "$run" --plan 60 --seed 6 >other || exit
[ "$(wc -l <first)" = 60 ] || fail "a plan of 60 rounds has $(wc -l <first) lines."
cmp first second || fail "One seed gives two schedules."
! cmp -s first other || fail "Two seeds give one schedule."
. "$AQ_SRC/tests/chaos/plan.sh"
for fault in $(awk -F'|' 'NF > 1 { print $1 }' <<<"$faults"); do
    grep -q ": $fault " first || fail "In 60 rounds the fault $fault does not come up."
done
