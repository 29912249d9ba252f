#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rendezvous-commands: the commands that the launcher prints start a job; the files with the key;
# options that have no meaning there.
set -u
. "$(dirname "$0")/rendezvous-functions.sh"
use udp
unset GASNET_MASTER GASNET_KEY_FILE
cd "$work" || exit 1
print=("$AQ_BUILD/gasnetrun_udp" -spawner=rendezvous)

# What the last call of the launcher printed, run by a shell, one process for each line.
run_lines()
{
    local line number=0
    rm -f ./*.out ./*.err
    while read -r line; do
        GASNET_CONNECT_TIMEOUT=20 sh -c "exec env $line" >"$work/$number.out" 2>"$work/$number.err" </dev/null &
        process[$number]=$!
        number=$((number + 1))
    done <"$work/out"
    [ "$number" = "$1" ] || fault "$number commands instead of $1"
    all_end 0
    told
}

expect 0 "${print[@]}" -n 3 "$conform" args 'a b' "c'd"
silent
files=(gasnet-key.*)
[ "${#files[@]} $(stat -c %a "${files[0]}")" = '1 600' ] || fail "not one file with the key, mode 600: ${files[*]}"
! grep -q "$(cat "${files[0]}")" "$work/out" || fail "the key is in the commands"
run_lines 3
printf '%s\n' "$conform" args 'a b' "c'd" | cmp -s - <(cat ./*.out) || fault "arguments"
expect 0 "${print[@]}" -n 3 "$conform" pid # another key and port
run_lines 3
here 3
files=(gasnet-key.*)
[ ${#files[@]} = 2 ] && ! cmp -s "${files[@]}" || fail "no new key: ${files[*]}"

# A place and a file that the user names; the file is made once.
export GASNET_KEY_FILE="$work/my key" GASNET_MASTER=localhost:$(free_port)
for _ in 1 2; do
    expect 0 "${print[@]}" -n 2 "$conform" pid
    grep -q "^GASNET_MASTER=$GASNET_MASTER GASNET_RANK=0 GASNET_SIZE=2 GASNET_KEY_FILE='$GASNET_KEY_FILE' GASNET_CONDUIT=udp $conform pid$" "$work/out" || fail "not the command of rank 0"
    (unset GASNET_MASTER GASNET_KEY_FILE && run_lines 2 && here 2) || exit
    cp -n "$GASNET_KEY_FILE" first
    cmp -s first "$GASNET_KEY_FILE" || fail "the key file was made again"
done
[ "$(stat -c %a "$GASNET_KEY_FILE")" = 600 ] || fail "others can read the key file"
unset GASNET_KEY_FILE GASNET_MASTER

GASNET_MASTER=nowhere expect 1 "${print[@]}" -n 2 "$conform" pid
says "GASNET_MASTER: 'nowhere' is not a host and a port"
GASNET_KEY_FILE=/no/such/folder/key expect 1 "${print[@]}" -n 2 "$conform" pid
says 'the file /no/such/folder/key for the key of the job cannot be made: No such file or directory'
for option in '-H a' '-N 2' -cyclic '-c 1' -l '-E PATH'; do
    # shellcheck disable=SC2086
    expect 2 "${print[@]}" -n 2 $option "$conform" pid
    says 'spawner rendezvous prints a command for each process'
done
expect 0 "${print[@]}" -n 2 -t "$conform" pid # prints, and makes nothing
grep -q 'prints 2 commands' "$work/out" || fail "no description"
files=(gasnet-key.*)
[ ${#files[@]} = 2 ] || fail "-t has made a file"
expect 0 "$AQ_BUILD/gasnet_info"
grep -q 'rendezvous' "$work/out" || fail "gasnet_info does not list it"
exit 0
