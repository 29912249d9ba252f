#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# suite-names: the script subtests, which knows the sources, names the subtests that the programs of
# the suite have.
set -u

# agree KIND < names of a program
agree()
{
    diff <(sort) <("$AQ_SRC/tests/conformance/subtests" "$1" | sort) ||
        echo "'subtests $1' names other subtests than its program has (>, <)."
}

names()
{
    "$1" --list | awk '{ print $1 }'
}

found=$(names conform-seq | agree seq
    names conform-par | grep -vxF "$(names conform-seq)" | agree threaded
    names conform-gasnet1-seq | grep -vxF "$(names conform-seq)" | agree gasnet1)
[ -z "$found" ] || { echo "$found"; exit 1; }
[ "$(names conform-seq | wc -l)" -gt 100 ]
