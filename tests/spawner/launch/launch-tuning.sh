#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-tuning: all ranks have the limits of rank 0's tuning file, and a file that cannot be used
# costs one sentence.
set -u
. "$(dirname "$0")/launch-functions.sh"
limits=$AQ_BUILD/coll_limits
file=$work/tuning

# have NAME VALUE ...: all ranks have these values, and the defaults of all other limits.
have()
{
    local name low high fallback value wanted seen=0
    local -A expected=()
    while [ $# -gt 0 ]; do
        expected[$1]=$2
        shift 2
    done
    while read -r name low high fallback value; do
        wanted=${expected[$name]-$fallback}
        seen=$((seen + 1))
        [ "$value" = "$wanted" ] || fail "$name is $value instead of $wanted"
    done <"$work/out"
    [ $seen -gt 4 ] || fail "$seen limits"
}

# refuses TEXT: the job goes on with the defaults, after one sentence of rank 0.
refuses()
{
    expect 0 "$run" -n 3 "$limits"
    says "rank 0 of 3 on host"
    says "GASNET_COLL_TUNING_FILE: '$GASNET_COLL_TUNING_FILE' is not used: $1"
    says "collectives keep the default limits (gasnet_perf --tune writes such a file)"
    have
}

export GASNET_COLL_TUNING_FILE=
expect 0 "$run" -n 2 "$limits"
silent
have

export GASNET_COLL_TUNING_FILE=$file
printf '%s\n' 'aqueduct-tuning 1' '[smp ranks 3]' 'post-bytes 77' 'tree-inside 5' \
    '[udp ranks 2]' 'part-bytes 2048' >"$file"
expect 0 "$run" -n 3 "$limits"
silent
have post-bytes 77 tree-inside 5
for maximum in 0 1 2; do
    expect 0 env GASNET_CONDUIT=udp GASNET_SUPERNODE_MAXSIZE=$maximum "$AQ_BUILD/gasnetrun_udp" -n 3 "$limits"
    silent
    have part-bytes 2048
done
expect 0 env GASNET_PSHM_NODES=4 "$limits"
silent
have post-bytes 77 tree-inside 5

# Only rank 0 has the file: the others have no such variable, another file, or a bad one.
export GASNET_KEY_FILE=$work/key
(umask 077 && head -c 24 /dev/urandom | base64 >"$GASNET_KEY_FILE")
for others in 'unset GASNET_COLL_TUNING_FILE' "GASNET_COLL_TUNING_FILE=$work/missing" "GASNET_COLL_TUNING_FILE=$0"; do
    printf '%s\n' '#!/bin/sh' "[ \"\$GASNET_RANK\" = 0 ] || $others" "exec '$limits'" >"$work/part"
    chmod +x "$work/part"
    expect 0 "$AQ_SRC/tests/spawner/rendezvous/rendezvous-run.sh" -n 3 "$work/part"
    silent
    have post-bytes 77 tree-inside 5
done
# And only other ranks have it.
printf '%s\n' '#!/bin/sh' '[ "$GASNET_RANK" != 0 ] || unset GASNET_COLL_TUNING_FILE' "exec '$limits'" >"$work/part"
expect 0 "$AQ_SRC/tests/spawner/rendezvous/rendezvous-run.sh" -n 3 "$work/part"
silent
have
unset GASNET_KEY_FILE

# A file with a mistake, of another version, none at all.
printf 'aqueduct-tuning 1\n[smp ranks 3]\npost-bytes 9000\n' >"$file"
refuses "line 3 sets post-bytes to '9000', which is no whole number from 0 to 8192;"
printf 'aqueduct-tuning 7\n[smp ranks 3]\npost-bytes 77\n' >"$file"
refuses "its first line says version 7, and this library reads version 1;"
printf '#!/bin/sh\necho hello\n' >"$file"
refuses "its first line is not 'aqueduct-tuning 1', so it is no tuning file;"
cp "$limits" "$file"
refuses "its first line "
printf 'aqueduct-tuning 1\n[smp ranks 4]\npost-bytes 77\n[udp ranks 1]\n' >"$file"
refuses "it has no section for conduit smp and 3 ranks or fewer;"
: >"$file"
refuses "its first line is not 'aqueduct-tuning 1', so it is no tuning file;"
rm "$file"
refuses "it cannot be read: No such file or directory;"
mkdir "$file"
refuses "it cannot be read: Is a directory;"
rmdir "$file" && mkfifo "$file"
refuses "its first line is not 'aqueduct-tuning 1', so it is no tuning file;" # does not hang
export GASNET_COLL_TUNING_FILE=/dev/zero
refuses "it cannot be read: File too large;"

# Files of 1 MiB are read, and no longer ones.
rm "$file"
export GASNET_COLL_TUNING_FILE=$file
printf '%s\n' 'aqueduct-tuning 1' '[smp ranks 3]' 'post-bytes 77' >"$file"
yes '#' | head -c $(((1 << 20) - $(stat -c %s "$file"))) >>"$file"
expect 0 "$run" -n 3 "$limits"
silent
have post-bytes 77
echo >>"$file"
refuses "it cannot be read: File too large;"
expect 0 env GASNET_QUIET=1 "$run" -n 2 "$limits"
silent
have

# What gasnet_perf --tune writes is such a file. It keeps other sections, and leaves other files
# alone.
perf=$AQ_BUILD/gasnet_perf
export GASNET_COLL_TUNING_FILE=
rm "$file"
printf 'aqueduct-tuning 1\n[udp ranks 9]\npart-bytes 2048 # kept\n[smp ranks 2]\npost-bytes 77\n' >"$file"
expect 0 "$run" -n 2 "$perf" --tune "$file" --time 0.0001
silent
grep -q "^gasnet_perf: \[smp ranks 2\] in $file (limits changed: [0-9]*) takes [0-9.]* of the time" "$work/out" ||
    fail "no last sentence"
[ "$(grep -c '^part-bytes 2048 # kept$' "$file")" = 1 ] || fail "the section of udp is gone: $(cat "$file")"
[ "$(grep -c '^\[smp ranks 2\]$' "$file")" = 1 ] || fail "not one section for smp: $(cat "$file")"
! grep -q '^post-bytes 77' "$file" || fail "the old section is there: $(cat "$file")"
expect 0 env GASNET_COLL_TUNING_FILE="$file" "$run" -n 3 "$limits"
silent
rm "$file"
expect 0 env GASNET_CONDUIT=udp GASNET_SUPERNODE_MAXSIZE=1 "$AQ_BUILD/gasnetrun_udp" -n 3 "$perf" --tune "$file" --time 0.0001
silent
expect 0 env GASNET_COLL_TUNING_FILE="$file" GASNET_CONDUIT=udp "$AQ_BUILD/gasnetrun_udp" -n 3 "$limits"
silent

# perf_refuses TEXT RANKS FILE ...: gasnet_perf ends with code 2 and one sentence.
perf_refuses()
{
    local text=$1 ranks=$2
    shift 2
    expect 2 "$run" -n "$ranks" "$perf" --tune "$@"
    [ "$(wc -l <"$work/err")" = 1 ] && grep -qF -- "$text" "$work/err" || fail "not one sentence with: $text"
}
echo hello >"$file"
perf_refuses "$file: the file is there and its first line is not 'aqueduct-tuning 1', so --tune does not replace it" 2 "$file"
[ "$(cat "$file")" = hello ] || fail "the file has changed"
perf_refuses "$work/nowhere/file: No such file or directory" 2 "$work/nowhere/file"
perf_refuses "$work: the file is there and its first line is not" 2 "$work"
expect 2 "$run" -n 2 --reserve 1 "$perf" --tune "$work/other" --time 0.0001
grep -qxF "gasnet_perf: --tune cannot set a limit of this job (GASNET_ERR_RESOURCE): leave --reserve out" "$work/err" ||
    fail "no sentence about --reserve"
perf_refuses "--tune needs at least 2 ranks, and the job has 1" 1 "$work/other"
perf_refuses "--tune chooses the tests itself: leave tests and --threads out" 2 "$work/other" put
perf_refuses "--tune needs a value: the name of a file" 2
[ ! -e "$work/other" ] || fail "a file is left"
exit 0
