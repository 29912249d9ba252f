# SPDX-License-Identifier: BSD-3-Clause
# Shell functions of the check-*.sh scripts in this folder, which run a program once in each of its
# modes. $name is the current mode, the files out and err in $work have its output, $ran counts the
# jobs, and $failed the failures.
export LC_ALL=C
work=${TMPDIR:-/tmp}
failed=0 ran=0

complain()
{
    printf '%s: %s\n' "$name" "$*"
    sed 's/^/    out: /' "$work/out"
    sed 's/^/    err: /' "$work/err"
    failed=$((failed + 1))
}

# is_chosen [PATTERN ...]: whether $name matches one of the patterns, or there are none.
is_chosen()
{
    local p
    [ $# -gt 0 ] || return 0
    for p in "$@"; do
        # shellcheck disable=SC2053
        [[ $name == $p ]] && return 0
    done
    return 1
}

# job START RANKS PROGRAM WORD ...: runs a job; $code is its exit code. START: the function that
# starts jobs (on_fake, 'gasnetrun_smp -n' ...), with its words.
job()
{
    local start ranks=$2 program=$3
    read -ra start <<<"$1"
    shift 3
    code=0
    "${start[@]}" "$ranks" "$AQ_BUILD/$program" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
    [ "$code" -ne 77 ] || skip "$(tail -1 "$work/out")"
    ran=$((ran + 1))
}

one_is_fatal()
{
    [ "$(grep -c 'fatal: ' "$work/err")" -eq 1 ] || complain "not exactly one sentence that something is fatal"
}

# conclude WHAT: the end of the script, after so many WHAT.
conclude()
{
    echo "$ran $1, $failed complaints"
    [ $failed = 0 ] && [ $ran -gt 0 ]
}
