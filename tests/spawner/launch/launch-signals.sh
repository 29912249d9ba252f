#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-signals: signals to the launcher reach every rank.
set -u
. "$(dirname "$0")/launch-functions.sh"

loop='trap "echo got USR1" USR1; echo ready; while :; do sleep 0.05; done'
start 3 "$run" -n 3 bash -c "$loop"
wait_lines 3
kill -USR1 "$sup"
wait_lines 6
[ "$(grep -c 'got USR1' "$work/out")" -eq 3 ] || fail "SIGUSR1 did not reach all ranks"
kill -TERM "$sup"
ended 143
silent

# A rank that handles the signal and exits decides the code.
start 2 "$run" -n 2 bash -c 'trap "exit 0" TERM; echo ready; while :; do sleep 0.05; done'
wait_lines 2
kill -TERM "$sup"
ended 0

# Ranks that ignore the signal are killed after the exit timeout.
start 2 env GASNET_EXITTIMEOUT=0.5 "$run" -n 2 bash -c 'trap "" HUP; echo ready; while :; do sleep 0.05; done'
wait_lines 2
kill -HUP "$sup"
ended 129
says "ranks 0-1"

for sig in TERM HUP; do
    start 2 "$run" -n 2 sleep 60
    kill -$sig "$sup"
    ended $((128 + $(kill -l $sig)))
done

# Whatever stays between launcher and program, the program gets the signals: it reports, and saves
# its work for longer than the exit timeout. Each rank has a wrapper of another kind.
cat >"$work/wrap" <<'END'
#!/bin/bash
case $WRAP in
0) "$@" ;;
1) bash -c '"$@"; exit $?' bash "$@" ;;
2) unshare -p -f --mount-proc "$@" ;;
esac
exit $?
END
chmod +x "$work/wrap"
unshare -p -f --mount-proc true 2>/dev/null && kinds="0 1 2" || kinds="0 1"
shell=$work/shell
printf '#!/bin/bash\nexec sh -c "${!#}"\n' >"$shell" && chmod +x "$shell"
wrap=$work/wrap

# wrapped KIND option ...
wrapped()
{
    local kind=$1 lines=3 sig
    shift
    begin env WRAP="$kind" GASNET_CONDUIT=udp GASNET_QUIET=1 GASNET_SSH_CMD="$shell" GASNET_WORKERIP=127.0.0.1 GASNET_SUPERNODE_MAXSIZE=1 \
        "$AQ_BUILD/gasnetrun_udp" "$@" -n 3 "$wrap" "$conform" saves 60
    wait_lines 3
    for sig in USR1 USR2 XCPU ALRM XFSZ PROF; do
        kill -$sig "$sup"
        lines=$((lines + 3))
        wait_lines $lines
        [ "$(grep -c "^[012] $sig\$" "$work/out")" -eq 3 ] || fail "SIG$sig did not reach all programs: $*, $kind"
    done
    kill -TERM "$sup"
    ended 7
    [ "$(grep -c "^[012] saved\$" "$work/out")" -eq 3 ] || fail "SIGTERM did not reach all programs: $*, $kind"
    silent
}
for kind in $kinds; do
    beside wrapped "$kind" -spawner=fork
    beside wrapped "$kind" -spawner=ssh -H n1,n2
done
all_beside

# Programs that do not leave after SIGTERM are killed after a time of its own.
start 2 env GASNET_TERM_TIMEOUT=0.5 "$run" -n 2 bash -c 'trap "" TERM; echo ready; while :; do sleep 0.05; done'
wait_lines 2
kill -TERM "$sup"
ended 143
says GASNET_TERM_TIMEOUT

# Stopped and continued.
start 2 "$run" -n 2 sleep 1
kill -TSTP "$sup"
sleep 0.2
kill -CONT "$sup"
ended 0

# A reader that reads nothing does not keep the launcher from ending.
mkfifo "$work/fifo"
sleep 60 <"$work/fifo" &
reader=$!
"$run" -n 2 yes >"$work/fifo" 2>"$work/err" &
sup=$!
sleep 0.5
kill -TERM "$sup"
ended 143
kill "$reader"
wait "$reader" 2>/dev/null
exit 0
