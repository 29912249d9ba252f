#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-manuals: the manual pages are installed, mandoc finds no fault in them, and they name each
# option of the programs and each environment variable.
set -u
. "$AQ_SRC/tests/run-functions.sh"
prefix=$AQ_BUILD/installed
pages="man3/aqueduct.3 man3/aqueduct_large.3 man3/aqueduct_spawn.3 man1/gasnetrun.1 man1/gasnet_info.1 man1/gasnet_perf.1 man1/gasnet_recon.1 man1/gasnet_wipe.1 man1/gasnet_boot.1 man1/gasnet_grow.1 man1/gasnet_shrink.1 man1/gasnet_halt.1 man1/gasnet_top.1 man1/gasnet_view.1 man7/gasnet.7 man7/gasnet_probes.7"

faults()
{
    local page
    for page in $pages; do
        mandoc -T lint -W warning "$page" 2>&1
    done
}

# unnamed PAGE COMMAND ...: the command prints the options that the page must name
unnamed()
{
    local word
    for word in $("${@:2}" | grep -oE '(^|[[:space:](])--?[A-Za-z][a-z]*' | grep -oE -- '-.*' | sort -u); do
        sed 's/\\-/-/g' "$1" | grep -qwe "$word" || echo "$1 does not name the option $word."
    done
}

unnamed_variables()
{
    local variable
    for variable in $("$prefix/bin/gasnet_info" -e | grep -oE '^(    )?[A-Z][A-Z_0-9*]+$' | sort -u); do
        grep -qxF ".B $variable" man7/gasnet.7 || echo "gasnet(7) does not name $variable."
    done
}

extensions_without_text()
{
    local name header
    for header in aqueduct aqueduct_coll aqueduct_large aqueduct_msg aqueduct_stream; do
        for name in $(grep -oE '\bgasnetx_[A-Za-z_]+(\(|_t\b)' "$prefix/include/$header.h" | tr -d '(' | sort -u); do
            grep -q "\b$name\b" "man3/$header.3" || echo "$header(3) does not describe $name."
        done
    done
}

programs_without_page()
{
    local program
    for program in "$prefix"/bin/*; do
        [ -e "man1/${program##*/}.1" ] || echo "${program##*/} has no manual page."
    done
}

# The default that check-build.sh gave to configure, in what is generated.
default_spawner()
{
    sed -n '/^\.B GASNET_OFI_SPAWNER$/,/^\.TP/p' man7/gasnet.7 | grep -q 'Default: fork\.' || echo "gasnet(7) lacks the default."
    "$prefix/bin/gasnet_info" | grep -qE '^ +default of ofi +fork: by configure --with-ofi-spawner$' || echo "gasnet_info lacks the default."
}

command -v mandoc >/dev/null || skip "mandoc is not installed (package mandoc)"
cd "$prefix/share/man" || exit
fail_on_output "Each installed program has a page, if only one that leads to another." programs_without_page
fail_on_output "These faults are in the manual pages." faults
fail_on_output "The manual pages have to say all." unnamed man1/gasnetrun.1 "$prefix/bin/gasnetrun_smp" -h
fail_on_output "The manual pages have to say all." unnamed man1/gasnet_info.1 "$prefix/bin/gasnet_info" --help
fail_on_output "The manual pages have to say all." unnamed man1/gasnet_perf.1 "$prefix/bin/gasnet_perf" --help
fail_on_output "The manual pages have to say all." unnamed man1/gasnet_recon.1 "$prefix/bin/gasnet_recon" --help
fail_on_output "The manual pages have to say all." unnamed man1/gasnet_wipe.1 "$prefix/bin/gasnet_wipe" --help
for program in boot grow shrink halt top; do
    fail_on_output "The manual pages have to say all." unnamed man1/gasnet_$program.1 "$prefix/bin/gasnet_$program" --help
done
fail_on_output "Each extension has to be described." extensions_without_text
fail_on_output "The list comes from gasnet_info --man." unnamed_variables
fail_on_output "Conduit ofi has a default spawner." default_spawner
[ "$(grep -c '^\.B GASNET_' man7/gasnet.7)" -gt 20 ]
