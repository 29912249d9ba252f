#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-size: no source file has more than 1,000 lines.
set -u
. "$AQ_SRC/tests/run-functions.sh"
cd "$AQ_SRC" || exit

too_long()
{
    sources | xargs awk 'FNR == 1001 { print FILENAME ": more than 1,000 lines." }'
}

fail_on_output "Divide the file along what it does." too_long
exit 0
