#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-format: every C file has the layout that clang-format gives it.
set -u
. "$AQ_SRC/tests/run-functions.sh"
command -v clang-format >/dev/null || skip "clang-format is not installed (package clang-format)"
cd "$AQ_SRC" || exit

misformatted()
{
    sources | xargs clang-format --dry-run 2>&1 |
        sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: .*/\1/p' | sort | uniq -c |
        sed -E 's!^ *([0-9]+) (.*)!\2: \1 places.!'
}

fail_on_output "Run clang-format -i on these files." misformatted
exit 0
