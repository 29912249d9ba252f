#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Options of the launcher reach the ranks on other hosts: placement, environment, arguments, input.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
all=$(hosts 1 4)

# places WANTED options ...: fails unless these are the hosts of the ranks, in order.
places()
{
    local wanted=$1
    shift
    expect 0 "$run" -l "$@" hostname
    [ "$(sort -t'[' -k2n "$work/out" | sed 's/.*\] //' | tr '\n' ' ')" = "$wanted " ] || fail "ranks are not on $wanted: $*"
}

# A reader that is slow for longer than a link may be silent gets everything. The result is checked
# below, when the reader has ended. On a busy host a rank may pause amid a line, which then waits for
# its end.
GASNET_LINE_WAIT=60000 GASNET_SSH_OUT_DEGREE=1 timeout 60 "$run" -n 3 -H n1,n2,n3 seq 300000 2>"$work/slow-messages" | (sleep 8; wc -l) >"$work/slow" &
slow=$!

# Sources of the list of hosts, and the placement of ranks.
places "n1 n1 n2 n3" -n 4 -H n1,n2,n3
places "n1 n2 n3 n1" -n 4 -H n1,n2,n3 -cyclic
places "n1 n1 n2 n2" -n 4 -N 2 -H "$all"
places "n1 n2 n2 n2" -n 4 -H n1:1,n2:3
silent
places "n1 n1 n2 n2" -n 4 -H n1:1,n2:1
says "4 ranks are more than the slots"
places "n2 n1" -n 2 -H root@n2,n1
printf '# a file\nn3 slots=2 rack=7\nn1 schedule=no\nn2\n' >"$work/nodes"
GASNET_SSH_NODEFILE=$work/nodes places "n3 n3 n2" -n 3
GASNET_NODEFILE=$work/nodes GASNET_SSH_SERVERS="n4 n2" places "n4 n2" -n 2
SSH_SERVERS=n1,n2 places "n1 n2" -n 2
GASNET_SSH_KEEPDUP=1 GASNET_SSH_SERVERS="n1 n2 n1 n2" places "n1 n1 n2 n2 n1 n1 n2 n2" -n 8
silent
SLURM_JOB_NODELIST='n[2-3]' SLURM_JOB_CPUS_PER_NODE='1(x2)' places "n2 n3" -n 2
SSH_SERVERS=n1,n2 GASNET_SPAWNFN=L places "front front" -n 2
GASNET_SSH_SERVERS=n1,n2 GASNET_UDP_SPAWNER=fork places "front front" -n 2
GASNET_SSH_SERVERS=n1,n2 places "front front" -spawner=fork -n 2
places "front n1" -n 2 -H front,n1

# IPv6 addresses are legal names of hosts; conduit smp runs on one host.
expect 0 "$run" -n 3 -H '[fd77::1]:1,fd77::2,[fd77::3]' "$hello"
silent
[ "$(wc -l <"$work/out")" -eq 3 ] || fail "not all ranks have said hello"
expect 0 "$AQ_BUILD/gasnetrun_smp" -n 3 -H n2 hostname
[ "$(grep -cx n2 "$work/out")" -eq 3 ] || fail "gasnetrun_smp does not start on n2"
GASNET_SSH_SERVERS=n1,n2 expect 0 "$AQ_BUILD/gasnetrun_smp" -n 1 hostname
grep -qx front "$work/out" || fail "a list that is meant for others moves a job of smp"
expect 0 env -u GASNET_CONDUIT "$run" -n 2 -H n1,n2 "$hello"
says "hello is linked for conduit smp but runs over udp, because gasnetrun_udp starts it"
grep -q '^\*\*\* GASNet: rank 0 of 2 on host n1: ' "$work/err" || fail "another rank than 0 prints the message"
expect 0 env -u GASNET_CONDUIT "$run" -n 2 -H n1,n2 "${conform}_udp" pid
silent
expect 2 "$AQ_BUILD/gasnetrun_smp" -n 2 -N 2 -H n1,n2 "$hello"
says "conduit smp joins processes of one host"

# The progress of the start with many hosts, on a terminal.
many=$(seq -s, -f 'm%g' 17)
timeout 30 script -qec "$run -n 17 -H $many true" /dev/null </dev/null >"$work/out"
grep -q '1 of 17 hosts started' "$work/out" || fail "the progress is not shown"
(
    ulimit -Sn 64 # all hosts at once need more, so the launcher raises the limit
    GASNET_SSH_OUT_DEGREE=0 expect 0 "$run" -n 17 -H "$many" true
    silent
) || exit 1

# Wrong lists are refused with a sentence.
printf 'n1\nn2 fast\n' >"$work/bad"
expect 2 env GASNET_SSH_NODEFILE="$work/bad" "$run" -n 2 "$hello"
says "bad, line 2: 'fast' is not key=value"
expect 2 "$run" -n 4 -N 3 -H n1,n2 "$hello"
says "3 hosts, but 2 are named"
expect 2 "$run" -n 2 -H ' ' "$hello"
says "names no host"
expect 2 "$run" -n 2 -H '-oProxyCommand=x' "$hello"
says "is not a host"
expect 2 "$run" -spawner=ssh -n 2 "$hello"
says "no hosts are named"
expect 0 "$run" -n 2 -H n1,n1 hostname
says "host n1 is given twice"

# -v -v prints why other spawners were not chosen; -t starts nothing.
expect 0 "$run" -t -v -v -n 4 -H n1,n2 "$hello"
grep -q 'spawner fork is not taken: ssh has a higher priority' "$work/out" || fail "-v -v does not tell of fork"
grep -q 'ranks 2-3 on host n2' "$work/out" || fail "-v does not tell the places"
! grep -q Hello "$work/out" || fail "-t starts the job"

# Arguments and environment with any characters.
strange=$(printf "a b\n'c' \"d\" \$HOME \\\\ \`e\` \001\177\377!*")
big=$(head -c 100000 /dev/zero | tr '\0' 'x')
export AQ_STRANGE=$strange AQ_BIG=$big AQ_OTHER=1
expect 0 "$run" -n 1 -H n1 sh -c 'printf "%s|%s" "$1" "$AQ_STRANGE"; echo; echo ${#AQ_BIG}' sh "$strange"
printf '%s|%s\n100000\n' "$strange" "$strange" | cmp -s - "$work/out" || fail "arguments or environment are not what they were"
expect 0 "$run" -n 1 -H n1 -E AQ_BIG,AQ_UNSET sh -c 'echo ${#AQ_BIG}${AQ_OTHER-none}'
says "AQ_UNSET is not set"
grep -qx '100000none' "$work/out" || fail "-E does not limit the environment"
unset AQ_STRANGE AQ_BIG AQ_OTHER
(cd / && expect 0 "$run" -n 1 -H n1 pwd && grep -qx / "$work/out") || fail "the working directory is another one"
expect 0 env GASNET_SSH_REMOTE_PATH=/usr "$run" -n 1 -H n1 pwd
grep -qx /usr "$work/out" || fail "GASNET_SSH_REMOTE_PATH is not taken"

wait "$slow"
[ ! -s "$work/slow-messages" ] || fail "a slow reader makes the launcher complain: $(cat "$work/slow-messages")"
[ "$(cat "$work/slow")" -eq 900000 ] || fail "a slow reader gets $(cat "$work/slow") lines of 900000"

# The key is in no argument list and no environment of any process.
start_job 2 env GASNET_SPAWN_VERBOSE=1 "$run" -n 2 -H n1,n2 sh -c 'echo ready; exec sleep 100'
for pid in $(processes | cut -d' ' -f1); do
    tr '\0' '\n' <"/proc/$pid/cmdline"
    tr '\0' '\n' <"/proc/$pid/environ"
done 2>/dev/null | grep -aE '^GASNET_SPAWN|--helper' | sort -u >"$work/seen"
! grep -avE '^(GASNET_SPAWN_(VERBOSE=1|CONTROL=fork:[0-9]+:[0-9]+:[0-9]+|BEFORE=[A-Z_;=a-z]*)|--helper|exec .* --helper)$' "$work/seen" || fail "the start leaves more in processes than it should"
kill -TERM "$sup"
job_ends 143

# Input goes to rank 0, and output arrives in whole lines.
seq 200000 >"$work/lines"
timeout 20 "$run" -n 2 -H n1,n2 cat <"$work/lines" | cmp -s - "$work/lines" || fail "input and output differ"
head -c 3000000 /dev/urandom >"$work/bytes"
timeout 20 "$run" -n 2 -H n2,n1 sh -c '[ "$(hostname)" = n1 ] || exec md5sum' <"$work/bytes" | cmp -s - <(md5sum <"$work/bytes") || fail "input does not arrive whole"
timeout 20 "$run" -n 2 -H n1,n2 true <"$work/bytes" || fail "input that nobody reads disturbs"
expect 0 "$run" -l -n 4 -H n1,n2 sh -c 'for i in $(seq 2000); do echo "$i xxxxxxxxxxxxxxxxxxxxxxxx"; done'
[ "$(grep -cE '^\[[0-3]\] [0-9]+ x{24}$' "$work/out")" -eq 8000 ] || fail "lines are not whole"
timeout 20 "$run" -n 2 -H n1,n2 yes | head -1000 | grep -c y | grep -qx 1000 || fail "a reader that stops reading"
none_left

# Signals reach the ranks.
start_job 2 "$run" -n 2 -H n1,n2 bash -c 'trap "echo got; exit 4" USR1; echo ready; while :; do sleep 0.1; done'
kill -USR1 "$sup"
job_ends 4
grep -q got "$work/out" || fail "SIGUSR1 does not reach the ranks"
start_job 2 "$run" -n 2 -H n1,n2 sh -c 'echo ready; exec sleep 100'
kill -HUP "$sup"
job_ends 129
exit 0
