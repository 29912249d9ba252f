#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-hosts: spawner ssh without a network. A shell of the test replaces ssh and runs commands on
# this host, so the test needs no privileges. Real hosts: tests/beds/netns.
set -u
. "$(dirname "$0")/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
hello=$AQ_BUILD/hello
export GASNET_WORKERIP=127.0.0.1 GASNET_SSH_CMD=$work/shell
export GASNET_QUIET=1 # all hosts are reached by loopback here, which is warned of

cat >"$work/shell" <<'END'
#!/bin/bash
# shell [options] [-l user] host command: records its arguments and runs the command.
printf '%s\n' "$*" >>"${0%/*}/calls"
exec sh -c "${!#}"
END
chmod +x "$work/shell"

for radix in 0 1 2; do
    expect 0 env GASNET_SSH_OUT_DEGREE=$radix "$run" -n 6 -H a,b,c "$hello"
    silent
    [ "$(grep -c 'Hello from rank' "$work/out")" -eq 6 ] || fail "not all ranks have said hello"
done
for algorithm in linear window tree; do
    expect 7 env GASNET_SPAWN_ALGORITHM=$algorithm "$run" -n 3 -H a,b,c "$conform" code 7
    silent
done
expect 139 "$run" -n 4 -H a,b "$conform" signal 3 11
says "rank 3 of 4"
expect 3 "$run" -n 2 -H a,b sh -c 'exit 3'
expect 0 "$run" -n 4 -l -H a,b -cyclic sh -c 'echo x'
[ "$(sort "$work/out" | tr '\n' ' ')" = "[0] x [1] x [2] x [3] x " ] || fail "ranks are not numbered"
expect 1 "$run" -n 4 -H a,b sh -c '[ $PPID -gt 0 ] && case $GASNET_SPAWN_CONTROL in *:[01]:*) exec "$0" ;; esac' "$hello"
says "without joining the job"

# A fault of many ranks is reported once, for any number of hosts.
expect 1 env GASNET_WORKERIP=198.51.100.0 "$run" -n 6 -H a,b,c "$hello"
says 'GASNET_WORKERIP: no interface of this host is in the network 198.51.100.0'
grep -q '; [1-5] more ranks* could not start either$' "$work/err" || fail "no message says how many ranks found the fault"
expect 127 "$run" -n 6 -H a,b,c /nonexistent
says '/nonexistent: there is no such file'
grep -q '; [135] more ranks* could not start either$' "$work/err" || fail "no message names the other hosts"

GASNET_CATCH_EXIT=0 GASNET_UDP_PORTS=$((20000 + $$ % 10000)) begin "$run" -n 2 -H a,b "$hello"
wait_for_message 'GASNET_UDP_PORTS: every port from'

# The arguments of the shell: the user's options first, and the user's name.
: >"$work/calls"
expect 0 env GASNET_SSH_OPTIONS="-o 'A B' -p 7" "$run" -n 2 -H ann@a,b true
grep -qx -- "-o A B -p 7 -x -oBatchMode=yes -l ann a exec '$AQ_BUILD/gasnetrun' --helper" "$work/calls" || fail "the shell is called in another way"
expect 2 env GASNET_SSH_OPTIONS="-o 'A" "$run" -n 2 -H a,b true
says "GASNET_SSH_OPTIONS: a quote is not closed"

# A shell that prints more than a pipe holds before it runs the command.
printf '#!/bin/sh\nyes noise | head -c 200000 >&2\nexec "${0%%/*}/shell" "$@"\n' >"$work/loud"
chmod +x "$work/loud"
expect 0 timeout 20 env GASNET_SSH_CMD="$work/loud" "$run" -n 2 -H a,b true

# A shell that fails, a shell that prints nothing, and this host, which needs no shell.
printf '#!/bin/sh\necho "no way" >&2\nexit 5\n' >"$work/bad"
printf '#!/bin/sh\nexit 5\n' >"$work/mute"
printf '#!/bin/sh\nexec sleep 1000\n' >"$work/slow"
chmod +x "$work/bad" "$work/mute" "$work/slow"
expect 1 env GASNET_SSH_CMD="$work/bad" "$run" -n 2 -H a,b true
[ "$(grep -c 'host [ab]: no way' "$work/err")" -eq 2 ] || fail "what the shell says is not told"
grep -q '0 of 2 hosts started' "$work/err" || fail "no message says how many started"
expect 1 env GASNET_SSH_CMD="$work/mute" "$run" -n 1 -H a true
grep -q 'host a: the remote shell ended with exit code 5' "$work/err" || fail "the code of the shell is not told"
expect 1 env GASNET_SSH_CMD="$work/slow" GASNET_SPAWN_TIMEOUT=0.3 "$run" -n 1 -H a true
grep -q 'host a: it did not answer' "$work/err" || fail "a slow shell is not told"
expect 0 env GASNET_SSH_CMD=/nonexistent "$run" -n 2 -H "$(hostname)" "$hello"
expect 0 env GASNET_SSH_CMD=/nonexistent "$run" -n 2 -H localhost "$hello"
silent

# Too few descriptors, wherever that is noticed: the job runs, or ends with a message.
for files in $(seq 5 16); do
    code=0
    (ulimit -n "$files" && exec "$run" -n 2 -H a,b echo ran) >"$work/out" 2>"$work/err" || code=$?
    [ $code != 0 ] || [ "$(grep -c ran "$work/out")" = 2 ] || fail "code 0 without a job, with $files descriptors"
    [ $code = 0 ] || [ -s "$work/err" ] || fail "code $code without a message, with $files descriptors"
done

# A launcher that is stopped while it starts, or killed, leaves nothing.
GASNET_SSH_CMD=$work/slow begin "$run" -n 2 -H a,b true
for _ in $(seq 200); do
    [ "$(pgrep -P $sup -x sleep | wc -l)" -eq 2 ] && break
    sleep 0.05
done
kill -TERM $sup
ended 143
[ -z "$(pgrep -f "$work/slow")" ] || fail "a remote shell is left"
begin "$run" -n 4 -H a,b,c sh -c 'echo ready; exec sleep 1000'
wait_lines 4
kill -KILL $sup
wait $sup 2>/dev/null
sup=
none_running
exit 0
