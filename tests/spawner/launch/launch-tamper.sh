#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-tamper: an attacker between the hosts of a job of spawner ssh forwards their messages
# (tamper_shell). If it changes, drops, replays or inserts bytes in the middle of the job, none of
# them reach a rank or the user: the job ends with a sentence that names host and address. While the
# attacker only listens, the job goes on, and neither output nor input is readable.
set -u
. "$(dirname "$0")/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_WORKERIP=127.0.0.1 GASNET_SSH_CMD=$AQ_BUILD/tamper_shell GASNET_QUIET=1
export TAMPER_FILE=$work/now TAMPER_WAY TAMPER_HOW

# The ranks wait until the attack is due; then rank 0 gets input, and all ranks print.
cat >"$work/ranks" <<'END'
#!/bin/sh
echo ready
while ! [ -e "$TAMPER_FILE" ]; do sleep 0.05; done
read line
echo "a word of a rank, $line"
exec sleep 0.5
END
chmod +x "$work/ranks"
mkfifo "$work/input"

# attack WAY HOW: runs the job, and attacks when both ranks are ready. Sets $code.
attack()
{
    TAMPER_WAY=$1 TAMPER_HOW=$2
    rm -f "$TAMPER_FILE"
    : >"$work/out"
    "$run" -n 2 -H a,b "$work/ranks" >"$work/out" 2>"$work/err" <"$work/input" &
    sup=$!
    exec 9<>"$work/input" # both ways, so that a job which has ended already does no harm to the writer
    wait_lines 2
    touch "$TAMPER_FILE"
    echo "with the input" >&9
    exec 9>&-
    code=0
    wait $sup || code=$?
    sup=
}

attack none none
[ $code -eq 0 ] || fail "exit code $code although nobody attacks"
silent
grep -qx 'a word of a rank, with the input' "$work/out" || fail "the job of two hosts says something else"

for way in up down; do
    for how in flip drop repeat insert; do
        attack $way $how
        [ $code -eq 1 ] || fail "exit code $code: $way $how"
        says ": bytes from 127.0.0.1 were changed, inserted, replayed or dropped on the way"
        grep -q '^\*\*\* GASNet: .*host [ab]: .*; the job is ended$' "$work/err" || fail "no host is named: $way $how"
        grep -v -x -e ready -e 'a word of a rank, \(with the input\)\?' "$work/out" && fail "forged output: $way $how"
    done
done
exit 0
