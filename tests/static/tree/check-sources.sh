#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-sources: each C file of the tree is named in Makefile.am or in a conduit's Makefile.inc, and each file
# named there exists. Files outside of a conduit's folder name the conduit in at most three lines.
set -u
. "$AQ_SRC/tests/run-functions.sh"
cd "$AQ_SRC" || exit

# A unit test is listed by its program's name, without .c.
named()
{
    cat Makefile.am conduits/*/Makefile.inc | grep -v '^#' | grep -oE '[a-z_0-9-]+(/[A-Za-z_0-9.-]+)+' |
        sed -E 's!^(tests/[^.]*/test_[a-z0-9_]*)$!\1.c!' | grep '\.[ch]$' | grep -v -e '^core/gasnet_config.h$' -e '-conduit/' | sort -u
}

missing()
{
    comm -23 <(sources) <(named) | sed 's!$!: not in Makefile.am.!'
    comm -13 <(sources) <(named) | sed 's!$!: in Makefile.am, but not in the tree.!'
}

# Identifiers that the conduit's headers declare, as one regular expression.
declared_by()
{
    find "conduits/$1" -name '*.h' -exec grep -hvE '^ *(//|#include)' {} + | grep -oiE "\\b(aq_)?$1_[a-z_0-9]+" | sort -u | paste -sd'|'
}

# Lines of code that name the conduit: by its folder, its switches, a name that it declares, or as a whole string.
# Sentences for people are not counted. A spawner may have the name of a conduit.
lines_with()
{
    local text="\"(gasnetrun_)?$1\""
    ! grep -qE "^#define AQ_SPAWNERS .*\b$1\b" other/base/settings/settings.h || text="\"gasnetrun_$1\""
    grep -nE "conduits/$1/|conduits\], \[.*\b$1\b|(enable|disable)[_-]$1([^a-z_-]|\$)|conduit[_-]$1\b|AQ_CONDUIT_${1^^}|\b$1_sources|gasnet(run)?[_-]$1\b|(test|fuzz)_$1\b|^[a-z_]+ = $1\$" \
        configure.ac Makefile.am GNUmakefile other/packaging/*.in | grep -vE '^[^:]*:[0-9]*: *(#|dnl)'
    sources | grep -vE '^(tests|examples|conduits/[^/]*/)|^extended/gasnet|^core/gasnet|^other/programs/gasnet_info/' |
        xargs grep -nE "^([^/]|/[^/])*($text|conduits/$1/|\b($(declared_by "$1"))\b)"
}

shared_lines()
{
    local conduit lines
    for conduit in $(cd conduits && ls -d */ | tr -d / | grep -vx common); do
        lines=$(lines_with "$conduit")
        [ "$(wc -l <<<"$lines")" -le 3 ] || sed "s!\$! (conduit $conduit)!" <<<"$lines"
        [ -n "$lines" ] || echo "No shared line names conduit $conduit; this check is out of date."
    done
}

fail_on_output "Bring the lists at the top of Makefile.am and the tree together." missing
fail_on_output "More than three shared lines name a conduit: move them into its folder (conduits/README.md)." shared_lines
exit 0
