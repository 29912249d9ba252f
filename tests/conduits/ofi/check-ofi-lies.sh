#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check-ofi-lies: a provider that does not do what it offers, that loses a peer, or that takes fewer
# receives than a job needs (the fake one, fake_provider.c). The conduit either does without, or one sentence of one rank ends the job.
set -u
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"

[ -e "$AQ_BUILD/modules/aq_conduit_ofi.so" ] || {
    echo 'skipped: conduit ofi was not built (package libfabric-dev)'
    exit 77
}
export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=ofi GASNET_SUPERNODE_MAXSIZE=1
export GASNET_OFI_PROVIDER=fake GASNET_EXITTIMEOUT=2
export FI_PROVIDER_PATH=$AQ_BUILD/providers

# lies CODE WORDS PROGRAM ...: one rank of three has a provider with these words. The job ends with
# this exit code, and does not hang.
lies()
{
    local code=$1 words=$2
    shift 2
    rmdir "$work/once" 2>/dev/null
    expect "$code" timeout 60 "$AQ_BUILD/gasnetrun_ofi" -n 3 bash -c '
        if mkdir "$0" 2>/dev/null; then export FAKE_OFI=$1; fi
        exec "${@:2}"' "$work/once" "$words" "$@" am_args am_medium rma_values barrier_am
}

# ends_by WORDS TEXT PROGRAM ...: the job ends with one message, which has the text.
ends_by()
{
    lies 1 "$1" "${@:3}"
    says "$2"
}

seq=$AQ_BUILD/conform-seq
par="$AQ_BUILD/conform-par --threads 2"
lies 0 lie-inject,lie-multi "$seq"
silent
# shellcheck disable=SC2086
lies 0 lie-inject,lie-multi,again $par
silent
GASNET_OFI_RMA=0 lies 0 lie-rma "$seq"
# shellcheck disable=SC2086
ends_by lie-rma 'provider fake offers to access memory of other processes, and does not do it' $par
says 'set GASNET_OFI_RMA=0, or choose another one with GASNET_OFI_PROVIDER'
# without inject=0 the provider does not say which peer it has lost
ends_by lost=3,inject=0 'the connection to rank ' "$seq"
says 'is lost (Connection reset by peer, by fake on fake0): that process or its host has ended'
# shellcheck disable=SC2086
ends_by lost=40 'is lost (Connection reset by peer, by fake on fake0)' $par
FAKE_OFI=no-multi,posts=8 expect 1 timeout 60 "$AQ_BUILD/gasnetrun_ofi" -n 9 "$seq" am_args
says 'provider fake takes 8 receive buffers, and a job of 9 ranks needs one for each rank'
