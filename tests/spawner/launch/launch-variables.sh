#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-variables: effects of good and bad values of the variables, with and without a launcher.
set -u
. "$(dirname "$0")/launch-functions.sh"
hello=$AQ_BUILD/hello
bad_calls=$AQ_BUILD/bad_calls
conform_seq=$AQ_BUILD/conform-seq

# bad VALUE-OF-A-TYPE: prints a value that a variable of this type, as gasnet_info -e describes it,
# refuses.
bad_value()
{
    case $1 in
    'one of '*) echo carrier-pigeon ;;
    'a whole number'*) echo 1.5 ;;
    'a number'*) echo soon ;;
    'a power of 2'* | '0 or a power'*) echo 24 ;;
    'yes '*) echo perhaps ;;
    'a size'*) echo 12XB ;;
    'a memory limit'*) echo 1.5/H ;;
    'a list of signals'*) echo SIGNOSUCH ;;
    'a list of ranks'*) echo 1-x ;;
    'a port such as'*) echo 70000 ;;
    text) ;; # any text is one
    *) fail "gasnet_info -e describes values as '$1', which this test does not know" ;;
    esac
}

# refuses TEXT ...: standard error has one message with each of the texts; the exit code is not 0.
refuses()
{
    local code=0 text
    "${command[@]}" >"$work/out" 2>"$work/err" || code=$?
    [ $code -ne 0 ] || fail "exit code 0 with $*"
    for text in "$@"; do
        says "$text"
    done
    [ ! -s "$work/out" ] || fail "the program ran nevertheless"
}

# Every variable that can have illegal values, from the program's own list.
checked=0
while read -r name && read -r legal; do
    legal=${legal%%; default:*}
    value=$(bad_value "$legal") || exit 1
    [ -n "$value" ] || continue
    command=(env "$name=$value" "$run" -n 4 "$hello")
    refuses "$name: '$value' is not $legal"
    command=(env GASNET_PSHM_NODES=4 "$name=$value" "$hello")
    refuses "$name: '$value' is not $legal"
    checked=$((checked + 1))
done < <("$AQ_BUILD/gasnet_info" -e | grep -A1 '^GASNET_' | grep -v '^--')
[ $checked -ge 20 ] || fail "only $checked variables were tried"

# Numbers out of range name the range.
command=(env GASNET_PSHM_NODES=0 "$hello")
refuses "GASNET_PSHM_NODES: '0' is not a whole number from 1 to 4096"
command=(env GASNET_PSHM_NETWORK_DEPTH=3 "$run" -n 2 "$hello")
refuses "GASNET_PSHM_NETWORK_DEPTH: '3' is not a whole number from 4 to 1024"

# Conduits. The launcher's own name overrides the variable.
expect 0 env GASNET_CONDUIT=nosuch "$run" -n 4 "$hello"
silent
code=0
GASNET_PSHM_NODES=4 GASNET_CONDUIT=nosuch "$hello" >"$work/out" 2>"$work/err" || code=$?
[ $code -ne 0 ] || fail "a conduit that does not exist is taken"
[ "$(grep -c "no conduit 'nosuch'" "$work/err")" -eq 1 ] || fail "GASNET_CONDUIT=nosuch is not named once"
for limit in 1 2 3; do
    code=0
    GASNET_SUPERNODE_MAXSIZE=$limit "$run" -n 4 "$hello" >"$work/out" 2>"$work/err" || code=$?
    [ $code -ne 0 ] || fail "smp reaches across neighbourhoods of $limit"
    [ "$(grep -c 'unset GASNET_SUPERNODE_MAXSIZE' "$work/err")" -eq 1 ] || fail "GASNET_SUPERNODE_MAXSIZE is not named once"
done
for limit in 0 4 5; do
    expect 0 env GASNET_SUPERNODE_MAXSIZE=$limit "$run" -n 4 "$hello"
    silent
done

# Segments: the limit that the variable gives, as gasnet_attach prints it. $memory is the base of
# fractions, in bytes: the limit of one process that may have all of it.
segment_limit()
{
    expect 0 env GASNET_MAX_SEGSIZE="$1" "$run" -n 2 "$bad_calls" legacy-attach-large
    sed -n 's/^expect: .* than this rank may have (\([0-9]*\)).*/\1/p' "$work/out" | sort -u
}
memory=$(segment_limit 1.0/P) || exit 1
limit_is()
{
    local limit low=$2 high=$3
    limit=$(segment_limit "$1") || exit 1
    [ "$limit" -ge "$low" ] && [ "$limit" -le "$high" ] ||
        fail "GASNET_MAX_SEGSIZE=$1 gives $limit, not $low to $high"
}
limit_is 64K 65536 65536
limit_is 1G 1073741824 1073741824
limit_is 256MB/P 268435456 268435456
limit_is 0.25/P $((memory / 4 - 4096)) $((memory / 4 + 4096))
limit_is 512MB/H 134217728 268435456 # two ranks, with their rings
limit_is 0.5/H $((memory / 8)) $((memory / 4))
# gex_Segment_Attach may exceed it, and one rank warns.
expect 0 env GASNET_MAX_SEGSIZE=64K "$run" -n 3 "$AQ_BUILD/conform-seq" query_segments
says 'is larger than gasnet_getMaxLocalSegmentSize() (65536)'
expect 0 env GASNET_MAX_SEGSIZE=64K GASNET_QUIET=1 "$run" -n 3 "$AQ_BUILD/conform-seq" query_segments
silent
expect 0 env GASNET_MAX_SEGSIZE=64K "$run" -n 2 "$AQ_BUILD/gasnet_perf" put --size 64,1M --time 0.001
grep -q '1048576 bytes left out' "$work/err" "$work/out" || fail "gasnet_perf does not say what it leaves out"
expect 1 env GASNET_SUPERNODE_MAXSIZE=1 "$run" -n 2 "$AQ_BUILD/gasnet_perf" put
grep -q 'conduit smp cannot reach across 2 neighbourhoods' "$work/err" || fail "gasnet_perf does not say why it cannot start"

# What is printed about the variables, and how to silence warnings.
expect 0 env GASNET_VERBOSEENV=1 GASNET_SPIN_US=7 GASNET_PSHM_NODES=4 "$conform" code 0
printf '%s\n' 'GASNET_PSHM_NODES = 4' 'GASNET_SPIN_US = 7' 'GASNET_VERBOSEENV = yes' >"$work/wanted"
cmp -s "$work/wanted" "$work/err" || fail "GASNET_VERBOSEENV does not print what is given, once"
expect 0 env GASNET_VERBOSEENV=1 GASNET_SPIN_US=7 "$run" -n 4 "$conform" code 0
[ "$(grep -c '^GASNET_SPIN_US = 7$' "$work/err")" -eq 1 ] || fail "GASNET_VERBOSEENV does not print once"
! grep -q GASNET_SPAWN_CONTROL "$work/err" || fail "GASNET_VERBOSEENV prints what the launcher set for itself"

# A variable of GASNet without effect here: said once, listed with GASNET_VERBOSEENV instead, and
# not said to users who want no warnings.
expect 0 env GASNET_TRACEFLUSH=1 GASNET_OFI_DEVICE= "$run" -n 4 "$conform" code 0
says 'GASNET_TRACEFLUSH has no effect: a trace is written when the job ends, whole lines at once'
expect 0 env GASNET_TRACEFLUSH=1 GASNET_QUIET=1 "$run" -n 4 "$conform" code 0
silent
expect 0 env GASNET_TRACEFLUSH=1 GASNET_VERBOSEENV=1 GASNET_PSHM_NODES=4 "$conform" code 0
printf '%s\n' 'GASNET_PSHM_NODES = 4' 'GASNET_VERBOSEENV = yes' \
    'GASNET_TRACEFLUSH = 1 (no effect: a trace is written when the job ends, whole lines at once)' >"$work/wanted"
cmp -s "$work/wanted" "$work/err" || fail "GASNET_VERBOSEENV does not list variables without effect"
expect 0 env GASNET_SPIN_UZ=7 "$run" -n 1 -v "$conform" code 0
grep -qF "did you mean GASNET_SPIN_US?" "$work/err" || fail "-v does not warn of a name that is not known"
expect 0 env GASNET_SPIN_UZ=7 GASNET_QUIET=1 "$run" -n 1 -v "$conform" code 0
! grep -q GASNET_SPIN_UZ "$work/err" || fail "GASNET_QUIET does not leave out warnings"
expect 1 env GASNET_QUIET=1 "$run" -n 2 sh -c 'exit 1'
grep -q 'exit code 1' "$work/err" || fail "GASNET_QUIET leaves out an error"

# Values that change only the speed.
for mode in auto spin block spinblock BLOCK; do
    expect 0 env GASNET_WAITMODE=$mode "$run" -n 3 "$conform_seq" blockuntil
done
for depth in 4 64; do
    for flood in am_flood_mixed am_deadlock; do
        expect 0 env GASNET_PSHM_NETWORK_DEPTH=$depth "$run" -n 3 "$conform_seq" $flood
    done
done
exit 0
