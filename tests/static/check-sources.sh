#!/bin/bash
# static-sources: each C file of the tree is named in Makefile.am, and each file named there exists.
set -u
. "$AQ_SRC/tests/run-functions.sh"
cd "$AQ_SRC" || exit

# A unit test is listed by its program's name, without .c.
named()
{
    grep -v '^#' Makefile.am | grep -oE '[a-z_0-9-]+(/[A-Za-z_0-9.-]+)+' |
        sed -E 's!^(tests/unit/[^.]*[a-z0-9])$!\1.c!' | grep '\.[ch]$' | grep -v -e '^core/gasnet_config.h$' -e '-conduit/' | sort -u
}

missing()
{
    comm -23 <(sources) <(named) | sed 's!$!: not in Makefile.am.!'
    comm -13 <(sources) <(named) | sed 's!$!: in Makefile.am, but not in the tree.!'
}

fail_on_output "Bring the lists at the top of Makefile.am and the tree together." missing
exit 0
