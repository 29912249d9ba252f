#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-symbols: the shared libraries export the public names and nothing else: those of
# tests/static/built/symbols.list, which debian/libaqueduct0.symbols has, too.
#   check-symbols.sh --update    writes both anew, from the build in AQ_BUILD
set -u
. "$AQ_SRC/tests/run-functions.sh"
list=$AQ_SRC/tests/static/built/symbols.list
debian=$AQ_SRC/debian/libaqueduct0.symbols
[ -e "$AQ_BUILD/.libs/libaqueduct.so" ] || skip "this build has no shared library"

exported()
{
    nm -D --defined-only --format=posix "$1" | awk '{ print $1 }' | sed 's/@.*//'
}

# Clients may be linked against these symbols: removing one requires a new version of the library.
changed()
{
    diff "$list" <(exported "$AQ_BUILD/.libs/libaqueduct.so" | LC_ALL=C sort -u) |
        sed -n 's/^< /no longer exported: /p; s/^> /not in symbols.list: /p'
}

# The symbols of libaqueduct.so in the list of the Debian package.
packaged()
{
    awk '/^[^ ]/ { ours = /^libaqueduct\.so/ } ours && sub(/^ /, "") { sub(/@.*/, ""); print }' "$debian"
}

unpackaged()
{
    diff <(packaged) "$list" |
        sed -n 's/^< /not exported, but in debian\/libaqueduct0.symbols: /p; s/^> /not in debian\/libaqueduct0.symbols: /p'
}

# Symbols that are new have the version of the package that is built now.
package()
{
    local version new
    new=$(mktemp) || exit
    version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$AQ_SRC/debian/changelog")
    awk -v version="$version" '
        NR == FNR { symbol[++count] = $1; next }
        /^[^ ]/ { ours = /^libaqueduct\.so/ }
        !ours { rest[++others] = $0; next }
        /^ / { split($1, name, "@"); known[name[1]] = $0; next }
        { print }
        END {
            for (i = 1; i <= count; i++)
                print symbol[i] in known ? known[symbol[i]] : " " symbol[i] "@Base " version
            for (i = 1; i <= others; i++)
                print rest[i]
        }' "$list" "$debian" >"$new" && cat "$new" >"$debian" && rm "$new"
}

strangers()
{
    local lib
    for lib in "$AQ_BUILD"/.libs/lib*.so; do
        exported "$lib" | grep -vE '^(gex|gasnet|gasnett|gasnetx|aq_api)_' | sed "s!^!${lib##*/} exports !"
    done
}

if [ "${1-}" = --update ]; then
    exported "$AQ_BUILD/.libs/libaqueduct.so" | LC_ALL=C sort -u >"$list"
    package
    exit
fi
exported "$AQ_BUILD/.libs/libaqueduct.so" | grep -q '^gex_' || {
    echo "libaqueduct.so exports no symbol gex_*; mark the public functions as visible."
    exit 1
}
fail_on_output "Public names begin with gex_, gasnet_, gasnett_, gasnetx_ or aq_api_." strangers
fail_on_output "Wanted? Then run AQ_SRC=. AQ_BUILD=build tests/static/built/check-symbols.sh --update" changed
fail_on_output "The same command mends the list of the Debian package." unpackaged
starts="aq_api_link gasnet_init gex_Client_Init" # shim.c, shim_start.c
for lib in "$AQ_BUILD"/.libs/libgasnet-*.so; do
    [ "$(exported "$lib" | LC_ALL=C sort | xargs)" = "$starts" ] || {
        echo "${lib##*/} should export $starts only, but exports: $(exported "$lib" | xargs)"
        exit 1
    }
    readelf -d "$lib" | grep -q 'NEEDED.*libaqueduct\.so' || {
        echo "${lib##*/} does not need libaqueduct.so; see shim_ldflags in Makefile.am."
        exit 1
    }
done
exit 0
