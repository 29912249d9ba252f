#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-documents: each decision has its date and its three parts, each file of measurements a date and a line in the
# index. Links of documents, files that they name and documents that sources name exist. No line of a document
# has more than 100 characters but in tables.
set -u
. "$AQ_SRC/tests/run-functions.sh"
cd "$AQ_SRC" || exit
folders='conduits|core|docs|examples|extended|firehose|messages|other|spawner|tests'

documents()
{
    ls README CONTRIBUTING
    find docs examples tests -name '*.md' -not -path '*/build/*'
    find core extended messages spawner conduits firehose other -name README.md
}

malformed_decisions()
{
    local file
    for file in docs/decisions/*.md; do
        [ "$file" != docs/decisions/README.md ] || continue
        [ "$(grep '^## ' "$file" | tr '\n' ' ')" = '## Question ## Considered ## Decision ' ] ||
            echo "$file: its parts are not Question, Considered and Decision."
        sed -n 3p "$file" | grep -qE '^20[0-9]{2}-[0-9]{2}-[0-9]{2}' || echo "$file: its third line is no date."
    done
}

malformed_measurements()
{
    local file
    for file in docs/performance/*.md; do
        [ "$file" != docs/performance/README.md ] || continue
        grep -qE '20[0-9]{2}-[0-9]{2}-[0-9]{2}' "$file" || echo "$file: it has no date."
        grep -qF "](${file##*/})" docs/performance/README.md || echo "$file: docs/performance/README.md does not name it."
    done
}

# Prints "FILE:TARGET" for each match of the pattern $1 in the documents, without the brackets and quotes around it.
targets()
{
    documents | xargs grep -oE "$1" /dev/null | tr -d '](`' | sort -u
}

broken_links()
{
    local file target
    while IFS=: read -r file target; do
        [ -e "${file%/*}/$target" ] || echo "$file: there is no $target."
    done < <(targets '\]\([^):# ]+')
    while IFS=: read -r file target; do
        [ -e "$target" ] || echo "$file: there is no $target."
    done < <(targets "\`($folders)/[A-Za-z0-9_./-]+\.[a-z0-9]+\`")
    while read -r target; do
        [ -e "$target" ] || echo "Something names $target, which is not there."
    done < <({ sources && documents; } | xargs grep -hoE '\bdocs/[a-z0-9/-]+\.md\b' | sort -u)
}

long_lines()
{
    documents | grep '\.md$' | xargs grep -nE '^[^|#].{100}' /dev/null
}

[ "$(documents | wc -l)" -gt 80 ] || { echo "check-documents: it does not find the documents."; exit 1; }
fail_on_output "docs/decisions/README.md has the form of a decision." malformed_decisions
fail_on_output "docs/performance/README.md has the form of a record of measurements." malformed_measurements
fail_on_output "A document or file that others name has moved." broken_links
fail_on_output "Wrap these lines." long_lines
exit 0
