#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bad-calls-*: messages about wrong calls. In a debug build each wrong call of bad_calls ends the job
# with one message that names the function, the values, the limits and the rank. Calls that return
# an error code do so in every build.
#   check-bad-calls.sh START [PATTERN ...]
# START: the function or command that starts jobs ('gasnetrun_smp -n', on_udp). Only the modes whose
# names match one of the shell patterns.
set -u
start=$1
shift
. "$AQ_SRC/tests/run-functions.sh"
. "$AQ_SRC/tests/checks/check-functions.sh"

debug=no
grep -q '^#define AQ_DEBUG 1' "$AQ_BUILD/config.h" && debug=yes
sanitizers=$(build_sanitizers)

# Prints the processes of the last mode, which have its mark in their environment.
left_behind()
{
    grep -lsF "AQ_BAD_CALL=$mark" /proc/[0-9]*/environ | cut -d/ -f3 | xargs
}

# has_message RANK PATTERN: whether standard error has the message, with the prefix of that rank.
# RANK below 0: the process is not a rank, or could not become one.
has_message()
{
    local who="rank $1 of 2"
    [ "$1" -ge 0 ] || who="(rank [01] of 2|bad_calls)"
    grep -E "^\*\*\* GASNet: $who on host [^ ]*: (fatal: )?$2" "$work/err" >"$work/found"
}

check_expected()
{
    local text
    while IFS= read -r text; do
        grep -qF -- "${text#expect: }" "$work/found" || complain "the message does not say '${text#expect: }'"
    done < <(grep '^expect: ' "$work/out")
}

check_fatal()
{
    [ "$code" -ne 0 ] || complain "the exit code is 0"
    ! grep -q '^went on' "$work/out" || complain "the call was not refused"
    one_is_fatal
    has_message "$rank" "$pattern" || complain "no message of rank $rank like '$pattern'"
    grep -q ': fatal: ' "$work/found" || complain "the message does not say that this is fatal"
    check_expected
}

check_returns()
{
    local r
    [ "$code" -eq 0 ] || complain "the exit code is $code"
    for r in $([ "$rank" -lt 0 ] && echo -1 || echo 0 1); do
        has_message "$r" "$pattern" || complain "no message of rank $r like '$pattern'"
        check_expected
    done
}

try_mode()
{
    local exit_timeout=0 # what the library computes
    # After a failed init both ranks end by a fault, and the launcher ends the second one after this time.
    [[ $name != failed/* ]] || exit_timeout=0.1
    mark=$$.$name.
    export AQ_BAD_CALL=$mark
    code=0
    # The function is one of run-functions.sh.
    GASNET_EXITTIMEOUT=$exit_timeout timeout -k 1 60 bash -c '. "$AQ_SRC/tests/run-functions.sh"; '"$start"' "$@"' bash \
        2 "$AQ_BUILD/bad_calls" "$name" >"$work/out" 2>"$work/err" </dev/null || code=$?
    unset AQ_BAD_CALL
    [ -z "$(left_behind)" ] || sleep 1
    [ -z "$(left_behind)" ] || complain "left behind: $(left_behind)"
    case $end in
    fatal*) check_fatal ;;
    *) check_returns ;;
    esac
    ran=$((ran + 1))
}

while read -r name end rank pattern; do
    is_chosen "$@" || continue
    case $end in
    fatal | returns-debug) [ $debug = yes ] || continue ;;
    esac
    # A sanitizer tells by itself that a null handle was used.
    [[ -z $sanitizers || $pattern != "a null handle was used "* ]] || continue
    try_mode
done < <("$AQ_BUILD/bad_calls" --list)

conclude 'wrong calls'
