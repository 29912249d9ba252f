#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rendezvous-start NET: processes that are started one by one find each other, in any order; exit
# codes, output, input, arguments and environment are each process's own.
set -u
. "$(dirname "$0")/rendezvous-functions.sh"
net=$1

for size in 1 2 4 7; do
    use "$net"
    all $size "$conform" pid
    all_end 0
    told
    here $size
done

# All orders of three; the master last of seven, when all others have been calling for a while.
for order in '0 1 2' '0 2 1' '1 0 2' '1 2 0' '2 0 1' '2 1 0'; do
    use "$net"
    for rank in $order; do
        call "$rank" "$rank" 3 "$conform" pid
        sleep 0.1
    done
    all_end 0
    told
    here 3
done
use "$net"
for rank in 6 5 4 3 2 1; do
    call $rank $rank 7 "$conform" pid
done
sleep 1
call 0 0 7 "$conform" pid
all_end 0
told
here 7

# Two jobs with one key, one after the other at the same port, and two at a time.
all 3 "$conform" one 1 6
all_end 6
all 3 "$conform" pid
GASNET_MASTER=127.0.0.1:$(free_port)
for rank in 0 1; do
    call "other$rank" $rank 2 "$conform" one 0 9
done
ends 9 other0 other1
all_end 0

# The name of the master; the key by descriptor, which the ranks do not have; the rank by the name
# of a variable. What the rank starts is no process of the job.
use "$net"
GASNET_MASTER=localhost:${GASNET_MASTER#*:}
call 0 0 2 env -u GASNET_KEY_FILE GASNET_KEY_FD=0 sh -c 'exec "$0" "$@" <"$2"' "$conform" args "$GASNET_KEY_FILE" '' 'a b'
key=$GASNET_KEY_FILE
GASNET_KEY_FILE=
call 1 POD_INDEX 2 env POD_INDEX=1 GASNET_KEY_FD=7 sh -c 'exec "$0" args 7<"$1"' "$conform" "$key"
all_end 0
told
printf '%s\n' "$conform" args "$key" '' 'a b' | cmp -s - "$work/0.out" || fault "arguments of rank 0"
[ ! -s "$work/1.out" ] || fault "rank 1 has printed arguments"
use "$net"
call 0 0 2 env MINE=zero "$conform" env MINE
call 1 1 2 env MINE=one "$conform" env MINE
all_end 0
[ "$(cat "$work"/[01].out | xargs)" = '0 zero 1 one' ] || fault "the environment is not that of each process"
for name in GASNET_MASTER GASNET_RANK GASNET_KEY_FILE; do
    use "$net"
    all 2 "$conform" env $name
    all_end 0
    [ "$(cat "$work"/[01].out | xargs)" = '0 1' ] || fault "$name is in the environment of a rank"
done

# Standard input is that of rank 0.
use "$net"
echo hello >"$work/input"
call 1 1 2 "$conform" echo
GASNET_RANK=0 GASNET_SIZE=2 expect 0 "$conform" echo <"$work/input"
cmp -s "$work/input" "$work/out" || fault "standard input does not reach rank 0"
all_end 0

# Exit codes.
for way in 'code 3:3' 'one 2 5:5' 'return 4:4' 'libc 6:6' 'signal 1 9:137' 'signal 0 15:143' 'abort 2:134'; do
    use "$net"
    # shellcheck disable=SC2086
    all 3 "$conform" ${way%:*}
    all_end "${way#*:}"
done
exit 0
