# SPDX-License-Identifier: BSD-3-Clause
# Shell functions for the tests of gasnet_top. Needs launch-functions.sh.
# shellcheck shell=bash

top=$AQ_BUILD/gasnet_top
[ -x "$top" ] || {
    echo "gasnet_top was not built (packages libjansson-dev and libncurses-dev)"
    exit 77
}

# start_job RANKS WORK [gasnetrun]: starts watched_work, and returns when all ranks are there. Sets
# $job to the launcher; its output is in $work/WORK.out.
start_job()
{
    local ranks=$1 what=$2 launcher=${3:-$run}
    rm -f "$work/$what.hold"
    mkfifo "$work/$what.hold"
    exec {hold}<>"$work/$what.hold"
    : >"$work/$what.out"
    "$launcher" -n "$ranks" "$AQ_BUILD/watched_work" "$what" <"$work/$what.hold" \
        >"$work/$what.out" 2>"$work/$what.err" {hold}>&- &
    job=$!
    pids="$pids $job"
    await ready "$work/$what.out"
}

# await TEXT FILE: waits until the file has the text.
await()
{
    local turn=0
    until grep -q "$1" "$2"; do
        turn=$((turn + 1))
        [ "$turn" -lt 300 ] || fail "no '$1' in $2: $(cat "$2")"
        sleep 0.1
    done
}

# release_job: lets the last job end, whose work is `hold` or `count`. It has to end well.
release_job()
{
    local code=0
    exec {hold}>&-
    wait "$job" || code=$?
    [ "$code" -eq 0 ] || fail "the job ended with code $code"
}
