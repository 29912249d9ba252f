#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-objects: no struct of the library has more than 24 fields, and no function more than 6
# parameters, but those that objects.list names, with the reason.
set -u
. "$AQ_SRC/tests/run-functions.sh"
command -v python3 >/dev/null || skip "python3 is not installed (package python3)"
tree=$AQ_SRC/tests/static/tree

too_large()
{
    (cd "$AQ_SRC" && sources | grep -Ev '^(tests|examples)/' | python3 -B "$tree/objects.py" "$@")
}

# Prints $1 times the text $2 with its number in place of %.
times()
{
    local i
    for i in $(seq "$1"); do
        printf '%s' "${2//%/$i}"
    done
}

# What the check finds in structs of 24 and 25 fields, and functions with 6 and 7 parameters. A part is one field,
# and so is a pointer to a function.
sample()
{
    local part='struct { int x, y; } p; int (*f)(int, int);'
    printf 'struct good { %s%s };\n' "$part" "$(times 22 'int a%; ')"
    printf 'typedef struct {\n%s%s\n} bad_t; // ;\n' "$part" "$(times 23 'int a%; ')"
    printf 'static int good(%sint (*f)(int, int))\n{\n    return 0;\n}\n' "$(times 5 'int a%, ')"
    printf 'void worse(%s\n           int last)\n{\n    good(1, 2, 3, 4, 5, 6, 7);\n}\n' "$(times 6 'int a%, ')"
    printf 'int gex_Public(%sint last)\n{\n    return 0;\n}\n' "$(times 9 'int a%, ')"
}

found_in_sample()
{
    sample >sample.c
    echo sample.c | python3 -B "$tree/objects.py" "$@"
}

printf 'function worse | a reason\nstruct good\n' >allowed
diff <(found_in_sample) - <<'FOUND' && diff <(found_in_sample allowed) - <<'LEFT' || { echo "check-objects: this is not what the sample has."; exit 1; }
sample.c: function worse: 7, more than 6.
sample.c: struct bad_t: 25, more than 24.
FOUND
sample.c: struct bad_t: 25, more than 24.
allowed: struct good needs no exception any more.
LEFT
fail_on_output "Divide it into parts that a reader would name, or remove the exception." too_large "$tree/objects.list"
exit 0
