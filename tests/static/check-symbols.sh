#!/bin/bash
# build-symbols: the shared libraries export the public names and nothing else: those of
# tests/static/symbols.list.
#   check-symbols.sh --update    writes that list anew, from the build in AQ_BUILD
set -u
. "$AQ_SRC/tests/run-functions.sh"
[ -e "$AQ_BUILD/.libs/libaqueduct.so" ] || skip "this build has no shared library"

exported()
{
    nm -D --defined-only --format=posix "$1" | awk '{ print $1 }' | sed 's/@.*//'
}

# Clients may be linked against these symbols: removing one requires a new version of the library.
changed()
{
    diff "$AQ_SRC/tests/static/symbols.list" <(exported "$AQ_BUILD/.libs/libaqueduct.so" | LC_ALL=C sort -u) |
        sed -n 's/^< /no longer exported: /p; s/^> /not in tests\/symbols.list: /p'
}

strangers()
{
    local lib
    for lib in "$AQ_BUILD"/.libs/lib*.so; do
        exported "$lib" | grep -vE '^(gex|gasnet|gasnett|gasnetx|aq_api)_' | sed "s!^!${lib##*/} exports !"
    done
}

if [ "${1-}" = --update ]; then
    exported "$AQ_BUILD/.libs/libaqueduct.so" | LC_ALL=C sort -u >"$AQ_SRC/tests/static/symbols.list"
    exit
fi
exported "$AQ_BUILD/.libs/libaqueduct.so" | grep -q '^gex_' || {
    echo "libaqueduct.so exports no symbol gex_*; mark the public functions as visible."
    exit 1
}
fail_on_output "Public names begin with gex_, gasnet_, gasnett_, gasnetx_ or aq_api_." strangers
fail_on_output "Wanted? Then run AQ_SRC=. AQ_BUILD=build tests/static/check-symbols.sh --update" changed
for lib in "$AQ_BUILD"/.libs/libgasnet-*.so; do
    [ "$(exported "$lib")" = aq_api_link ] || {
        echo "${lib##*/} should export aq_api_link only, but exports: $(exported "$lib" | xargs)"
        exit 1
    }
    readelf -d "$lib" | grep -q 'NEEDED.*libaqueduct\.so' || {
        echo "${lib##*/} does not need libaqueduct.so; see shim_ldflags in Makefile.am."
        exit 1
    }
done
exit 0
