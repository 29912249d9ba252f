#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reserved and aligned segments (conform_space), by what they print.
#   check-space.sh refused|stray|released|narrow|filtered|unaligned RANKS COMMAND ...    the command starts a program
set -u
. "$AQ_SRC/tests/run-functions.sh"
what=$1 ranks=$2
shift 2

# Prints the sentences of the library about $1, each with the number of ranks that print it.
sentences()
{
    sed -nE "s/^\*\*\* GASNet: rank [0-9]+ of $ranks on host [^:]*: (.*$1.*)/\1/p" messages | sort | uniq -c | sed -E 's/^ *//'
}

fail()
{
    cat messages
    echo "$*"
    exit 1
}

# said COUNT PATTERN: as many ranks say that
said()
{
    [ "$(sentences "$2" | grep -c "^$1 ")" = 1 ] || fail "Not $1 ranks have said '$2' once."
}

code=0
"$@" conform_space "$what" >output 2>messages || code=$?
case $what in
refused)
    [ "$code" = 0 ] || fail "The program ended with exit code $code."
    last=$((ranks - 1))
    said "$ranks" "AttachReserved: flags are 0x1 and have to be 0"
    said "$ranks" "AttachReserved: rank 0 asks for 0 bytes"
    said "$ranks" "AttachReserved: rank 1 asks for 1099511693312 bytes and rank 0 for 1099511627776"
    said "$ranks" "AttachReserved: rank 0 has no 139637976727552 bytes of free addresses"
    said "$ranks" "AttachReserved: rank $last has no room for 1099511627776 bytes: its address space is limited to 549755813888"
    said "$ranks" "AttachReserved: rank $last has no 1099511627776 bytes of free addresses"
    said "$ranks" "AttachReserved: rank 1 has memory or libraries mapped in every range of 1099511627776 bytes"
    said 1 "Allocate: 8192 bytes at 0x[0-9a-f]* are not inside the reserved segment of rank $last"
    said 1 "Allocate: rank $last has already allocated the page at 0x[0-9a-f]*, one of 8192 bytes"
    said 1 "Free: rank $last has not allocated the page at 0x[0-9a-f]*, one of 69632 bytes"
    ;;
stray | released)
    [ "$code" != 0 ] && ! grep -q "went on" output || fail "The access to memory that is not allocated went on."
    if [ "$1" = gasnetrun_smp ]; then
        said 1 "fatal: a (put or atomic|get), .* of rank $((ranks - 1)), where it has not allocated its reserved segment"
    else
        said 1 "rank 0.*1 bytes .*in.* a segment"
    fi
    ;;
narrow)
    [ "$code" = 0 ] || fail "The program ended with exit code $code."
    said 1 "AttachReserved: rank 2 accesses the segments of 1 of its 2 neighbours by messages"
    ;;
filtered)
    [ "$code" = 0 ] || fail "The program ended with exit code $code."
    said 1 "AttachReserved: rank 0 accesses the segments of 1 of its 2 neighbours by messages.*; allow the system call userfaultfd"
    ;;
unaligned)
    [ "$code" = 0 ] || fail "The program ended with exit code $code."
    said 1 "GASNET_ALIGN_SEGMENTS=1: the segments are not at the same address at all ranks: rank 1 has memory or libraries mapped"
    ;;
esac
