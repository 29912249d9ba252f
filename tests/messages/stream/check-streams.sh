#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# messages-stream-refusals: every rank tells in one sentence why a stream is refused, and a wrong
# send is told at the rank that makes it.
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$AQ_SRC/tests/checks/check-functions.sh"

# told COUNT PATTERN: so many lines have this text.
told()
{
    local lines
    lines=$(grep -cE -- "$2" messages)
    [ "$lines" = "$1" ] || echo "$lines lines, not $1, say \"$2\"."
}

sentences()
{
    local create='gasnetx_Stream_Create: rank'
    told 3 "$create 0 of the team names a parent that is not in the team"
    told 3 "$create 0 of the team names itself as its parent"
    told 3 "$create 1 of the team is the second root; a stream has one"
    told 3 "$create 0 of the team has no way to a root: its parents make a circle"
    told 3 "$create 1 of the team names a parent that has no part in the stream"
    told 3 "$create 1 of the team has other flags than lower ranks"
    told 3 "$create 1 of the team has wrong arguments"
    told 15 "$create 2 of the team has wrong arguments"
    told 1 'rank 2 .*gasnetx_Stream_Create: two handlers have the same id and direction'
    told 1 'rank 2 .*gasnetx_Stream_Create: only messages from children can synchronize'
    told 9 'gasnetx_Stream_Send: the message is too long; gasnetx_Stream_Query says how long'
    told 3 'gasnetx_Stream_SendRecv: group communication needs an ordered stream'
    told 3 'gasnetx_Stream_Send: this rank has no part in the stream'
    told 1 'rank 0 .*: a stream drops messages of rank [12] for handler 1, which this rank does not have'
}

STREAMS_VERBOSE=1 gasnetrun_smp -n 3 streams_work refusals 2>messages || exit
fail_on_output "Each of these faults has its sentence." sentences
exit 0
