#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-calls: no files of the library call each other in a circle, as docs/ARCHITECTURE.md says.
set -u
. "$AQ_SRC/tests/run-functions.sh"
command -v python3 >/dev/null || skip "python3 is not installed (package python3)"
circles="python3 -B $AQ_SRC/tests/static/tree/call-circles.py"

call_circles()
{
    (cd "$AQ_SRC" && sources | grep -Ev '^(tests|examples)/' | $circles)
}

# The circles of two files, of which the second one calls the first one with these words.
circles_of_two()
{
    printf 'void one(void)\n{\n    two();\n}\n' >one.c
    printf '// one()\nstatic inline int two(void)\n{\n    %s;\n}\n' "$1" >two.h
    printf 'one.c\ntwo.h\n' | $circles
}

mkdir -p call-circles && cd call-circles || exit
fail_on_output "The check sees a circle where there is none." circles_of_two 'puts("one()")'
circles_of_two 'return one()' | grep -q '^one two: ' || {
    echo "check-calls: a circle of two files is not found."
    exit 1
}
fail_on_output "Move what both need below them, or the call to where it belongs; see docs/decisions/rooms.md." call_circles
exit 0
