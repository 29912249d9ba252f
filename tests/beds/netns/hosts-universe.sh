#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A universe of four hosts: boot, jobs, grow, shrink, recon, wipe, halt, and what bad input gets.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
. "$AQ_SRC/tests/spawner/universe/universe-functions.sh"
all=$(hosts 1 3)

# Before there is one.
for program in "$grow n1" "$shrink n1" "$halt"; do
    expect 1 $program
    says "no daemon of a universe '$GASNET_UNIVERSE' of this user runs on host front; gasnet_boot starts one"
done
expect 2 "$run" -n 2 "$hello"
says "no daemon of a universe"

# A host that fails: there is no universe, and each failure has its reason and remedy.
expect 1 "$boot" -H n1,refuses,nosuch,n2
grep -q 'host refuses: .*Connection refused; no sshd answers there' "$work/err" || fail "no reason for refuses"
grep -q 'host nosuch: .*Could not resolve' "$work/err" || fail "no reason for nosuch"
grep -q '2 of 5 hosts could not be started, so there is no universe' "$work/err" || fail "no sum"
none_left

expect 0 "$boot" -H "$all"
silent
grep -qx "universe '$GASNET_UNIVERSE' has 3 hosts" "$work/out" || fail "no sum"
expect 1 "$boot" -H n4
says "universe '$GASNET_UNIVERSE' runs on this host already"

# The origin is in the table but gets no ranks; numbers follow the list.
table "0 front idle" "1 n1 ready" "2 n2 ready" "3 n3 ready"

# Jobs: without -H on all hosts, with their processors as slots; with -H as by ssh.
expect 0 "$run" -v -n 3 -H n3,n1,n2 "$hello"
grep -qx 'gasnetrun: conduit udp, spawner universe, host front, 3 ranks' "$work/out" || fail "another spawner"
[ "$(grep -c '^Hello from rank' "$work/out")" -eq 3 ] || fail "not all ranks ran"
grep -qx 'gasnetrun: ranks 0-0 on host n3' "$work/out" || fail "the order of -H is lost"
expect 0 "$run" -t -n 2 "$hello"
grep -q 'on host n1' "$work/out" && ! grep -q 'on host front' "$work/out" || fail "not the hosts of the universe"
expect 7 "$run" -n 3 -H "$all" sh -c 'exit 7'
echo text | "$run" -n 3 -H "$all" sh -c 'cat; pwd; echo $WORD; ulimit -n' >"$work/out" 2>"$work/err" || fail "no job with input"
grep -qx text "$work/out" || fail "rank 0 has no input"
[ "$(grep -cx "$PWD" "$work/out")" -eq 3 ] || fail "another folder"
[ "$(grep -cx "$(ulimit -n)" "$work/out")" -eq 3 ] || fail "another limit of files"
WORD=environment expect 0 "$run" -n 3 -H "$all" sh -c 'echo $WORD'
[ "$(grep -cx environment "$work/out")" -eq 3 ] || fail "no environment"
expect 0 env GASNET_SSH_OUT_DEGREE=1 "$run" -n 3 -H "$all" "$hello"

# From any host of the universe, with the ranks on others.
expect 0 on_host n2 env GASNET_UNIVERSE="$GASNET_UNIVERSE" "$run" -n 2 -H n1,n3 "$hello"
silent

# Bad input.
expect 2 "$run" -n 2 -H n1,n4 "$hello"
says 'host n4 is not in the universe; add it with gasnet_grow n4, or start the job with -spawner=ssh'
expect 2 "$grow" n2
says 'host n2 is in the universe already'
expect 2 "$grow" n4 n4
says 'host n4 is given twice'
expect 2 "$shrink" n4
says 'host n4 is not in the universe'
expect 2 "$shrink"
says 'no host is named'
expect 2 "$grow" -x
says "'-x' is not an option"
expect 1 "$grow" n4 refuses
grep -q '1 of 2 hosts could not be started, so none has joined' "$work/err" || fail "no sum"
expect 0 env GASNET_UNIVERSE=none "$run" -t -n 2 -H n1 "$hello"
grep -q 'spawner ssh' "$work/out" || fail "GASNET_UNIVERSE=none does not switch it off"

# A host joins, with what the list of hosts says now; n4 had number 4 or 5 for a moment above, so it
# gets a later one.
printf 'n4 slots=3\n' >"$work/nodes"
expect 0 env GASNET_SSH_NODEFILE="$work/nodes" "$grow" n4
silent
expect 0 "$recon"
grep -qE '^[5-9] +n4 +ready +3 +0 ' "$work/out" || fail "n4 is not there with 3 slots"
expect 0 "$run" -n 4 -H n1,n2,n3,n4 "$hello"

# A host leaves when its ranks are gone: it gets no further job.
mkfifo "$work/hold"
start_job 2 "$run" -n 2 -H n2,n4 sh -c "echo ready; exec cat $work/hold"
"$shrink" n4 2>"$work/shrink" &
leaving=$!
for _ in $(seq 200); do
    grep -q '1 hosts have 1 jobs; they leave when these have ended' "$work/shrink" && break
    sleep 0.05
done
grep -q '1 hosts have 1 jobs' "$work/shrink" || fail "gasnet_shrink does not say for what it waits"
timeout 30 "$run" -n 2 -H n1,n4 "$hello" >"$work/out2" 2>"$work/err2" && fail "a leaving host gets a job"
grep -q 'host n4 is leaving the universe (gasnet_shrink)' "$work/err2" || fail "no reason"
kill -0 $leaving || fail "gasnet_shrink does not wait"
: >"$work/hold"
wait "$sup" || fail "the job ends with $?"
sup=
wait $leaving || fail "gasnet_shrink ends with $?"
table "0 front idle" "1 n1 ready" "2 n2 ready" "3 n3 ready"

# A daemon that is killed: the others list it as lost, its job ends, the others go on.
start_job 2 "$run" -n 2 -H n1,n3 sh -c 'echo ready; exec sleep 1000'
kill -KILL "$(find_on n3 gasnet-daemon)"
code=0
wait "$sup" || code=$?
sup=
[ $code -eq 1 ] || fail "the job of a lost daemon ends with $code"
grep -q 'host n3: the connection to it is lost' "$work/err" || fail "no message names the host"
await_table "0 front idle" "1 n1 ready" "2 n2 ready" "3 n3 lost"
expect 0 "$run" -n 2 -H n1,n2 "$hello"
expect 0 "$grow" n3
expect 0 "$recon"
grep -qE '^[5-9] +n3 +ready ' "$work/out" || fail "n3 has not come back with a number of its own"

# gasnet_wipe -a ends daemons too; gasnet_halt ends what is left, with its jobs.
expect 0 "$wipe" -a -H n3
grep -q '^n3: ended process .*gasnet-daemon' "$work/out" || fail "the daemon is not wiped"
start_job 2 "$run" -n 2 -H n1,n2 sh -c 'echo ready; exec sleep 1000'
expect 0 "$halt"
wait "$sup" && fail "a job outlives its universe"
sup=
none_left
expect 1 "$halt"
exit 0
