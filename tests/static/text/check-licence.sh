#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# static-licence: each source has the licence of the file LICENSE in its first three lines, after the
# line that names its interpreter; and each .c file of the library and its programs has a comment
# behind that line, which says what the file contains and where it stands.
set -u
. "$AQ_SRC/tests/run-functions.sh"
cd "$AQ_SRC" || exit

# A release that make dist packed has no repository, but the files that ./bootstrap makes.
all_files()
{
    git ls-files --cached --others --exclude-standard 2>/dev/null ||
        find . -name build -prune -o -type f -printf '%P\n' |
        grep -vE '^(build-aux|m4|autom4te.cache)/|^(configure|INSTALL|(aclocal.m4|config.h.in)~?)$|(^|/)Makefile.in$'
}

# Documents, pictures and data have no line: LICENSE speaks for them.
source_files()
{
    all_files | grep -vE -e '\.(md|svg|png|json|expected|txt|list|seeds|supp|orig)$' -e '^\.[a-z-]+$' \
        -e '^(CONTRIBUTING|LICENSE|README)$' -e '^debian/(.*[^s]|[^r].*)$'
}

unlicensed()
{
    comm -23 <(source_files | sort) <(source_files | xargs -d '\n' awk '
        FNR > 3 { nextfile }
        /SPDX-License-Identifier: BSD-3-Clause( |$)/ { print FILENAME; nextfile }' | sort)
}

unopened()
{
    sources | grep -E '^(conduits|core|extended|firehose|messages|other|spawner)/.*\.c$' |
        xargs awk 'FNR == 2 { if (!/^\/\/ [^ ]/) print FILENAME; nextfile }'
}

if ! grep -qx 'BSD 3-Clause License' LICENSE; then
    echo "LICENSE has another licence than the sources name."
    exit 1
fi
if [ "$(source_files | wc -l)" -lt 1000 ]; then
    echo "This check finds fewer sources than there are."
    exit 1
fi
fail_on_output "Begin these files with the comment SPDX-License-Identifier: BSD-3-Clause." unlicensed
fail_on_output "Say in a comment on line 2 what such a file contains, and where it stands on the way." unopened
exit 0
