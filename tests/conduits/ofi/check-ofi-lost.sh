#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check-ofi-lost PROVIDER: a rank is killed while puts and gets are under way over conduit ofi. The
# launcher names it, and the job ends with 137.
set -u
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"
provider=$1
export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=ofi GASNET_OFI_PROVIDER=$provider
export GASNET_SUPERNODE_MAXSIZE=1

# begin_traffic NUMBER BYTES: starts a job with that many puts and gets of so many bytes under way.
# Sets $victim, the process of $rank.
begin_traffic()
{
    start 2 "$AQ_BUILD/gasnetrun_ofi" -n 2 "$AQ_BUILD/conform_busy" reach 60 "$1" "$2"
    wait_lines 2
    victim=$(cut -d' ' -f$((rank + 1)) <<<"$(echo $pids)")
}

# Short puts travel in messages, long ones are the provider's.
for bytes in 8 8192 1000000; do
    for rank in 0 1; do
        begin_traffic 50 $bytes
        sleep 0.1
        kill -KILL "$victim"
        ended 137
        says "rank $rank of 2 (process $victim) was killed by SIGKILL"
    done
done

# A killed rank leaves the file of its endpoint. The file has a name of the job, not of the process,
# so that it is not in the way of a later process with the same number.
if [ "$provider" = shm ]; then
    compgen -G '/dev/shm/aqueduct-*' >/dev/null || fail "endpoints of shm have no name of their job"
    for file in /dev/shm/aqueduct-*; do
        grep -qs "$file" /proc/[0-9]*/maps || rm -f "$file"
    done
fi
exit 0
