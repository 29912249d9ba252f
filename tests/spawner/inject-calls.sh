#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# inject-calls [INJECTIONS [SEED [WAY ...]]]: jobs whose system calls fail as they may at any time
# (inject_calls.c), from start to end, until so many calls have failed (5,000). Calls that are
# interrupted, cut short or find nothing change nothing: each job ends with 0, with the output of a
# job without them, and without a message. Where memory, processes or descriptors run out, a job may
# end with another code, if it says why. None hangs. WAY: smp, udp, ssh, rendezvous, universe; without
# one, all. Prints how many calls have failed.
set -u
. "$(dirname "$0")/launch/launch-functions.sh"
. "$(dirname "$0")/rendezvous/rendezvous-functions.sh"
. "$(dirname "$0")/universe/universe-functions.sh"
command -v cc >/dev/null || { echo "cc was not found (package gcc)"; exit 77; }
! grep -q '^#define AQ_SANITIZER' "$AQ_BUILD/config.h" || { echo "a sanitizer has to be the first library"; exit 77; }
wanted=${1:-5000} seed=${2:-1}
shift $(($# < 2 ? $# : 2))
ways=("$@")
[ $# -gt 0 ] || ways=(smp udp ssh rendezvous universe)
limit=60
cc -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/inject.so" "$AQ_SRC/tests/spawner/inject_calls.c" -ldl ||
    fail "the library that injects is not built"

cat >"$work/shell" <<'SHELL'
#!/bin/sh
for word; do :; done
exec sh -c "$word"
SHELL
chmod +x "$work/shell"
(umask 077 && head -c 24 /dev/urandom | base64 >"$work/key")
export GASNET_CONDUIT=udp GASNET_BIND=none
work_words=("$AQ_BUILD/conform-seq" am_medium rma_values barrier_am)

# with command ...: runs it with the library.
with()
{
    LD_PRELOAD=$work/inject.so "$@"
}

meet()
{
    local rank port code=0 called=()
    port=$(free_port)
    for rank in 1 0; do
        GASNET_MASTER=127.0.0.1:$port GASNET_SIZE=2 GASNET_RANK=$rank GASNET_KEY_FILE=$work/key \
            GASNET_CONNECT_TIMEOUT=20 with "${work_words[@]}" &
        called+=($!)
    done
    for rank in "${called[@]}"; do
        wait "$rank" || code=$?
    done
    return $code
}

daemons()
{
    local code=0
    rm -rf "$work/u"*
    with "$boot" || { "$halt" 2>/dev/null; return 1; }
    with "$run_udp" -n 2 "${work_words[@]}" || code=$?
    with "$halt" && return $code
    "$halt" # nothing stays
    return 1
}

# way_NAME: a job.
run_udp=$AQ_BUILD/gasnetrun_udp
way_smp() { GASNET_CONDUIT=smp with "$AQ_BUILD/gasnetrun_smp" -n 2 "${work_words[@]}"; }
way_udp() { GASNET_SUPERNODE_MAXSIZE=1 with "$run_udp" -spawner=fork -n 2 "${work_words[@]}"; }
way_ssh() { GASNET_QUIET=1 GASNET_WORKERIP=127.0.0.1 GASNET_SSH_CMD=$work/shell with "$run_udp" -spawner=ssh -n 2 -H a,b "${work_words[@]}"; }
way_rendezvous() { GASNET_SUPERNODE_MAXSIZE=1 meet; }
way_universe() { GASNET_SUPERNODE_MAXSIZE=1 daemons; }

export -f with meet daemons free_port way_smp way_udp way_ssh way_rendezvous way_universe
export work run_udp boot halt

# The count of that place (inject_counts_t).
count()
{
    od -A n -t u8 -j $((8 * $1)) -N 8 "$AQ_INJECT_FILE" | tr -d ' '
}

injected()
{
    local sum=0 place
    for place in 2 3 4 5; do
        sum=$((sum + $(count $place)))
    done
    echo $sum
}

# job WAY: one job, with its output in $work/out and $work/err; sets code.
job()
{
    code=0
    timeout -k 5 $limit bash -c "$(declare -p work_words); way_$1" >"$work/out" 2>"$work/err" </dev/null || code=$?
    [ $code != 124 ] && [ $code != 137 ] || fail "a job of $1 hangs: seed $AQ_INJECT_SEED, $AQ_INJECT_KINDS"
}

# judge WAY: what came of it.
judge()
{
    local told="$1, seed $AQ_INJECT_SEED, $AQ_INJECT_KINDS"
    if [ $code != 0 ] && [ "$AQ_INJECT_KINDS" = lack ]; then
        [ -s "$work/err" ] || fail "a job ends with $code without a message: $told"
        return
    fi
    [ $code = 0 ] || fail "exit code $code: $told"
    [ "$(sort "$work/out")" = "$(cat "$work/right-$1")" ] || fail "another output than without failing calls: $told"
    [ "$AQ_INJECT_KINDS" = lack ] || [ ! -s "$work/err" ] || fail "a message: $told"
}

truncate -s 64 "$work/counts"
export AQ_INJECT_FILE=$work/counts AQ_INJECT_SEED=$seed AQ_INJECT_KINDS=none AQ_INJECT_RATE=0
for way in "${ways[@]}"; do
    job "$way"
    [ $code = 0 ] || fail "the job $way fails without failing calls"
    sort "$work/out" >"$work/right-$way"
done
while [ "$(injected)" -lt "$wanted" ]; do
    for way in "${ways[@]}"; do
        AQ_INJECT_SEED=$((AQ_INJECT_SEED + 1))
        AQ_INJECT_KINDS=eintr,short,again AQ_INJECT_RATE=100
        job "$way"
        judge "$way"
        AQ_INJECT_KINDS=lack AQ_INJECT_RATE=40
        job "$way"
        judge "$way"
    done
done
echo "injected in $(count 0) processes: $(count 2) interruptions, $(count 3) short counts," \
    "$(count 4) times nothing, $(count 5) lacks"
exit 0
