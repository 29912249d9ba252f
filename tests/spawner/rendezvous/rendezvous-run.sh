#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Starts the processes of a job one by one on this host, as a batch script would (spawner
# rendezvous), in place of a launcher: rendezvous-run.sh -n RANKS program arguments. The key is in
# $GASNET_KEY_FILE. A signal goes to the process of rank 0. The exit code is that of the last process
# whose code is not 0.
set -u
shift
ranks=$1
shift
while :; do
    port=$((10000 + RANDOM % 20000))
    (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
done
export GASNET_MASTER=127.0.0.1:$port GASNET_SIZE=$ranks
declare -A process=()
for ((rank = ranks - 1; rank >= 0; rank--)); do
    # A shell lets its background processes ignore these signals.
    GASNET_RANK=$rank env --default-signal=INT,QUIT "$@" <&0 &
    process[$rank]=$!
done
for sig in TERM INT HUP QUIT USR1 USR2; do
    trap "kill -$sig ${process[0]}" $sig
done
code=0
for pid in "${process[@]}"; do
    while :; do
        wait "$pid"
        now=$?
        kill -0 "$pid" 2>/dev/null || break # else a signal ended the wait
    done
    [ $now = 0 ] || code=$now
done
exit $code
