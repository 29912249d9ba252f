#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-top-smp-refused: what gasnet_top says if it cannot show a job.
set -u
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"
. "$AQ_SRC/tests/other/observe/watch-functions.sh"

# refuses CODE TEXT [options]
refuses()
{
    local code=$1 text=$2
    shift 2
    expect "$code" "$top" "$@"
    [ ! -s "$work/out" ] || fail "there is output"
    grep -qF -- "gasnet_top: $text" "$work/err" || fail "no '$text'"
}

start_job 2 hold
refuses 2 "-d 0.01: give seconds, from 0.1 to 3600" -d 0.01
refuses 2 "--json goes with --once alone" --json
refuses 2 "--no-stack goes with --diagnose" --no-stack --once
refuses 2 "name one process or one program" a b
refuses 2 "gasnet_top --help lists the options" --nothing
refuses 1 "no job of this user on this host runs a program nosuch" --once nosuch
for options in --help --version "--once $job" "--diagnose --no-stack $job"; do
    code=0
    # shellcheck disable=SC2086
    "$top" $options 2>"$work/err" >/dev/full || code=$?
    [ $code = 1 ] || fail "gasnet_top $options ends with $code on a full disk"
    grep -q 'the output cannot be written' "$work/err" || fail "gasnet_top $options gives no reason"
done
sleep 60 {hold}>&- >/dev/null 2>&1 &
pids="$pids $!"
await '^sleep$' "/proc/$!/comm"
refuses 1 "process $! (sleep) has no rank of a job on this host" --once $!
refuses 1 "there is no terminal that can show the ranks: use --once" "$job" </dev/null
refuses 1 "--prometheus $work/no/file: cannot write this file: No such file or directory" \
    --prometheus "$work/no/file" "$job"

# Another user's job.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    cp "$top" "$work/gasnet_top"
    chmod 755 "$work" "$work/gasnet_top"
    code=0
    setpriv --reuid=65534 --regid=65534 --clear-groups "$work/gasnet_top" --once "$job" \
        >"$work/out" 2>"$work/err" || code=$?
    [ "$code" -eq 1 ] || fail "another user gets code $code"
    grep -q "process $job belongs to user root: start gasnet_top as this user" "$work/err" ||
        fail "no sentence on the user"
fi

# A rank of another version of the library.
if command -v python3 >/dev/null; then
    python3 -c 'import os, sys
fd = os.memfd_create("aqueduct-rank")
os.write(fd, b"AQRANK\0\0" + bytes([99]) + bytes(20000))
print("there", flush=True)
sys.stdin.read()' <"$work/hold.hold" >"$work/python.out" {hold}>&- &
    other=$!
    pids="$pids $other"
    await there "$work/python.out"
    refuses 1 "process $other shows its state in version 99 and this program reads version 4: use the gasnet_top of the installation" \
        --once "$other"
fi

ended=$job
release_job
refuses 1 "there is no process $ended: the job has ended" --once "$ended"
