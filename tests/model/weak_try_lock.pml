/* SPDX-License-Identifier: BSD-3-Clause */
/* The sleep of a thread beside others that receive from the same ring (conduits/common/mail_ring.c,
 * mailbox_sleep.c), on processors that reorder accesses: see weak_memory.pml.
 *
 * One message is sent. A thread that has taken the lock of the ring before it came leaves without
 * it. Another one waits for the message, or for what its handler does in the first thread; it may
 * begin to sleep, and no limit of time ends its sleep. Checked: it does not sleep for good; the
 * message is handled once, as it was written. Sleepers order the others by membarrier.
 *
 * BROKEN   1 the waiting thread sleeps without having had the lock
 *          2 the lock is dropped relaxed       3 the lock is taken relaxed
 *          4 the effect of the handler is stored relaxed, and loaded so
 *          5 the thread does not order its last look after sleepers++
 */
#define SLEEPS 1
#define SENDER 0
#define OTHER 1
#define WAITER 2
#define THREADS 3
#define STORES 10
#define FLAG 0
#define BODY 1
#define HEAD 2
#define LOCK 3
#define EFFECT 4 /* what the waiting thread waits for */
#define RESULT 5 /* plain memory that the handler writes before */
#define SLEEPERS 6
#define BELL 7
#define LOCATIONS 8
#include "weak_memory.pml"

byte handled;

inline wake(me)
{
    load(me, SLEEPERS, now, RELAXED);
    if
    :: now > 0 -> change(me, BELL, now, now + 1, true, true)
    :: else
    fi
}

proctype sender()
{
    byte now;
    plain_write(SENDER, BODY, 1);
    store(SENDER, FLAG, 1, true);
    wake(SENDER)
}

inline try_lock(me)
{
    locked = false;
    load(me, LOCK, now, RELAXED);
    if
    :: now == 0 -> swap(me, LOCK, 0, 1, locked, ORDER(3), RELAXED)
    :: else
    fi
}

/* Looks for the message; with the lock for certain, without it as a hint. */
inline look(me)
{
    load(me, HEAD, now, RELAXED);
    ready = false;
    if
    :: now == 0 ->
        load(me, FLAG, now, true);
        ready = (now == 1)
    :: else
    fi
}

inline unlock(me)
{
    store(me, LOCK, 0, ORDER(2))
}

inline handle(me)
{
    handled++;
    assert(handled == 1);
    plain_read(me, BODY, now);
    assert(now == 1);
    plain_write(me, RESULT, 1);
    store(me, EFFECT, 1, ORDER(4))
}

inline receive(me)
{
    try_lock(me);
    if
    :: locked ->
        look(me);
        if
        :: ready -> store(me, HEAD, 1, RELAXED)
        :: else
        fi;
        unlock(me);
        if
        :: ready -> handle(me); wake(me)
        :: else
        fi
    :: else
    fi
}

proctype other()
{
    byte now;
    bool locked, ready;
    receive(OTHER)
}

/* A poll, and a look at what the thread waits for. */
inline turn()
{
    look(WAITER);
    if
    :: ready -> receive(WAITER)
    :: else
    fi;
    load(WAITER, EFFECT, now, ORDER(4));
    over = (now == 1)
}

/* aq_ring_is_idle */
inline look_with_lock()
{
    try_lock(WAITER);
    if
    :: locked -> look(WAITER); unlock(WAITER); idle = !ready
    :: else -> idle = false
    fi
}

inline sleep()
{
    load(WAITER, BELL, bell, true);
    change(WAITER, SLEEPERS, now, now + 1, true, true);
    if
    :: ORDER(5) -> membarrier()
    :: else
    fi;
    turn();
    idle = !over;
    if
    :: idle && ORDER(1) -> look_with_lock()
    :: else
    fi;
    if
    :: idle -> LAST(BELL) != bell /* the kernel compares, and sleeps until it differs */
    :: else
    fi;
    change(WAITER, SLEEPERS, now, now - 1, RELAXED, RELAXED)
}

proctype waiter()
{
    byte now, bell, sleeps;
    bool locked, ready, over, idle;
    do
    :: over -> break
    :: else ->
        turn();
        if
        :: !over && sleeps < SLEEPS -> sleeps++; sleep()
        :: true
        fi
    od;
    plain_read(WAITER, RESULT, now);
    assert(now == 1)
}

init
{
    atomic {
        run sender();
        run other();
        run waiter()
    }
}
