#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-memory: a job with more ranks than memory allows is refused before any rank starts. The
# memory is that of a control group made for the test.
set -u
. "$(dirname "$0")/launch-functions.sh"

group=
leave_group()
{
    [ -z "$group" ] || rmdir "$group" 2>/dev/null
    clean_up
}
trap leave_group EXIT

# limit FOLDER FILE: makes a group with 300 MB below FOLDER, if permitted.
limit()
{
    local new=$1/gasnet-test-$$
    mkdir "$new" 2>/dev/null || return 1
    if [ -e "$new/$2" ] && echo 300M 2>/dev/null >"$new/$2" && [ -e "$new/cgroup.procs" ]; then
        group=$new
        return 0
    fi
    rmdir "$new" 2>/dev/null
    return 1
}

limit /sys/fs/cgroup/memory memory.limit_in_bytes || limit /sys/fs/cgroup memory.max || {
    echo 'no control group with a memory limit can be made here (needs root and a writable /sys/fs/cgroup)'
    exit 77
}

within()
{
    sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$@"
}

expect 1 within "$run" -n 512 "$conform" code 0
says '512 ranks need about'
says 'start at most'
expect 1 within env GASNET_PSHM_NODES=512 "$conform" code 0
says 'start at most'
most=$(sed -n 's/.*start at most \([0-9]*\) ranks.*/\1/p' "$work/err")
expect 0 within "$run" -n "$most" "$conform" code 0
silent
exit 0
