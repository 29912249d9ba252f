#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-seeds: each archive of seeds is as tests/fuzz/seed writes it, and belongs to a fuzzer.
set -u
cd "$AQ_SRC/tests/fuzz" || exit
. "$AQ_SRC/tests/run-functions.sh"

# Adds the seeds of each archive, one by one and backwards, to a new one.
changed()
{
    local archive name
    mkdir "$TMPDIR/again" && cp seed fuzz_*.c "$TMPDIR/again" || echo "The fuzzers cannot be copied."
    for archive in seeds/*.seeds; do
        name=$(basename "$archive" .seeds)
        ./seed unpack "$name" "$TMPDIR/$name" && ls -r "$TMPDIR/$name"/* | xargs "$TMPDIR/again/seed" add "$name" &&
            cmp "$archive" "$TMPDIR/again/$archive"
    done 2>&1
}

without_seeds()
{
    comm -23 <(ls fuzz_*.c | sed 's/^fuzz_\(.*\)\.c$/\1/' | grep -vx driver) <(ls seeds | sed 's/\.seeds$//')
}

# A seed of all bytes, with a space at its end, comes back as it was.
other_bytes()
{
    awk 'BEGIN { for (i = 1; i < 256; i++) printf "%c", i }' >"$TMPDIR/bytes" && printf '\0 ' >>"$TMPDIR/bytes"
    cp "$TMPDIR/bytes" "$TMPDIR/all-bytes" && "$TMPDIR/again/seed" add hosts "$TMPDIR/all-bytes" &&
        "$TMPDIR/again/seed" unpack hosts "$TMPDIR/back" && cmp "$TMPDIR/bytes" "$TMPDIR/back/all-bytes"
}

fail_on_output "Add seeds by tests/fuzz/seed." changed
fail_on_output "These fuzzers have no seeds." without_seeds
other_bytes || exit
exit 0
