#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# identities: endpoints that accept only others with the same identity (identities.c).
#   check-identities.sh START [NAME ...]   START: the function that starts a job (on_fake, on_udp ...), with
#                                          its words; only checks whose names match a shell pattern
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$AQ_SRC/tests/checks/check-functions.sh"
start=$1
shift

# job_ends EXIT_CODE WORD ...: runs the job, which must end with this code.
job_ends()
{
    local wanted=$1
    shift
    job "$start" 3 identities "$@"
    [ "$code" -eq "$wanted" ] || complain "the exit code is $code, not $wanted"
}

# goes_on DROPS0 DROPS1 DROPS2 WORD ...: the job ends well, after so many drops at each rank.
goes_on()
{
    local rank=0 drops=("${@:1:3}")
    shift 3
    GASNET_ERRORS=return job_ends 0 "$@"
    for rank in 0 1 2; do
        grep -qx "rank $rank: ${drops[rank]} drops, 0 complaints" "$work/out" ||
            complain "rank $rank did not drop ${drops[rank]} and go on"
    done
}

# warns LINES: so many lines of rank 0 tell of the drops.
warns()
{
    [ "$(grep -c '^\*\*\* GASNet: rank 0 of 3 .*: 1000 messages and operations were dropped.* from endpoint 1 of rank 2 to endpoint 1' \
        "$work/err")" -eq "$1" ] || complain "not $1 lines tell of 1000 drops"
}

# ends RANK PATTERN WORD ...: the job ends with a sentence of this rank.
ends()
{
    local rank=$1 pattern=$2
    shift 2
    job_ends 1 "$@"
    one_is_fatal
    grep -qE "^\*\*\* GASNet: rank $rank of 3 on host [^ ]*: fatal: $pattern" "$work/err" ||
        complain "no sentence of rank $rank like '$pattern'"
}

refused='endpoint 1 of rank 0 does not accept the identity of the endpoint that accesses it'
while read -r name check; do
    is_chosen "$@" || continue
    if [ "$name" = forge ] && grep -q '^#define AQ_DEBUG 1' "$AQ_BUILD/config.h"; then
        continue # a debug build does not send what the client makes up
    fi
    eval "$check"
done <<EOT
accept goes_on 0 0 0 accept; warns 0
drop goes_on 47 0 6 drop; warns 0
forge goes_on 12 0 0 forge
quiet goes_on 999 0 0 drops 999; warns 0
loud goes_on 1000 0 0 drops 1000; warns 1
again goes_on 0 0 0 again
loud-once goes_on 2500 0 0 drops 2500; warns 1
put-other ends 2 "put: 8 bytes at 0x[0-9a-f]+: $refused" put other
get-other ends 2 "get: 8 bytes at 0x[0-9a-f]+: $refused" get other
put-none ends 2 "gex_RMA_PutBlocking: 8 bytes at 0x[0-9a-f]+: $refused" put none
get-outside ends 1 "gex_RMA_GetBlocking: 8 bytes at 0x[0-9a-f]+ are not inside the segment of rank 0" get same
EOT

conclude jobs
