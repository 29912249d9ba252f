/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared memory of a team (extended/coll/coll_shm.h), on processors that reorder accesses: see
 * weak_memory.pml.
 *
 * RANKS ranks make OPERATIONS operations, of one of two kinds in turn: in even ones all ranks post
 * and read the posts of all, in odd ones rank 0 posts and the others read. An area has two posts,
 * used in turn, where the library has four. Checked: each post is read as it was written, and
 * written only when it was read by all.
 *
 * A rank asks `done` of the others only if it does not know by an operation of all that they are
 * done with the one before.
 *
 * BROKEN   1 the phase of a post is stored relaxed    2 the phase is loaded relaxed
 *          3 `done` is stored relaxed                 4 `done` is loaded relaxed
 *          5 an operation of all tells that all are done with itself, not with the one before
 */
#define RANKS 2
#ifndef OPERATIONS
#define OPERATIONS 6
#endif
#define POSTS 2
#define THREADS RANKS
#define STORES 8
#define PHASE(rank, phase) ((rank) * POSTS + (phase) % POSTS)
#define BYTES(rank, phase) (RANKS * POSTS + (rank) * POSTS + (phase) % POSTS)
#define DONE(rank) (2 * RANKS * POSTS + (rank))
#define LOCATIONS (2 * RANKS * POSTS + RANKS)
#include "weak_memory.pml"

#define ALL_POST (phase % 2 == 0)
#define VALUE(rank, phase) (16 * (rank) + (phase))

/* Waits until all members are done with a phase. */
inline wait_for_room(before)
{
    other = 0;
    do
    :: before <= 0 || all_done >= before || other == RANKS -> break
    :: else ->
        load(me, DONE(other), now, ORDER(4));
        if
        :: now >= before -> other++
        :: else
        fi
    od
}

inline post()
{
    wait_for_room(phase - POSTS);
    plain_write(me, BYTES(me, phase), VALUE(me, phase));
    store(me, PHASE(me, phase), phase, ORDER(1))
}

inline read(rank)
{
    do
    :: load(me, PHASE(rank, phase), now, ORDER(2));
        if
        :: now == phase -> break
        :: else
        fi
    od;
    plain_read(me, BYTES(rank, phase), now);
    assert(now == VALUE(rank, phase))
}

proctype member(byte me)
{
    byte phase = 1, all_done, other, now;
    do
    :: phase > OPERATIONS -> break
    :: else ->
        if
        :: ALL_POST || me == 0 -> post()
        :: else
        fi;
        if
        :: ALL_POST ->
            other = 0;
            do
            :: other == RANKS -> break
            :: other == me -> other++
            :: else -> read(other); other++
            od
        :: !ALL_POST && me != 0 -> read(0)
        :: else
        fi;
        store(me, DONE(me), phase, ORDER(3));
        if
        :: ALL_POST -> all_done = (ORDER(5) -> phase - 1 : phase)
        :: else
        fi;
        phase++
    od
}

init
{
    atomic {
        byte rank;
        do
        :: rank < RANKS -> run member(rank); rank++
        :: else -> break
        od
    }
}
