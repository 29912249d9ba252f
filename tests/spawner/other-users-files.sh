#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# other-users-files: another user has put symbolic links, files and pipes into /tmp where jobs and tools are
# told to write. Nothing that they lead to is written, and a sentence says so; links of the user are
# followed.
set -u
. "$(dirname "$0")/other-users-functions.sh"
isolate "$0" "$@"
. "$(dirname "$0")/launch/launch-functions.sh"
. "$AQ_SRC/tests/other/observe/watch-functions.sh"
program=$AQ_BUILD/traffic_work
foreign='there is a file, a pipe or a symbolic link of another user'
mkdir "$work/folder"

# spared: nothing was written to what the links lead to.
spared()
{
    [ "$(cat "$work/precious")" = precious ] || fail "a link of another user is followed"
    [ -z "$(ls "$work/folder")" ] || fail "a link of another user to a folder is followed"
}

echo precious >"$work/precious"
"${stranger[@]}" sh -c 'ln -s "$1/precious" /tmp/link; ln -s "$1/folder" /tmp/way; echo theirs >/tmp/file
    chmod 666 /tmp/file; mkfifo -m 666 /tmp/pipe; for n in $(seq 3000); do ln -s "$1/precious" /tmp/prom.$n; done' sh "$work"
exec {reader}<>/tmp/pipe
for variable in GASNET_TRACE GASNET_TRACEFILE GASNET_TRAFFIC GASNET_STATSFILE; do
    for path in /tmp/link /tmp/way/file /tmp/file /tmp/pipe; do
        expect 0 env "$variable=$path" timeout 60 "$run" -n 2 "$program"
        says "$variable=$path: cannot write this file: $foreign"
        spared
    done
    [ "$(cat /tmp/file)" = theirs ] || fail "a file of another user is written"
    ln -s "$work/mine" "/tmp/mine"
    expect 0 env "$variable=/tmp/mine" timeout 60 "$run" -n 2 "$program"
    silent
    [ -s "$work/mine" ] || fail "the link of the user is not followed"
    rm /tmp/mine "$work/mine"
done

# The tools: gasnet_view follows nothing, and gasnet_top puts its file in the place of a link.
expect 0 env GASNET_TRAFFIC="$work/matrix" timeout 60 "$run" -n 2 "$program"
expect 1 "$AQ_BUILD/gasnet_view" matrix -o /tmp/link "$work/matrix"
says "/tmp/link: cannot be written: $foreign"
spared
"${stranger[@]}" ln -s "$work/precious" /tmp/prom
start_job 2 hold
expect 0 "$top" --prometheus /tmp/prom --once "$job"
[ -f /tmp/prom ] && [ ! -L /tmp/prom ] && grep -q aqueduct_up /tmp/prom || fail "no file of gasnet_top"
spared
# What is no file, as /dev/stdout of root, stays what it is.
mkfifo /tmp/fifo && ln -s /tmp/fifo /tmp/device
for path in /tmp/fifo /tmp/device; do
    expect 1 timeout 60 "$top" --prometheus $path --once "$job"
    grep -qF 'there is a device or a pipe' "$work/err" || fail "no reason"
    [ -p $path ] || fail "a pipe is replaced"
done
[ -L /tmp/device ] || fail "a link to a pipe is replaced"
release_job
exit 0
