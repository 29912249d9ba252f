#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check-ofi-fake: conduit ofi with the fake provider (fake_provider.c), which lacks what its words
# say. Without arguments, a part of the conformance suite runs for each row of the table below, in
# seconds; "all" runs many more rows, in minutes. Other arguments are rows:
#
#   tests/conduits/ofi/check-ofi-fake.sh 'seq no-rma,again' 'par as=efa'
#
# A row is a mode and a list of words for FAKE_OFI. seq: 3 ranks; par: 2 ranks with 2 threads each;
# seq1, par1: the same with one credit for each peer; everything, large: 2 ranks with these
# segments; crowd: 8 ranks, so that a provider with posts=8 takes one receive for each, and no more.
set -u
. "$AQ_SRC/tests/run-functions.sh"

[ -e "$AQ_BUILD/modules/aq_conduit_ofi.so" ] || skip 'conduit ofi was not built (package libfabric-dev)'

part='am_args am_medium am_long am_flood_mixed npam_sizes rma_values rma_segment rma_nbi atomic-count barrier_am coll_same'
more="$part am_flood_short rma_heap"

few='seq no-rma,no-atomic,no-multi,no-delivery,no-source,no-wait-fd,no-selective,inject=0,strict
par no-rma,again
seq no-delivery,reorder,late
par no-multi,no-atomic,depth=4,posts=8,strict
seq mr-local,mr-virt,mr-allocated,mr-prov-key,mr-endpoint,context2,inject=64
par mr-local,mr-endpoint,context,reorder,again,no-wait-fd
par mr-virt,mr-prov-key,no-fetch-delivery,apart,av-map,message=4096
par auto,av-table,inject=0,mr-allocated
seq as=efa
par as=cxi
seq as=psm2
par as=opx
seq1 strict,no-multi,again
par1 strict,again
crowd strict,no-multi,posts=8
everything mr-allocated,mr-virt
large mr-allocated'

single='no-rma no-atomic no-delivery no-fetch-delivery no-multi no-source no-wait-fd no-selective mr-local mr-virt
mr-allocated mr-prov-key mr-endpoint context context2 av-map av-table auto reorder strict late apart inject=0 inject=64
depth=4 posts=8 message=4096 message=1024 again again=80 as=efa as=cxi as=psm2 as=opx'
joined='no-rma,no-atomic,no-multi,no-delivery,no-source,no-wait-fd,no-selective,inject=0
mr-local,mr-virt,mr-allocated,mr-prov-key,mr-endpoint strict,no-multi strict,no-multi,inject=0,again
reorder,late,again,apart depth=1,posts=8,no-multi'

rows_all()
{
    local words
    for words in '' $single $joined; do
        echo "seq $words"
        echo "par $words"
    done
    for words in strict strict,no-multi; do
        echo "seq1 $words"
        echo "par1 $words"
    done
    for words in strict,no-multi,posts=8 strict,no-multi,posts=8,no-rma,again strict,posts=8; do
        echo "crowd $words"
    done
    for words in mr-allocated mr-local,mr-virt mr-endpoint; do
        echo "everything $words"
        echo "large $words"
    done
}

# conform PROGRAM RANKS ...: the part of the suite; what the program prints appears only if it fails.
conform()
{
    local provider=fake
    [[ $FAKE_OFI =~ as=([a-z0-9]*) ]] && provider=${BASH_REMATCH[1]}
    # shellcheck disable=SC2086
    on_ofi "$provider" "$2" "$1" "${@:3}" $part >out 2>&1 && return
    cat out
    return 1
}

# row MODE WORDS
row()
{
    local -x FAKE_OFI=${2-}
    local credits=${1//[a-z]/}
    [ -z "$credits" ] || local -x GASNET_OFI_CREDITS_PP=$credits
    case $1 in
    seq*) conform conform-seq 3 ;;
    par*) conform conform-par 2 --threads 2 ;;
    crowd) part='am_args rma_values barrier_am coll_same gather_many' conform conform-seq 8 ;;
    everything | large) conform "conform-$1" 2 ;;
    *) false ;;
    esac && return
    echo "check-ofi-fake: failed: '$1 ${2-}'"
    exit 1
}

export FI_PROVIDER_PATH=$AQ_BUILD/providers GASNET_OFI_ATOMICS=1
if [ "$*" = all ]; then
    part=$more
    rows=$(rows_all)
elif [ $# -gt 0 ]; then
    rows=$(printf '%s\n' "$@")
else
    rows=$few
fi
while read -r mode words; do
    row "$mode" "$words" </dev/null
done <<<"$rows"
