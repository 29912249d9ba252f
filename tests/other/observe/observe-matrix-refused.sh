#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-matrix-refused: a file that cannot be written costs a sentence, and the job goes on.
set -u
variable=GASNET_TRAFFIC
. "$(dirname "$0")/refused-functions.sh"

refuses_paths ''
refuses_full lines matrix

# The file of an earlier job is emptied, and a rank that returns from main adds its lines, too.
echo rubbish >"$work/matrix"
expect 0 env GASNET_TRAFFIC="$work/matrix" "$run" -n 3 "$AQ_BUILD/hello"
silent
grep -q rubbish "$work/matrix" && fail "the old matrix is still there"
[ "$(wc -l <"$work/matrix")" -eq 7 ] || fail "$(wc -l <"$work/matrix") lines in place of 7"
[ "$(head -1 "$work/matrix" | tr -dc , | wc -c)" = "$(sed -n 2p "$work/matrix" | tr -dc , | wc -c)" ] ||
    fail "the title does not fit the lines"
