#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-callable: each function that is inline in a public header is a symbol of the shared libraries,
# too, for languages that do not compile the headers.
set -u
. "$AQ_SRC/tests/run-functions.sh"
prefix=$AQ_BUILD/installed
[ -e "$prefix/lib/libaqueduct.so" ] || skip "this build has no shared library"

for header in "$prefix"/include/gasnet*.h "$prefix"/include/aqueduct*.h; do
    echo "#include <${header##*/}>"
done | grep -v aqueduct_spawn >all.c
cc -E -P -DGASNET_PAR -I"$prefix/include" -I"$prefix/include/smp-conduit" all.c >all.i || exit

# Own functions of the preprocessed headers, but for helpers (aq_api_) and aliases (gasneti_).
grep -oE 'static inline[^;{]*' all.i | tr '\n' ' ' | grep -oE '\b(gex|gasnet[tx]?)_[A-Za-z0-9_]+ ?\(' |
    tr -d ' (' | sort -u >calls
nm -D --defined-only "$prefix"/lib/lib{aqueduct,gasnet-smp-par}.so | awk '$2 == "T" { print $3 }' |
    sort -u >symbols
[ "$(wc -l <calls)" -gt 400 ] || {
    echo "check-callable: found only $(wc -l <calls) inline functions."
    exit 1
}
comm -23 calls symbols | sed 's/$/: inline in a public header, and no symbol. Declare it with AQ_API_INLINE./' >missing
[ ! -s missing ] || {
    cat missing
    exit 1
}
