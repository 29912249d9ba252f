#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# gasnet_top shows the ranks of a job on several hosts, through its launcher, also one that hangs, and
# gives their stacks, on each of them; a launcher goes on when its reader is killed. Where gasnet_top
# does not see all ranks, it says what does. The same for a job whose processes find each other (spawner rendezvous). From outside of the hosts' process tables, as from
# outside of containers, it finds the ranks, too.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
top=$AQ_BUILD/gasnet_top
[ -x "$top" ] || {
    echo "gasnet_top was not built (packages libjansson-dev and libncurses-dev)"
    exit 77
}
all=$(hosts 1 "$AQ_BED_HOSTS")
ranks=$((2 * AQ_BED_HOSTS))
last=$((ranks - 1))

# The helper of n1 starts that of n2.
GASNET_SSH_OUT_DEGREE=1 on_host n1 "$run" -n "$ranks" -H "$all" "$AQ_BUILD/watched_work" missing >"$work/job" 2>&1 &
for ((turn = 0; turn < 200; turn++)); do
    grep -q ready "$work/job" && break
    sleep 0.1
done
grep -q ready "$work/job" || fail "the job does not start: $(cat "$work/job")"
launcher=$(on_host n1 pgrep -x gasnetrun_udp | head -1)
sleep 1.2

expect 0 on_host n1 "$top" --once "$launcher"
grep -q "^watched_work: $ranks ranks, $ranks shown; smp, udp " "$work/out" || fail "no title"
for ((host = 1; host <= AQ_BED_HOSTS; host++)); do
    [ "$(grep -c "^ *[0-9]* n$host " "$work/out")" -eq 2 ] || fail "not 2 ranks on n$host"
done
[ "$(grep -c ' barrier 2 of the team of all ranks$' "$work/out")" -eq "$last" ] ||
    fail "not all ranks but one wait"
expect 0 on_host n1 "$top" --once --json "$launcher"
[ "$(grep -c '^      "damaged": false' "$work/out")" -eq "$ranks" ] || fail "not all ranks in JSON"
grep -q '^  "elsewhere": null' "$work/out" || fail "ranks are elsewhere"
sees_all()
{
    expect 0 on_host n1 "$top" --once
    grep -q "^watched_work: $ranks ranks, $ranks shown" "$work/out" || fail "not all ranks without a number"
    [ "$(grep -c ' barrier 2 of the team of all ranks$' "$work/out")" -eq "$last" ] ||
        fail "not all ranks but one wait"
    expect 0 on_host n2 "$top" --once watched_work
    grep -q "^watched_work: $ranks ranks, $ranks shown" "$work/out" || fail "not all ranks from n2"
    ! grep -q 'on other hosts' "$work/out" || fail "ranks are elsewhere, for n2"
    [ "$(grep -c ' barrier 2 of the team of all ranks$' "$work/out")" -eq "$last" ] ||
        fail "not all ranks but one wait, for n2"
    expect 0 on_host n2 "$top" --stack 0 watched_work
    grep -q '^rank 0 on n1, ' "$work/out" || fail "no stack of a rank of n1 on n2"
}
sees_all
expect 1 on_host n1 "$top" --diagnose "$launcher"
grep -q "^ranks 0-$((last - 1)) wait for [0-9]* s in barrier 2 of the team of all ranks for rank $last, which is not in the library" \
    "$work/out" || fail "no diagnosis"
grep -q "rank $last, .*, in its client's code at watched_work+0x" "$work/out" ||
    fail "no stack of rank $last, which is on another host"
expect 0 on_host n1 "$top" --stack "$last" "$launcher"
grep -q "^rank $last on n$AQ_BED_HOSTS, process [0-9]*, thread [0-9]*$" "$work/out" || fail "not the stack of rank $last"
grep -q '^    watched_work+0x' "$work/out" || fail "no frame of the program"
expect 1 on_host n1 "$top" --stack "$ranks" "$launcher"
grep -q "^gasnet_top: --stack $ranks: this rank is not shown" "$work/err" || fail "another sentence: $(cat "$work/err")"

# A rank that is stopped does not answer, nor does a host whose helper is.
stopped=$(on_host n1 "$top" --once "$launcher" | awk -v rank="$last" '$1 == rank { print $3 }')
on_host "n$AQ_BED_HOSTS" kill -STOP "$stopped"
expect 1 on_host n1 "$top" --stack "$last" "$launcher"
grep -q "^gasnet_top: rank $last: it gives no stack within half a second: " "$work/err" || fail "another sentence: $(cat "$work/err")"
on_host "n$AQ_BED_HOSTS" kill -CONT "$stopped"
helper=$(find_on "n$AQ_BED_HOSTS" gasnet-helper)
kill -STOP $helper
expect 1 on_host n1 "$top" --stack "$last" "$launcher"
grep -q "^gasnet_top: --stack $last: this rank is not shown" "$work/err" || fail "another sentence: $(cat "$work/err")"

# Nor does such a helper pass on what a reader on its host asks, who is told where all is shown.
there=n$AQ_BED_HOSTS
expect 0 on_host "$there" "$top" --once watched_work
grep -q "^watched_work: $ranks ranks, 2 shown" "$work/out" || fail "not the ranks of $there"
grep -q "^$((ranks - 2)) of $ranks ranks are on other hosts; all are shown on the host of the launcher, by ssh -t n1 gasnet_top $launcher$" \
    "$work/out" || fail "no word of the other ranks"
expect 1 on_host "$there" "$top" --diagnose --no-stack watched_work
grep -q "ssh -t n1 gasnet_top $launcher$" "$work/out" || fail "no word of the other ranks in the diagnosis"
kill -CONT $helper
expect 0 on_host n1 "$top" --stack "$last" "$launcher"

# From outside.
expect 0 "$top" --once watched_work
[ "$(grep -c ' sleeps \| runs ' "$work/out")" -eq "$ranks" ] || fail "not all ranks from outside"

# Readers that come and are killed, at the launcher and at a helper.
for ((i = 0; i < 10; i++)); do
    from=n$((1 + i % 2))
    on_host "$from" "$top" --prometheus "$work/metrics" -d 0.1 watched_work &
    reader=$!
    sleep 0.15
    kill -KILL $(find_on "$from" gasnet_top)
    wait "$reader" 2>/dev/null
done
expect 0 on_host n1 "$top" --once "$launcher"
[ "$(grep -c ' n[0-9]* ' "$work/out")" -eq "$ranks" ] || fail "not all ranks afterwards"
on_host n1 kill -TERM "$launcher"
wait
none_left

# A launcher whose ranks are all elsewhere.
: >"$work/job"
on_host n1 "$run" -n 2 -H n2 "$AQ_BUILD/watched_work" missing >"$work/job" 2>&1 &
for ((turn = 0; turn < 200; turn++)); do
    grep -q ready "$work/job" && break
    sleep 0.1
done
for name in '' watched_work; do
    expect 0 on_host n1 "$top" --once $name
    grep -q "^watched_work: 2 ranks, 2 shown" "$work/out" || fail "the only launcher is not found"
done
expect 1 on_host n1 "$top" --once other
on_host n1 pkill -TERM -x gasnetrun_udp
wait
none_left

# Two processes on each host find each other, the ones with the higher number first. Those that share
# a host share a connection to rank 0, whose process is the launcher.
. "$AQ_SRC/tests/spawner/rendezvous/rendezvous-functions.sh"
use udp
GASNET_MASTER=10.77.0.1:${GASNET_MASTER##*:}
for ((rank = last; rank >= 0; rank--)); do
    call $rank $rank "$ranks" on_host "n$((rank % AQ_BED_HOSTS + 1))" "$AQ_BUILD/watched_work" missing
done
for ((turn = 0; turn < 200; turn++)); do
    grep -qs ready "$work/0.out" && break
    sleep 0.1
done
sleep 1.2
launcher=$(on_host n1 pgrep -x gasnet-master)
sees_all
expect 1 on_host n1 "$top" --diagnose
grep -q "for rank $last, which is not in the library.*, in its client's code at watched_work+0x" "$work/out" ||
    fail "no stack of rank $last of a rendezvous"
on_host n1 kill -TERM "$launcher"
wait
none_left
