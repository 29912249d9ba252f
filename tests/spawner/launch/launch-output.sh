#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-output: whole lines, labels, partial lines, readers that are slow or gone.
set -u
. "$(dirname "$0")/launch-functions.sh"

export GASNET_LINE_WAIT=600000 # however slow the machine is
expect 0 "$run" -n 5 "$conform" lines 200
[ "$(wc -l <"$work/out")" -eq 1000 ] || fail "not 1000 lines"
for rank in 0 1 2 3 4; do
    # Lines of each rank are complete and in order.
    awk -v r=$rank '$1 == r' "$work/out" >"$work/one"
    awk '$2 != NR - 1 || NF != 3 { exit 1 }' "$work/one" || fail "lines of rank $rank are mixed up"
    [ "$(awk '{ print length($0) - length($2) }' "$work/one" | sort -u | wc -l)" -eq 1 ] || fail "a line is cut"
done

# Partial lines that arrive at the same time are not mixed.
expect 0 "$run" -n 3 sh -c 'printf a; sleep 0.5; echo b'
[ "$(sort -u "$work/out")" = ab ] || fail "lines are mixed"

expect 0 env GASNET_PSHM_NODES=5 "$conform" lines 200
[ "$(wc -l <"$work/out")" -eq 1000 ] || fail "not 1000 lines of a bare executable"

expect 0 "$run" -l -n 3 "$conform" lines 5
[ "$(grep -c '^\[\([012]\)\] \1 ' "$work/out")" -eq 15 ] || fail "labels"

# Bytes pass unchanged: a newline is neither added nor required.
head -c 300000 /dev/urandom >"$work/random"
expect 0 "$run" -n 1 cat "$work/random"
cmp -s "$work/random" "$work/out" || fail "bytes were changed"

# A prompt comes before its answer, and what other ranks print meanwhile begins on a new line.
unset GASNET_LINE_WAIT
printf '#!/bin/bash\nexec sh -c "${!#}"\n' >"$work/shell" && chmod +x "$work/shell"
mkfifo "$work/answers"
appears()
{
    for _ in $(seq 400); do
        [ "$(cat "$work/out")" != "$1" ] || return 0
        sleep 0.05
    done
    fail "no '$1' yet"
}
for job in "$run -n 2" "env GASNET_SSH_CMD=$work/shell GASNET_WORKERIP=127.0.0.1 GASNET_QUIET=1 $AQ_BUILD/gasnetrun_udp -spawner=ssh -H n1,n2 -n 2"; do
    rm -f "$work/asked"
    # shellcheck disable=SC2016
    $job sh -c 'if [ -p /dev/stdin ]; then printf "N = "; read n; echo "got $n"
        else until [ -e "$1/asked" ]; do sleep 0.05; done; echo other; fi' - "$work" <"$work/answers" >"$work/out" 2>"$work/err" &
    sup=$!
    exec 8>"$work/answers"
    appears 'N = '
    touch "$work/asked"
    appears "$(printf 'N = \nother')"
    echo 42 >&8
    exec 8>&-
    ended 0
    [ "$(cat "$work/out")" = "$(printf 'N = \nother\ngot 42')" ] || fail "prompt, line and answer: $job"
    silent
done

# Standard error stays separate.
expect 0 "$run" -n 2 sh -c 'echo o; echo e >&2'
[ "$(cat "$work/out")$(cat "$work/err")" = "$(printf 'o\no')$(printf 'e\ne')" ] || fail "output and errors"

# A slow reader gets everything.
count=$("$run" -n 3 "$conform" lines 1500 | { sleep 1; wc -l; })
[ "$count" -eq 4500 ] || fail "a slow reader got $count of 4500 lines"

# The same when the job ends meanwhile and the reader takes longer than the exit timeout, as long as
# it reads.
slow_reader()
{
    while IFS= read -r -N 8192 bytes || [ -n "$bytes" ]; do
        printf %s "$bytes"
        sleep 0.05
    done
}
GASNET_EXITTIMEOUT=0.3 "$run" -n 3 "$conform" late 1500 2>"$work/err" | slow_reader >"$work/out"
[ "${PIPESTATUS[0]}" -eq 0 ] || fail "a job with a slow reader does not end with 0"
[ "$(wc -l <"$work/out")" -eq 4500 ] || fail "a reader slower than the exit timeout got $(wc -l <"$work/out") of 4500 lines"
silent

# A reader that leaves ends the job without a message, as in any pipeline.
"$run" -n 3 yes 2>"$work/err" | head -1 >"$work/out"
code=${PIPESTATUS[0]}
[ "$code" -eq 141 ] || fail "exit code $code instead of 141 after the reader left"
silent

# A line that was printed survives the death of its rank, unless the user leaves buffers to the C
# library.
(ulimit -c 0 && expect 134 "$run" -n 1 "$AQ_BUILD/exit_ways" abort 0 1) || exit
[ "$(cat "$work/out")" = '0 begins' ] || fail "the last line is lost"
(ulimit -c 0 && expect 134 env GASNET_LINE_BUFFER=0 "$run" -n 1 "$AQ_BUILD/exit_ways" abort 0 1) || exit
[ ! -s "$work/out" ] || fail "GASNET_LINE_BUFFER=0 has no effect"

# Output that cannot be written at the end is a failure, of tools, too.
for tool in boot grow halt info perf recon shrink view wipe; do
    code=0
    "$AQ_BUILD/gasnet_$tool" --help 2>"$work/err" >/dev/full || code=$?
    [ $code = 1 ] || fail "gasnet_$tool ends with $code when its output cannot be written"
    says 'standard output cannot be written'
done
for job in "$run -n 3" "env GASNET_PSHM_NODES=2" ""; do
    code=0
    $job "$conform" late 3 2>"$work/err" >/dev/full || code=$?
    [ $code = 1 ] || fail "exit code $code with a full disk: ${job:-one rank}"
    says 'standard output cannot be written'
done

# Closed descriptors cause no confusion: no socket takes their numbers.
for job in "$run -n 2" "env GASNET_SSH_CMD=$work/shell GASNET_WORKERIP=127.0.0.1 $AQ_BUILD/gasnetrun_udp -spawner=ssh -H n1,n2 -n 2" \
    "env GASNET_CONDUIT=udp GASNET_PSHM_NODES=2"; do
    for closed in '<&-' '>&-' '2>&-' '<&- >&-' '<&- >&- 2>&-'; do
        timeout 20 bash -c "exec $closed; $job $conform lines 3" >"$work/out" 2>"$work/err" || fail "with $closed: $job"
    done
done
