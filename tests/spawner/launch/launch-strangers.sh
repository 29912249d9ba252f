#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-strangers: a stranger without the key calls the launcher while it starts the hosts: 300
# times with its own bytes, then so often and silently that every place for callers is taken. The
# job starts, and a few lines report the calls.
set -u
. "$(dirname "$0")/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_CONDUIT=udp # for programs that are linked for smp
base=$((21000 + $$ % 10000))
export GASNET_WORKERIP=127.0.0.1 GASNET_SSH_CMD=$work/shell GASNET_SPAWN_PORTS GASNET_SPAWN_PROMISCUOUS

# The second host waits until the strangers are done.
cat >"$work/shell" <<'END'
#!/bin/bash
case "$*" in *' b exec '*) while ! [ -e "${0%/*}/now" ]; do sleep 0.05; done ;; esac
exec sh -c "${!#}"
END
chmod +x "$work/shell"

# Calls each port until it finds the launcher's: sets $port.
find_port()
{
    local try
    for try in $(seq 100); do
        for port in $(seq "${GASNET_SPAWN_PORTS%-*}" "${GASNET_SPAWN_PORTS#*-}"); do
            (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
        done
        sleep 0.05
    done
    fail "the launcher listens nowhere"
}

# run_with_strangers PROMISCUOUS REASON: runs a job with strangers, which are refused for that
# reason.
run_with_strangers()
{
    local fds=() fd code=0 more
    GASNET_SPAWN_PROMISCUOUS=$1 GASNET_SPAWN_PORTS=$((base + 20 * $1))-$((base + 20 * $1 + 19))
    rm -f "$work/now"
    begin "$run" -n 2 -H a,b "$AQ_BUILD/hello"
    find_port
    for _ in $(seq 300); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'let me in, please' >&3 && read -r -u 3 _) 2>/dev/null
    done
    for _ in $(seq 70); do
        exec {fd}<>"/dev/tcp/127.0.0.1/$port" || fail "the launcher no longer listens"
        fds+=("$fd")
    done
    touch "$work/now"
    wait $sup || code=$?
    sup=
    for fd in "${fds[@]}"; do
        exec {fd}>&-
    done
    [ $code -eq 0 ] || fail "exit code $code"
    [ "$(grep -c 'Hello from rank' "$work/out")" -eq 2 ] || fail "not all ranks have said hello"
    [ "$(grep -c "a connection from 127.0.0.1 is refused: $2" "$work/err")" -eq 4 ] || fail "not exactly four calls are reported"
    more=$(sed -n 's/.*: \([0-9]*\) more connections were refused, the last one from 127.0.0.1$/\1/p' "$work/err")
    [ "${more:-0}" -ge 296 ] && [ "$more" -le 400 ] || fail "${more:-none} more are counted"
}

run_with_strangers 0 'it is not a host that is being started'
run_with_strangers 1 'it did not authenticate with the key of the job'
exit 0
