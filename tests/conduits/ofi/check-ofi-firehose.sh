#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check-ofi-firehose: conduit ofi registers memory when it uses it. The fake provider (fake_provider.c)
# demands registration. It ends a rank whose memory is registered twice, or beyond the budget, or
# closed while an operation uses it; and an access to memory that is not registered ends the job. The
# counters of each rank say how puts and gets went. Without arguments all checks run, else these.
set -u
. "$AQ_SRC/tests/run-functions.sh"

[ -e "$AQ_BUILD/modules/aq_conduit_ofi.so" ] || skip 'conduit ofi was not built (package libfabric-dev)'

export FI_PROVIDER_PATH=$AQ_BUILD/providers GASNET_STATS=1
once=,mr-once
[[ $AQ_BUILD != */[at]san ]] || once= # sanitizers have a malloc that unmaps memory, which is still registered then
demands=mr-local,mr-virt,mr-allocated,mr-prov-key$once

# counted PATTERN WORDS RANKS PROGRAM ...: the counters of all ranks match the pattern.
counted()
{
    local pattern=$1 ranks=$3
    FAKE_OFI=$2 on_ofi fake "${@:3}" >out 2>messages &&
        [ "$(grep -cE "in registered memory: $pattern" messages)" = "$ranks" ] && return
    echo "With FAKE_OFI=$2 (${*:3}), not $ranks ranks say '$pattern':"
    cat out messages
    return 1
}

some='[0-9]{3,}'
by_provider="$some puts and gets by the provider, 0 pieces copied by peers,"

# Segments LARGE and EVERYTHING, as far as memory goes around: nothing is evicted.
plain()
{
    counted "$by_provider $some in place here; .* 0 refused; .* 0 evictions" "$demands" 2 conform-large --threads 2 \
        am_long rma_values rma_segment rma_nbi &&
        counted "$by_provider $some in place here;" "$demands,mr-endpoint,context2,reorder,again" 2 conform-everything \
            am_long rma_values rma_segment rma_nbi everything_reach &&
        counted "$by_provider .* 0 refused" "mr-allocated,message=1024,depth=4,strict,no-multi" 3 conform-large \
            am_long rma_values rma_segment
}

# With addresses as offsets, and one credit for each peer.
credits()
{
    GASNET_OFI_CREDITS_PP=1 counted "$by_provider .* 0 refused" "mr-allocated,strict,no-multi,again" 3 conform-large \
        am_long rma_values rma_nbi
}

# Each pool has room for one place of conform_memory: every place has to be requested, and evicts what
# was registered before. At the end nothing is left.
evicts()
{
    GASNET_FIREHOSE_M=64K GASNET_FIREHOSE_MAXVICTIM_M=128K GASNET_FIREHOSE_MAXREGION_SIZE=64K GASNET_PUTINMOVE_LIMIT=0 \
        counted '80 puts and gets by the provider, 0 pieces copied by peers, 80 in place here; 20 moves asked, 20 served, 0 refused; ([0-9]+) pins, \1 unpins, [3-9][0-9] evictions' \
        "$demands,mr-most=$((192 << 10)),strict" 2 conform_memory places 20 3
}

# Pools so small that nearly every operation evicts a region and moves a firehose.
tiny()
{
    export GASNET_FIREHOSE_M=8K GASNET_FIREHOSE_MAXVICTIM_M=8K GASNET_FIREHOSE_MAXREGION_SIZE=4K
    local evicts="$by_provider .*; $some moves asked, $some served, 0 refused; .* $some evictions"
    counted "$evicts" "$demands,mr-most=$((16 << 10)),strict" 2 conform-large --threads 2 rma_segment rma_nbi &&
        counted "$evicts" "$demands,mr-most=$((16 << 10)),strict,again" 2 conform-everything rma_values everything_reach
}

# A peer that can register nothing copies.
refused()
{
    local copies="0 puts and gets by the provider, $some pieces copied by peers, 0 in place here; .* 0 pins"
    counted "$copies" mr-local,mr-allocated,mr-full,again 2 conform-large --threads 2 rma_segment rma_nbi &&
        counted "$copies" mr-local,mr-allocated,mr-full,strict 2 conform-everything am_long rma_values
}

# A segment FAST that cannot be registered as a whole is registered in parts.
parts()
{
    GASNET_FIREHOSE_M=1M GASNET_FIREHOSE_MAXVICTIM_M=1M counted "$by_provider $some in place here; .* 0 refused" \
        "$demands,mr-full=$((4 << 20)),mr-most=$((32 << 20))" 2 conform-par --threads 2 am_long rma_values rma_nbi
}

# Segment FAST: only memory here outside of it is registered, and within its budget.
fast()
{
    counted "0 puts .* $some in place here; 0 moves asked, 0 served, .* 0 evictions" mr-local,mr-virt$once 2 conform-seq \
        am_long rma_values rma_nbi rma_heap &&
        GASNET_FIREHOSE_MAXVICTIM_M=256K counted '0 puts .* [0-9]{2,} in place here; 0 moves .* [0-9]{2,} evictions' \
            mr-local$once 2 conform-par --threads 2 rma_values rma_heap
}

# Without firehose: copies here, and active messages into segments.
without()
{
    GASNET_USE_FIREHOSE=0 counted '0 puts and gets by the provider, 0 pieces copied by peers, 0 in place here; 0 moves .* 0 pins' \
        "$demands" 2 conform-large am_long rma_values rma_segment
}

[ $# -gt 0 ] || set -- plain credits evicts tiny refused parts fast without
for check; do
    ("$check") || exit
done
