#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-readme: the program in README does what README says; README, CONTRIBUTING, the README.md of
# each folder and the files of docs/ name no variable, file or function that does not exist, and
# docs/api.md names each public header. The overview has at most 240 lines, and no line of a
# document more than 100 characters but in tables.
set -u
. "$AQ_SRC/tests/run-functions.sh"
prefix=$AQ_BUILD/installed

fail()
{
    echo "check-readme: $*"
    exit 1
}

# The indented block of README that begins with the line $1, without its indent.
block()
{
    awk -v first="    $1" '$0 == first { on = 1 } on && !/^(    |$)/ { exit } on { print substr($0, 5) }' "$AQ_SRC/README"
}

# Runs one line of the session and compares what it prints with the lines under it, in any order.
run_line()
{
    eval "$1" >printed 2>&1 || fail "'$1' ends with exit code $?: $(cat printed)"
    diff <(sort printed) <(printf '%s' "$2" | sort) ||
        fail "'$1' does not print what stands in README (< printed, > README)."
    count=$((count + 1))
}

run_session()
{
    local line command= output=
    count=0
    while IFS= read -r line; do
        case $line in
        '$ '*)
            [ -z "$command" ] || run_line "$command" "$output"
            command=${line#'$ '} output=
            command=${command//DIR/$prefix}
            ;;
        ?*) output+=$line$'\n' ;;
        esac
    done
    run_line "$command" "$output"
    [ $count = 4 ] || fail "README has $count lines to type, not 4; bring this check up to date."
}

# Prints each word of the documents that matches $1 and that "$2 word" does not find.
words_without()
{
    local word
    for word in $(grep -ohE "$1" documents | sort -u); do
        "$2" "$word" || echo "$word"
    done
}

is_known()
{
    grep -qw -- "$1" known
}

is_in_sources()
{
    grep -qw -- "$1" code
}

is_file()
{
    [ -e "$AQ_SRC/$1" ]
}

strangers()
{
    words_without '\bGASNET_[A-Z_0-9]*[A-Z0-9]\b' is_known
    words_without '\b(conduits|core|examples|extended|firehose|other|spawner|tests|docs)/[A-Za-z0-9_/-]+(\.[a-z]+)*' is_file
    # The name of a header is no function.
    sed -i 's/\b[a-z0-9_]*\.h\b//g' documents
    words_without '\b(aq|smp|gex|gasnet)_[A-Za-z_0-9]*[A-Za-z0-9]\b' is_in_sources
}

unmapped()
{
    local header
    for header in "$prefix"/include/*.h; do
        grep -qwF -- "${header##*/}" "$AQ_SRC/docs/api.md" || echo "${header##*/}"
    done
}

too_long()
{
    [ "$(wc -l <"$AQ_SRC/docs/ARCHITECTURE.md")" -le 240 ] || echo "docs/ARCHITECTURE.md has more than 240 lines."
    (cd "$AQ_SRC" && grep -nE '^[^|].{100}' /dev/null $(grep '\.md$' <<<"$documents"))
}

cd "$TMPDIR" || exit
documents=$(cd "$AQ_SRC" && ls README CONTRIBUTING docs/ARCHITECTURE.md docs/api.md docs/threads.md {core,extended,firehose,spawner,other,tests,conduits,conduits/*}/README.md) ||
    fail "a document is missing."
# Without the section on names that others have.
(cd "$AQ_SRC" && cat $documents) | sed '/^## Names of GASNet-EX that this library lacks/,/^## /d' >documents
{
    "$prefix/bin/gasnet_info" -e
    cat "$prefix"/include/*.h "$prefix"/include/*-conduit/*
} >known || exit
{
    (cd "$AQ_SRC" && sources | xargs cat)
    cat "$AQ_SRC/configure.ac" "$AQ_SRC/Makefile.am" "$AQ_SRC"/conduits/*/Makefile.inc
} >code
block '#include <gasnetex.h>' >neighbours.c
block '$ export PKG_CONFIG_PATH=DIR/lib/pkgconfig PATH=DIR/bin:$PATH' >session
[ -s neighbours.c ] && [ -s session ] || fail "README has no program or no session any more."
run_session <session
fail_on_output "An overview is short: move what is too much into the README.md of a folder." too_long
fail_on_output "docs/api.md has to say what these headers are for." unmapped
fail_on_output "The documents name these, but there is no such variable, file or function." strangers
exit 0
