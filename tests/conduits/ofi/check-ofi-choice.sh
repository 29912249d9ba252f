#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check-ofi-choice [list|refusals|ranks]: the choice of a provider as a user meets it. list: what
# gasnet_info prints; refusals: settings that leave no provider; ranks: ranks that choose
# differently. FI_PROVIDER hides hardware that a machine may have.
set -u
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"

[ -e "$AQ_BUILD/modules/aq_conduit_ofi.so" ] || {
    echo 'skipped: conduit ofi was not built (package libfabric-dev)'
    exit 77
}
export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_SUPERNODE_MAXSIZE=1
export FI_PROVIDER=tcp,net,udp,shm,sockets
unset GASNET_OFI_PROVIDER GASNET_OFI_DOMAIN

# row NAME PATTERN: under the title of the conduit, a line has a name and matches an extended
# regular expression.
row()
{
    sed -n '/^Conduit ofi$/,/^$/p' "$work/out" | grep -qE "^    $1 +$2" || fail "no '$1' like '$2'"
}

check_list()
{
    expect 0 "$AQ_BUILD/gasnet_info"
    row FI_PROVIDER 'tcp,net,.*hides all other providers$'
    row 'jobs on one host' 'tcp;ofi_rxm on lo: .*messages stay on this host$'
    row 'on several hosts' '.'
    row 'tcp;ofi_rxm' 'lo, 127\.0\.0\.1: not used: it reaches this host only$'
    row shm 'shm: not used: it reaches this host only$'
    row udp '.*FI_EP_DGRAM'
    [ "$(grep -cE '^    tcp;ofi_rxm +lo, 127' "$work/out")" = 1 ] || fail 'an entry is listed twice'
    expect 0 env GASNET_OFI_PROVIDER=sockets "$AQ_BUILD/gasnet_info"
    row 'jobs on one host' 'sockets on lo: as GASNET_OFI_PROVIDER says$'
    row 'tcp;ofi_rxm' '.*: not used: GASNET_OFI_PROVIDER=sockets excludes it$'
}

# refused TEXT SETTING ...: a job of two ranks with these settings ends with one message.
refused()
{
    local text=$1
    shift
    expect 1 env "$@" timeout 60 "$AQ_BUILD/gasnetrun_ofi" -n 2 "$AQ_BUILD/conform-seq" am_args
    says "$text"
}

check_refusals()
{
    refused 'FI_PROVIDER=nothing hides all providers from libfabric: unset it' FI_PROVIDER=nothing
    refused "no provider 'efa' on this host; name one of" GASNET_OFI_PROVIDER=efa
    refused 'FI_PROVIDER=shm hides all other' FI_PROVIDER=shm GASNET_OFI_PROVIDER=sockets
    refused "no domain 'ib7' on this host; provider tcp has lo" GASNET_OFI_PROVIDER=tcp \
        GASNET_OFI_DOMAIN=ib7
}

# with FIRST SECOND: a job of two ranks, of which one has the first setting and one the second, ends
# with one message.
with()
{
    rmdir "$work/once" 2>/dev/null
    expect 1 timeout 60 "$AQ_BUILD/gasnetrun_ofi" -n 2 bash -c '
        if mkdir "$0"; then export "$1"; else export "$2"; fi 2>/dev/null
        exec "$3" am_args' "$work/once" "$1" "$2" "$AQ_BUILD/conform-seq"
}

check_ranks()
{
    with 'GASNET_OFI_PROVIDER=udp;ofi_rxd' GASNET_OFI_PROVIDER=sockets
    says 'rank 0 has chosen provider '
    grep -qE 'provider (udp;ofi_rxd on lo .*sockets on lo|sockets on lo .*udp;ofi_rxd on lo)' "$work/err" ||
        fail 'not both providers'
    says 'the same for all ranks'
    # A host without IPv6 has one family only.
    grep -q 1 /proc/net/if_inet6 2>/dev/null || return 0
    with GASNET_OFI_DOMAIN=127.0.0.1 GASNET_OFI_DOMAIN=::1
    says 'with IPv4 addresses'
    says 'with IPv6 addresses'
}

"check_$1"
