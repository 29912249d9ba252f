#!/bin/bash
# launch-pages: the pages of a segment after attach: none, all of them (GASNET_SEGMENT_TOUCH), huge
# ones (GASNET_USE_HUGEPAGES), or a sentence of one rank where the kernel gives none of these.
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

expect 0 env GASNET_SEGMENT_TOUCH=1 GASNET_USE_HUGEPAGES=1 "$run" -n 3 "$pages" 100M
shared=/sys/kernel/mm/transparent_hugepage/shmem_enabled
if [ ! -e $shared ]; then
    says "has no huge pages for shared memory (there is no $shared)"
    found $size 0
elif grep -q '\[\(never\|deny\)\]' $shared; then
    says "gives shared memory no huge pages ($shared is 'never'), so the segments have small ones"
    found $size 0
else
    silent
    found $size $size
fi
[ "$(grep -c 'HUGEPAGES' "$work/err")" -le 1 ] || fail "more than one rank of the host says that"
exit 0
