#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-udp-gone: a rank whose UDP socket was closed by other code reports that in one sentence,
# and the job ends.
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_CONDUIT=udp # for programs that are linked for smp
export GASNET_SUPERNODE_MAXSIZE=1

for mode in spin block; do
    expect 1 env GASNET_WAITMODE=$mode "$run" -n 2 "$AQ_BUILD/conform_busy" bare 20
    says 'the UDP socket of this rank is unusable (Bad file descriptor); check whether the program, or one of its libraries'
    [ "$(wc -l <"$work/err")" -le 3 ] || fail "more than one message"
done
