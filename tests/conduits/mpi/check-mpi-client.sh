#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# mpi-MPI-client: a client that calls both MPI and GASNet, over conduit mpi of the MPI $1, and the
# messages about wrong use of either.
set -u
. "$AQ_SRC/tests/run-functions.sh"
mpi=$1
by_mpirun "$mpi" 1 true || exit
client=$AQ_BUILD/mpi_client_$mpi

fail()
{
    echo "check-mpi-client: $*"
    cat out
    exit 1
}

for mode in ours theirs both; do
    on_mpi "$mpi" 3 "$client" $mode >out 2>&1 || fail "mode $mode ends with exit code $?."
    grep -q 'mpi_client: 3 ranks are done' out || fail "mode $mode did nothing."
done

GASNET_MPI_THREAD=MULTIPLE on_mpi "$mpi" 2 "$client" ours >out 2>&1 ||
    fail "with MULTIPLE the exit code is $?."

# puts WANTED VARIABLE=VALUE ...: rank 0 puts 200 times to rank 1. WANTED has a digit for each rank,
# 1 if the rank calls MPI often meanwhile: both ranks do with active messages, rank 0 does with
# one-sided calls, and neither does in a shared window. (mpirun may mix the lines of ranks.)
puts()
{
    local wanted=$1 rank packets
    shift
    (export "$@" && on_mpi "$mpi" 2 "$client" puts) >out 2>&1 ||
        fail "mode puts ends with exit code $?."
    for rank in 0 1; do
        packets=$(grep -o "200 puts, rank $rank sent [0-9]* packets" out | cut -d' ' -f6)
        [ -n "$packets" ] && [ $((packets >= 200)) = "${wanted:$rank:1}" ] ||
            fail "with $* rank $rank sent '$packets' packets."
    done
}
puts 11 GASNET_MPI_RMA=0 GASNET_MPI_SHARED_MAXSIZE=1
puts 10 GASNET_MPI_RMA=1 GASNET_MPI_SHARED_MAXSIZE=1

# counts RANKS LINE VARIABLE=VALUE ...: the ranks send active messages of all kinds; the line of
# counters of each rank matches the extended regular expression LINE.
counts()
{
    local ranks=$1 line=$2
    shift 2
    (export GASNET_STATS=1 "$@" && on_mpi "$mpi" "$ranks" conform-seq am_args am_medium am_long) \
        >out 2>&1 ||
        fail "with $* active messages end with exit code $?."
    [ "$(grep -cE "mpi: rank [0-9] in all: $line" out)" = "$ranks" ] ||
        fail "with $* the counters of the $ranks ranks do not match: $line"
}
some='[1-9][0-9]*'
none='0 messages and 0 puts and gets by MPI;'
mailbox="took $some lines of requests and $some of replies"
no_mailbox='took 0 lines of requests and 0 of replies'
counts 2 "$some messages .* $no_mailbox .*; 1 peers" GASNET_MPI_SHARED_MAXSIZE=1

# If /dev/shm has no room for shared windows, the conduit makes none; MPI itself would wait for
# ever.
small_store()
{
    unshare -m bash -c '. "$AQ_SRC/tests/run-functions.sh"
        mount -t tmpfs -o "size=$1" tmpfs /dev/shm && shift && on_mpi "$@"' - "$@"
}

no_room()
{
    GASNET_MPI_RMA=1 small_store 30m "$mpi" 2 "$client" puts >out 2>&1 ||
        fail "with a small /dev/shm the exit code is $?."
    grep -q '200 puts, rank 0 sent [2-9][0-9][0-9] packets' out ||
        fail "there is a shared window although /dev/shm has no room for it."
    [ "$mpi" = openmpi ] || return # MPICH does not start with 1 MiB
    GASNET_STATS=1 small_store 1m "$mpi" 2 conform-seq am_args >out 2>&1 ||
        fail "with 1 MiB the exit code is $?."
    [ "$(grep -cE "$some messages .* $no_mailbox .*; 1 peers" out)" = 2 ] ||
        fail "there are mailboxes although /dev/shm has no room for them."
}

shared_windows()
{
    puts 00 GASNET_MPI_RMA=0
    puts 00 GASNET_MPI_RMA=1
    puts 00 GASNET_MPI_RMA=auto
    counts 3 "$none $mailbox out of its mailbox; 0 peers" GASNET_MPI_RMA=auto
    counts 3 "$none $mailbox out of its mailbox; 0 peers" GASNET_MPI_RMA=0
    counts 4 "$some messages .* $mailbox .*; 2 peers" GASNET_MPI_SHARED_MAXSIZE=2
    counts 4 "$some messages .* $no_mailbox .*; 2 peers" GASNET_MPI_SHARED_MAXSIZE=2 \
        GASNET_SUPERNODE_MAXSIZE=2
    ! unshare -m true 2>/dev/null || no_room
}

# MPICH 5.0.2 is an MPI that shares no memory (conduits/mpi/README.md).
on_mpi "$mpi" 2 "$client" share >out 2>&1 || fail "mode share ends with exit code $?."
if grep -q 'mpi_client: 2 ranks share memory' out; then
    shared_windows
else
    left_out 'shared windows' 'this MPI puts each rank of a host alone into MPI_COMM_TYPE_SHARED'
fi

# refused MODE WORDS: the client fails in this mode, and its output contains these words.
refused()
{
    on_mpi "$mpi" 2 "$client" "$1" >out 2>&1 && fail "mode $1 ends with exit code 0."
    grep -qF "$2" out || fail "mode $1 does not say: $2"
}

# An exit that takes too long is reported, and ends with the exit code of the job.
(export GASNET_EXITTIMEOUT=1 && on_mpi "$mpi" 2 "$client" stuck) >out 2>&1
code=$?
[ $code = 3 ] || fail "mode stuck ends with exit code $code."
words='the exit timeout is over while this rank still takes leave of its launcher; see whether'
grep -q "$words" out ||
    fail "mode stuck does not say what the rank was waiting for."

# So does a return from main whose trace goes to a pipe of 64 KiB that nobody reads, which has
# room for the beginning.
mkfifo full
exec {pipe}<>full
dd if=/dev/zero of=full bs=63K count=1 2>/dev/null
# shellcheck disable=SC2016
(export GASNET_EXITTIMEOUT=0.5 GASNET_TRACE=stderr &&
    on_mpi "$mpi" 1 timeout -s KILL 15 sh -c 'exec "$1" both 2>full' sh "$client") >out 2>&1 {pipe}<&-
code=$?
[ $code = 255 ] || fail "an exit that cannot write ends with code $code."
exec {pipe}<&-

refused before 'MPI_Finalize was called before init'
refused meanwhile 'MPI_Finalize was called while conduit mpi was in use'
refused single 'MPI was started without support for threads'
refused funneled 'MPI was started without support for threads'

# Two wrong ways to start a job: by mpirun of another MPI, and without mpirun, which for MPI is a
# job of one rank.
for other in openmpi mpich; do
    [ $other = "$mpi" ] && continue
    (by_mpirun $other 1 true) >/dev/null || continue
    on_mpi $other 2 "$client" ours >out 2>&1 && fail "with mpirun of $other the exit code is 0."
    words='started 2 ranks, but .* in this program sees 1\|, which mpirun of .* started, in MPI_Init'
    grep -q "\($words\); start the program with the mpirun that belongs to the MPI" out ||
        fail "with mpirun of $other no message says which mpirun is needed."
done
GASNET_CONDUIT=mpi GASNET_SPAWNER=fork GASNET_PSHM_NODES=2 GASNET_SUPERNODE_MAXSIZE=1 \
    "$client" >out 2>&1 && fail "without mpirun the exit code is 0."
words='conduit mpi knows the ranks that mpirun started, and these are started by another spawner'
grep -q "$words" out || fail "no message says that conduit mpi needs mpirun."
! pgrep -f "^$client " >left || fail "ranks are left: $(cat left)"
exit 0
