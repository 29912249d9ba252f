#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-pages: the pages of a segment after attach: none, all of them (GASNET_SEGMENT_TOUCH), huge
# ones (GASNET_USE_HUGEPAGES), from the pools of this host or from the kernel, or a sentence of one
# rank where there are none of these.
set -u
. "$(dirname "$0")/launch-functions.sh"
pages=$AQ_BUILD/attach_pages
size=$((100 << 20))

# found THERE HUGE [RANKS]: what all ranks have found, each in bytes or a pattern; the segments begin
# at a multiple of 2 MiB.
found()
{
    local line count=0 ranks=${3:-3}
    while read -r line; do
        count=$((count + 1))
        [[ $line =~ ^[0-9]+:\ at\ 0x[0-9a-f]*[02468ace]00000\ there\ ($1)\ huge\ ($2)\ seconds\ [0-9.]+$ ]] ||
            fail "not there $1, huge $2: $line"
    done <"$work/out"
    [ $count = "$ranks" ] || fail "$count lines instead of $ranks"
}

for conduit in smp udp; do
    export GASNET_CONDUIT=$conduit
    run=$AQ_BUILD/gasnetrun_$conduit
    expect 0 "$run" -n 3 "$pages" 100M
    silent
    found 0 0
    expect 0 env GASNET_SEGMENT_TOUCH=1 GASNET_VERBOSE=1 "$run" -n 3 "$pages" 100M
    # A busy machine may take longer than 2 seconds, after which the rank tells how far it is.
    ! grep -qv 'gex_Segment_Attach: .* of the segment have their pages after' "$work/err" ||
        fail "messages where there should be none"
    found $size 0
done

# without_pool: what all ranks find where the pool has not enough pages.
without_pool()
{
    expect 0 env GASNET_SEGMENT_TOUCH=1 GASNET_USE_HUGEPAGES=1 "$run" -n 3 "$pages" 100M
    if [ ! -e $shared ]; then
        says "has no huge pages for shared memory (there is no $shared)"
        found $size 0
    elif grep -q '\[\(never\|deny\)\]' $shared; then
        says "gives shared memory no huge pages ($shared is 'never') and has no free ones for these segments in its pool"
        found $size 0
    else
        silent
        found $size $size
    fi
    [ "$(grep -c 'HUGEPAGES' "$work/err")" -le 1 ] || fail "more than one rank of the host says that"
}

# Other programs may take pages of a pool meanwhile: a job of MPICH takes three for each rank.
spare=64

# pool_set COUNT: returns whether the host has so many pages in its pool now.
pool_set()
{
    echo "$1" 2>/dev/null >$pool && [ "$(cat $pool)" = "$1" ] &&
        [ "$(awk '$1 == "Hugepagesize:" { print $2 }' /proc/meminfo)" = 2048 ]
}

# with_gigabytes: two segments of 1 GiB have a page of 1 GiB each where the host has put these aside,
# and smaller segments do not use them. Such pages take memory without gaps, which a host may lack.
with_gigabytes()
{
    [ "$(cat $gigabytes/nr_hugepages 2>/dev/null)" = 0 ] || return
    trap 'echo "$before" >$pool; echo 0 >$gigabytes/nr_hugepages; clean_up' EXIT
    echo 2 >$gigabytes/nr_hugepages
    [ "$(cat $gigabytes/nr_hugepages)" = 2 ] || return
    for conduit in smp udp; do
        export GASNET_CONDUIT=$conduit
        expect 0 env GASNET_SEGMENT_TOUCH=1 GASNET_USE_HUGEPAGES=1 GASNET_VERBOSE=1 "$AQ_BUILD/gasnetrun_$conduit" -n 2 "$pages" 1G
        grep -qF "the segments of this host have 2 huge pages of 1024 MiB of the pool of the system" "$work/err" || fail "the pool of 1 GiB is not used"
        found $((1 << 30)) $((1 << 30)) 2
        [ "$(cat $gigabytes/free_hugepages)" = 2 ] || fail "the pool of 1 GiB has not got its pages back"
    done
    pool_set $((4 + spare)) || return
    expect 0 env GASNET_SEGMENT_TOUCH=1 GASNET_USE_HUGEPAGES=1 GASNET_VERBOSE=1 "$run" -n 2 "$pages" 4M
    grep -qF "the segments of this host have 4 huge pages of 2 MiB" "$work/err" || fail "the pool of 2 MiB is not used"
    found $((4 << 20)) $((4 << 20)) 2
}

gigabytes=/sys/kernel/mm/hugepages/hugepages-1048576kB
shared=/sys/kernel/mm/transparent_hugepage/shmem_enabled
pool=/proc/sys/vm/nr_hugepages
before=$(cat $pool 2>/dev/null)
[ "$before" = 0 ] || [ -z "$before" ] || exit 0 # the pool belongs to others
without_pool
trap 'exit 1' INT TERM
if [ -w $pool ]; then
    trap 'echo "$before" >$pool; clean_up' EXIT
    if pool_set $((150 + spare)); then # no room for a second job, so each one gives its pages back
        for conduit in smp udp; do
            export GASNET_CONDUIT=$conduit
            expect 0 env GASNET_SEGMENT_TOUCH=1 GASNET_USE_HUGEPAGES=1 GASNET_VERBOSE=1 "$AQ_BUILD/gasnetrun_$conduit" -n 3 "$pages" 100M
            grep -qF "the segments of this host have 150 huge pages of 2 MiB of the pool of the system" "$work/err" || fail "the pool is not used"
            found $size $size
        done
        expect 0 env GASNET_USE_HUGEPAGES=1 "$run" -n 3 "$pages" 100M
        silent
        [ "$(awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo)" -ge 150 ] || fail "the pool has not got its pages back"
        pool_set 149 && without_pool
        with_gigabytes
    fi
fi
exit 0
