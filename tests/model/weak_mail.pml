/* SPDX-License-Identifier: BSD-3-Clause */
/* A message through a mailbox, and the sleep of its receiver (conduits/common/mail_ring.c with one
 * thread that receives, mailbox_sleep.c), on processors that reorder accesses: see weak_memory.pml.
 *
 * Two threads of a process send MESSAGES messages through a ring with one slot. Checked: each
 * message is read as it was written; a slot is written when its last message was read.
 *
 * SLEEP: there is one thread that sends, and the receiver may begin to sleep whenever it has found
 * nothing; no limit of time ends its sleep. Also checked: no receiver sleeps for good. The receiver
 * orders the sender by membarrier. FENCES: as SLEEP, but there is none, and both sides fence.
 *
 * BROKEN   1 the flag is stored relaxed         2 the flag is loaded relaxed
 *          3 `freed` is stored relaxed          4 `freed` is loaded relaxed
 *          5 the copy of `freed` is stored and loaded relaxed by the threads of the sender
 *          6 SLEEP, FENCES: the receiver does not order its last look after sleepers++
 *          7 FENCES: the sender does not fence
 */
#define SLOTS 1
#define MESSAGES 3
#ifdef FENCES
#define SLEEP
#endif
#ifdef SLEEP
#define SLEEPS 1
#define THREADS 2
#else
#define SLEEPS 0
#define THREADS 3
#endif
#define STORES 6
#define TAIL 0
#define FREED 1
#define COPY 2 /* of freed, in the sender's process */
#define SLEEPERS 3
#define BELL 4
#define FLAG(position) (5 + (position) % SLOTS)
#define BODY(position) (5 + SLOTS + (position) % SLOTS)
#define LOCATIONS (5 + 2 * SLOTS)
#include "weak_memory.pml"

#define RECEIVER (THREADS - 1)

/* Whether there is room; the copy is written only if it changes, so that a run has an end. */
inline look_for_room(me)
{
    load(me, COPY, freed, ORDER(5));
    if
    :: tail + 1 - freed > SLOTS ->
        load(me, FREED, now, ORDER(4));
        if
        :: now != freed -> store(me, COPY, now, ORDER(5)); freed = now
        :: else
        fi
    :: else
    fi
}

inline take(me)
{
    taken = false;
    do
    :: taken -> break
    :: else ->
        load(me, TAIL, tail, RELAXED);
        look_for_room(me);
        if
        :: tail + 1 - freed <= SLOTS -> swap(me, TAIL, tail, tail + 1, taken, true, RELAXED)
        :: else
        fi
    od
}

inline wake_receiver(me)
{
#ifdef FENCES
    if
    :: ORDER(7) -> fence_full(me)
    :: else
    fi;
#endif
    load(me, SLEEPERS, now, RELAXED);
    if
    :: now > 0 -> change(me, BELL, now, now + 1, true, true)
    :: else
    fi
}

proctype sender(byte me; byte messages)
{
    byte tail, freed, now;
    bool taken;
    do
    :: messages == 0 -> break
    :: else ->
        take(me);
        plain_write(me, BODY(tail), tail + 1);
        store(me, FLAG(tail), tail + 1, ORDER(1));
        wake_receiver(me);
        messages--
    od
}

inline look(found)
{
    load(RECEIVER, FLAG(head), now, ORDER(2));
    found = (now == head + 1)
}

inline deliver()
{
    plain_read(RECEIVER, BODY(head), now);
    assert(now == head + 1);
    head++;
    store(RECEIVER, FREED, head, ORDER(3))
}

inline arm()
{
    load(RECEIVER, BELL, bell, true);
    change(RECEIVER, SLEEPERS, now, now + 1, true, true);
    if
    :: ORDER(6) ->
#ifdef FENCES
        fence_full(RECEIVER)
#else
        membarrier()
#endif
    :: else
    fi
}

proctype receiver()
{
    byte head, now, bell, sleeps;
    bool ready;
    do
    :: head == MESSAGES -> break
    :: else ->
        look(ready);
        if
        :: ready -> deliver()
        :: !ready
        :: !ready && sleeps < SLEEPS ->
            sleeps++;
            arm();
            look(ready);
            if
            :: ready -> deliver()
            :: else -> LAST(BELL) != bell /* the kernel compares, and sleeps until it differs */
            fi;
            change(RECEIVER, SLEEPERS, now, now - 1, RELAXED, RELAXED)
        fi
    od
}

init
{
    atomic {
#ifdef SLEEP
        run sender(0, MESSAGES);
#else
        run sender(0, MESSAGES - 1);
        run sender(1, 1);
#endif
        run receiver()
    }
}
