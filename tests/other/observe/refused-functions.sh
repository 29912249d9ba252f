# SPDX-License-Identifier: BSD-3-Clause
# Shell functions for the tests of files of the traffic matrix and of the trace that cannot be
# written. The caller sets $variable, the one that names the file.
# shellcheck shell=bash disable=SC2154
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
work_program=$AQ_BUILD/traffic_work

# refuses VALUE FILE TEXT: the job goes on, and one sentence says why it does without the file.
refuses()
{
    expect 0 env "$variable=$1" timeout 60 "$run" -n 2 "$work_program"
    says "rank 0 of 2 on host"
    says "$variable=$2: cannot write this file: $3; name a file in a folder that exists"
}

# refuses_paths WHAT: these paths cannot be written, with WHAT behind the first one.
refuses_paths()
{
    refuses "$work/missing/file$1" "$work/missing/file" 'No such file or directory'
    mkdir "$work/fold:er"
    refuses "$work/fold:er/" "$work/fold:er/" 'Is a directory'
    mkfifo "$work/pipe"
    refuses "$work/pipe" "$work/pipe" 'No such device or address'
}

# refuses_full WHAT RESULT: on a full disk each rank says that WHAT of its own is missing in RESULT.
refuses_full()
{
    expect 0 env "$variable=/dev/full" timeout 60 "$run" -n 2 "$work_program"
    local sentence
    for sentence in 'rank 0 of 2 on host .* cannot write this file: No space left on device' \
        "rank 1 of 2 on host .* cannot write the $1 of this rank: No space left on device; the $2 lacks them"; do
        grep -q "$sentence" "$work/err" || fail "no '$sentence'"
    done
    [ "$(wc -l <"$work/err")" -eq 2 ] || fail "not a sentence of each rank"
}
