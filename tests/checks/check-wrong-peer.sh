#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# wrong-peer: a peer sends messages that no correct library sends (wrong_peer.c has the list). Each
# message must end the job with one sentence that names the peer, and must not change memory outside
# of the segment. A pattern that begins with "harmless" says that the job may go on.
#   check-wrong-peer.sh START [PATTERN ...]   START: the function that starts a job (on_fake, on_udp ...),
#                                             with its words; only modes whose names match a shell pattern;
#                                             alloc-* need ranks that share memory
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$AQ_SRC/tests/checks/check-functions.sh"
start=$1
shift

grep -q '^#define AQ_DEBUG 1' "$AQ_BUILD/config.h" &&
    skip "a debug build checks the messages that it sends, so none of its ranks can be a wrong peer"

went_on()
{
    [ "$(grep -c '^went on' "$work/out")" -eq 2 ] && ! grep -q 'fatal: ' "$work/err"
}

expect_end()
{
    [ "$code" -ne 0 ] || complain "the exit code is 0"
    ! grep -q '^went on' "$work/out" || complain "the message was not found to be wrong"
    one_is_fatal
    grep -qE "^\*\*\* GASNet: rank 0 of 2 on host [^ ]*: fatal: .*($pattern)" "$work/err" ||
        complain "no sentence of rank 0 like '$pattern'"
}

make_guard()
{
    head -c 65536 /dev/zero | tr '\0' v
}

while read -r name pattern; do
    is_chosen "$@" || continue
    make_guard >"$work/guard"
    job "$start" 2 wrong_peer "$name" "$work/guard"
    [[ $pattern == harmless* ]] && went_on || expect_end
    make_guard | cmp -s - "$work/guard" || complain "memory outside of the segment has changed"
done < <("$AQ_BUILD/wrong_peer" --list)

conclude 'wrong messages'
