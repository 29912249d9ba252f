#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# other-users-names: another user has taken the names of local sockets, and does not answer there; so
# does a daemon of the user that is stopped. Jobs start, universes are made elsewhere, and who cannot
# go on says why. The limits of time are far above what is needed: a hang fails.
set -u
. "$(dirname "$0")/other-users-functions.sh"
isolate "$0" "$@"
. "$(dirname "$0")/launch/launch-functions.sh"
hello=$AQ_BUILD/hello
host=$(hostname)
export GASNET_CONDUIT=smp HOME=$work/home XDG_RUNTIME_DIR=$work/run
mkdir "$HOME" "$XDG_RUNTIME_DIR" || exit 1
unset GASNET_UNIVERSE

# limited CODE command ...: as expect, within a minute.
limited()
{
    expect "$1" timeout 60 "${@:2}"
}

squat "/tmp/gasnet-0/default@$host" "${stranger[@]}"
limited 0 "$run" -n 2 "$hello"
silent
limited 1 "$AQ_BUILD/gasnet_halt"
says "no daemon of a universe 'default' of this user runs on host $host"

# Universes in the other places: of the session, then of the home directory.
in_universe()
{
    limited 0 "$AQ_BUILD/gasnet_boot"
    [ -S "$1/default@$host" ] || fail "the socket is not in $1"
    [ "$(stat -c %a "$1")" = 700 ] || fail "others may enter $1"
    limited 1 "$AQ_BUILD/gasnet_boot"
    says 'already'
    limited 0 "$run" -v -n 2 -H "$host" "$hello"
    grep -q "spawner universe" "$work/out" "$work/err" || fail "the job is not in the universe"
    limited 0 "$AQ_BUILD/gasnet_halt"
    [ ! -e "$1/default@$host" ] || fail "the socket is left"
}
in_universe "$work/run/gasnet"
chmod 777 "$work/run/gasnet"
in_universe "$work/home/.gasnet"
limited 1 env GASNET_UNIVERSE="/tmp/gasnet-0/other" "$AQ_BUILD/gasnet_boot"
grep -q 'belongs to another user, or others can write to it; give GASNET_UNIVERSE a path' "$work/err" || fail "no remedy"

# What is no socket at the place of one stays, and is named.
mkdir -m 700 "$work/taken" "$work/taken/folder@$host"
echo precious >"$work/taken/file@$host"
for name in file folder; do
    limited 1 env GASNET_UNIVERSE="$work/taken/$name" "$AQ_BUILD/gasnet_boot"
    says "the socket $work/taken/$name@$host cannot be made: there is a file or folder of this name"
done
[ "$(cat "$work/taken/file@$host")" = precious ] || fail "a file is gone"

# A daemon that is stopped, with a full queue.
export GASNET_UNIVERSE=$work/own/u
squat "$work/own/u@$host" env
limited 2 "$run" -n 2 -H "$host" "$hello"
says "the daemon of universe '$work/own/u' on host $host takes no calls; continue or kill its process"
limited 1 "$AQ_BUILD/gasnet_boot"
says 'already'
unset GASNET_UNIVERSE

# gasnet_top of a job whose launcher has no such socket.
if [ -x "$AQ_BUILD/gasnet_top" ]; then
    . "$AQ_SRC/tests/other/observe/watch-functions.sh"
    start_job 2 hold
    squat "@aqueduct-launcher-$job" "${stranger[@]}"
    limited 0 "$top" --once "$job"
    [ "$(grep -c watched_work "$work/out")" -ge 1 ] || fail "the job is not shown"
    limited 0 "$top" --once
    release_job
fi
exit 0
