#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# exit-silent: the helper of a host is stopped, as if an attacker on the network withheld its
# messages; its connection stays open. The user is warned once. When the helper continues, the job
# goes on and ends as usual.
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_CONDUIT=udp # for programs that are linked for smp
export GASNET_WORKERIP=127.0.0.1 GASNET_SSH_CMD=$work/shell
export GASNET_UDP_HOST_TIMEOUT=6 # the warning comes after half of it
helper=
trap '[ -z "$helper" ] || kill -CONT $helper 2>/dev/null; clean_up' EXIT

cat >"$work/shell" <<'END'
#!/bin/bash
exec sh -c "${!#}"
END
chmod +x "$work/shell"

begin "$run" -n 2 -H a,b sh -c 'echo $PPID; while ! [ -e "$0" ]; do sleep 0.1; done; echo done' "$work/now"
wait_lines 2
supervisor=$(head -n 1 "$work/out")
helper=$(ps -o ppid= -p "$supervisor" | tr -d ' ')
kill -STOP "$helper"
for _ in $(seq 600); do
    grep -q 'has not answered' "$work/err" && break
    sleep 0.05
done
sleep 2 # meanwhile the launcher looks at its pings again, and reports nothing more
[ "$(grep -c 'host [ab] has not answered for 3 seconds: .* if the connection from 127.0.0.1 recovers within GASNET_UDP_HOST_TIMEOUT' "$work/err")" -eq 1 ] ||
    fail "no message says that a host is silent"
kill -CONT "$helper"
touch "$work/now"
ended 0
[ "$(grep -c 'has not answered' "$work/err")" -eq 1 ] || fail "the message is printed more than once"
[ "$(grep -cx done "$work/out")" -eq 2 ] || fail "a rank of the job printed nothing more"
exit 0
