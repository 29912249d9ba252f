#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-conduit-outside: follows the recipe of conduits/README.md for a conduit outside of the tree. A copy of conduit
# smp under another name, built as a module with nothing but what is installed, carries the messages of jobs: of a
# client, which finds them counted by the rings of that conduit, and of the conformance suite.
set -u
. "$AQ_SRC/tests/run-functions.sh"
prefix=$AQ_BUILD/installed
name=outside
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig GASNET_MODULE_PATH=$PWD/modules GASNET_CONDUIT=$name
flags="-std=gnu11 -O2 -Wall -Wextra -Wpedantic -Werror"

fail()
{
    echo "check-conduit-outside: $*"
    exit 1
}

# The folder, with the new name in place of the old one; and the table, under the name by which a module is found.
copy_conduit()
{
    local file
    mkdir "$name" modules
    for file in "$AQ_SRC"/conduits/smp/*.[ch]; do
        sed "s/AQ_SMP_SPAWNER/\"auto\"/; s/smp/$name/g; s/SMP/${name^^}/g; s/\baq_${name}_conduit\b/aq_conduit_module/g" "$file" \
            >"$name/$(basename "$file" | sed "s/smp/$name/")"
    done
}

build_conduit()
{
    # shellcheck disable=SC2046,SC2086
    cc $flags -Wl,-z,defs -fPIC -shared -o "modules/aq_conduit_$name.so" "$name"/*.c \
        $(pkg-config --cflags --libs aqueduct-conduit) || fail "the copy does not build."
}

# Each header for conduits says itself what it needs.
each_header_compiles_alone()
{
    local header
    (cd "$prefix/include/aqueduct" && find . -name '*.h') >headers
    [ "$(wc -l <headers)" -gt 10 ] || fail "no headers for conduits are installed."
    while read -r header; do
        echo "#include \"$prefix/include/aqueduct/$header\"" >alone.c
        # shellcheck disable=SC2046,SC2086
        cc $flags $(pkg-config --cflags aqueduct-conduit) -fsyntax-only alone.c || fail "$header does not compile alone."
    done <headers
}

# A client that sends 100 messages to its neighbour, and prints what the conduits know of them.
build_client()
{
    cat >client.c <<'END'
#include <gasnetex.h>
#include <signal.h>

static int seen;

static void greet(gex_Token_t token)
{
    (void)token;
    seen++;
}

int main(void)
{
    gex_EP_t ep;
    gex_TM_t tm;
    gex_AM_Entry_t table[] = {{GEX_AM_INDEX_BASE, (gex_AM_Fn_t)greet, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "greet"}};
    if (gex_Client_Init(NULL, &ep, &tm, "CLIENT", NULL, NULL, 0) != GASNET_OK)
        return 1;
    gex_EP_RegisterHandlers(ep, table, 1);
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    for (int i = 0; i < 100; i++)
        gex_AM_RequestShort0(tm, (gex_TM_QueryRank(tm) + 1) % gex_TM_QuerySize(tm), GEX_AM_INDEX_BASE, 0);
    GASNET_BLOCKUNTIL(seen == 100);
    raise(SIGUSR1);
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    return 0;
}
END
    # shellcheck disable=SC2046
    cc -std=gnu11 -Wall -Werror client.c -o client $(pkg-config --cflags --libs gasnet-smp-seq) || fail "the client does not build."
}

# Both ranks print the rings of the new conduit, with 100 messages in them, and no other conduit's.
messages_go_through_it()
{
    GASNET_REPORT_SIGNAL=SIGUSR1 "$prefix/bin/gasnetrun" -n 2 ./client >out 2>&1 || fail "the client fails: $(cat out)"
    [ "$(grep -cE "$name: ring of requests: [1-9][0-9]{2,} slots taken" out)" = 2 ] &&
        [ "$(grep -c 'ring of requests' out)" = 2 ] || fail "conduit $name does not carry the messages: $(cat out)"
}

# expect_refusal TEXT WORD ...: the client does not start in this environment, and is told why.
expect_refusal()
{
    ! env "${@:2}" "$prefix/bin/gasnetrun" -n 2 ./client >out 2>&1 && [ "$(grep -c "$1" out)" = 1 ] ||
        fail "with ${*:2} this should be said once: '$1', but there is: $(cat out)"
}

# gasnet_info knows the conduit and its setting.
info_lists_it()
{
    "$prefix/bin/gasnet_info" >out 2>&1 && grep -qE "^ +$name +yes$" out || fail "gasnet_info does not list $name: $(cat out)"
    env "GASNET_${name^^}_SPAWNER=fork" "$prefix/bin/gasnet_info" -e >out 2>err &&
        grep -qx "GASNET_${name^^}_SPAWNER" out && [ ! -s err ] || fail "gasnet_info -e does not list the setting of $name: $(cat err)"
}

# The suite of the main build, with the installed library.
suite_passes()
{
    local program=$1 ranks=$2
    program=$(command -v "$program")
    LD_LIBRARY_PATH=$prefix/lib ldd "$program" | grep -q "=> $prefix/lib/libaqueduct.so" || fail "$1 does not load the installed library."
    LD_LIBRARY_PATH=$prefix/lib "$prefix/bin/gasnetrun" -n "$ranks" "$program" "${@:3}" || fail "the conformance suite fails: $*"
}

copy_conduit
build_conduit
each_header_compiles_alone
build_client
messages_go_through_it
expect_refusal "no conduit '$name'" GASNET_MODULE_PATH=
expect_refusal "GASNET_${name^^}_SPAWNER: 'nothing' is not one of" "GASNET_${name^^}_SPAWNER=nothing"
expect_refusal "conduit $name cannot reach across 2 neighbourhoods" GASNET_SUPERNODE_MAXSIZE=1
info_lists_it
suite_passes conform-seq 2 all
suite_passes conform-par 3 --threads 2 am_flood_mixed am_sleeper rma_segment barrier_am concurrent_split
exit 0
