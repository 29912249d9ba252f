#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-chapel: make install-chapel creates the tree of files that Chapel's build expects. A client
# is compiled from it as Chapel does, whose own reader of package files only replaces ${name}.
set -u
. "$AQ_SRC/tests/run-functions.sh"
tree=$PWD/gasnet/install/linux64-x86_64-native-gnu-none

fail()
{
    echo "check-chapel: $*"
    exit 1
}

# field FILE NAME: prints the value of "NAME: value", with each ${...} replaced.
field()
{
    awk -v wanted="$2" '
        function expand(text, name) {
            while (match(text, /\$\{[^}]*\}/)) {
                name = substr(text, RSTART + 2, RLENGTH - 3)
                text = substr(text, 1, RSTART - 1) value[name] substr(text, RSTART + RLENGTH)
            }
            return text
        }
        /^[A-Za-z_]+ *=/ { at = index($0, "="); value[substr($0, 1, at - 1)] = expand(substr($0, at + 1)) }
        /^[A-Za-z_.]+:/ { at = index($0, ":"); if (substr($0, 1, at - 1) == wanted) print expand(substr($0, at + 1)) }' "$1"
}

make -s -C "$AQ_BUILD" install-chapel >out 2>&1 && fail "make install-chapel does not require CHPL_GASNET"
grep -q 'CHPL_GASNET=.*/third-party/gasnet/install/<cfg>' out || fail "no remedy for a missing CHPL_GASNET: $(cat out)"
make -s -C "$AQ_BUILD" install-chapel CHPL_GASNET="$tree" >out 2>&1 || fail "make install-chapel: $(cat out)"

cat >client.c <<'END'
#include <gasnetex.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t tm;
    if (gex_Client_Init(&client, &ep, &tm, "chapel", &argc, &argv, 0) != GASNET_OK)
        return 1;
    printf("%d of %d\n", (int)gex_TM_QueryRank(tm), (int)gex_TM_QuerySize(tm));
    gasnet_exit(0);
}
END
for conduit in smp udp; do
    for segment in fast large everything; do
        root=$tree/substrate-$conduit/seg-$segment
        pc=$root/lib/pkgconfig/gasnet-$conduit-par.pc
        [ -r "$pc" ] && [ -r "$root/include/$conduit-conduit/$conduit-par.mak" ] || fail "files are missing in $root"
        [[ $(field "$pc" Cflags) == *" -DGASNET_SEGMENT_${segment^^} "* ]] || fail "no segment mode in $pc"
        # shellcheck disable=SC2046
        "${CC:-cc}" $(field "$pc" Cflags) client.c -o client-$segment $(field "$pc" Libs) || fail "a client of $pc"
        "$root/bin/gasnetrun_$conduit" -n 2 ./client-$segment >out 2>&1 || fail "$root: $(cat out)"
        [ "$(sort out | xargs)" = "0 of 2 1 of 2" ] || fail "$root: $(cat out)"
    done
done
"$tree/substrate-udp/seg-fast/bin/amudprun" -np 2 ./client-everything >out 2>&1 || fail "amudprun: $(cat out)"
exit 0
