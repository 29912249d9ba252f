#!/bin/bash
# launch-pages: the pages of a segment after attach: none, all of them (GASNET_SEGMENT_TOUCH), huge
# ones (GASNET_USE_HUGEPAGES), from the pool of this host or from the kernel, or a sentence of one
# rank where there are none of these.
set -u
. "$(dirname "$0")/launch-functions.sh"
pages=$AQ_BUILD/attach_pages
size=$((100 << 20))

# found THERE HUGE: what all ranks have found, each in bytes or a pattern; the segments begin at a
# multiple of 2 MiB.
found()
{
    local line count=0
    while read -r line; do
        count=$((count + 1))
        [[ $line =~ ^[0-9]+:\ at\ 0x[0-9a-f]*[02468ace]00000\ there\ ($1)\ huge\ ($2)\ seconds\ [0-9.]+$ ]] ||
            fail "not there $1, huge $2: $line"
    done <"$work/out"
    [ $count = 3 ] || fail "$count lines instead of 3"
}

for conduit in smp udp; do
    export GASNET_CONDUIT=$conduit
    run=$AQ_BUILD/gasnetrun_$conduit
    expect 0 "$run" -n 3 "$pages" 100M
    silent
    found 0 0
    expect 0 env GASNET_SEGMENT_TOUCH=1 GASNET_VERBOSE=1 "$run" -n 3 "$pages" 100M
    silent # it takes less than 2 seconds
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

# pool_set COUNT: returns whether the host has so many pages in its pool now, and no others use it.
pool_set()
{
    echo "$1" 2>/dev/null >$pool && [ "$(cat $pool)" = "$1" ] &&
        [ "$(awk '$1 == "Hugepagesize:" { print $2 }' /proc/meminfo)" = 2048 ]
}

shared=/sys/kernel/mm/transparent_hugepage/shmem_enabled
pool=/proc/sys/vm/nr_hugepages
before=$(cat $pool 2>/dev/null)
[ "$before" = 0 ] || [ -z "$before" ] || exit 0 # the pool belongs to others
without_pool
trap 'exit 1' INT TERM
if [ -w $pool ]; then
    trap 'echo "$before" >$pool; clean_up' EXIT
    if pool_set 152; then
        for conduit in smp udp; do
            export GASNET_CONDUIT=$conduit
            expect 0 env GASNET_SEGMENT_TOUCH=1 GASNET_USE_HUGEPAGES=1 GASNET_VERBOSE=1 "$AQ_BUILD/gasnetrun_$conduit" -n 3 "$pages" 100M
            grep -qF "the segments of this host have 150 huge pages of the pool of the system" "$work/err" || fail "the pool is not used"
            found $size $size
        done
        expect 0 env GASNET_USE_HUGEPAGES=1 "$run" -n 3 "$pages" 100M
        silent
        [ "$(awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo)" = 152 ] || fail "the pool has not got its pages back"
        pool_set 149 && without_pool
    fi
fi
exit 0
