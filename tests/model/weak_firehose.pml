/* SPDX-License-Identifier: BSD-3-Clause */
/* The regions of firehose, which are found and released without a lock (firehose/firehose_map.c),
 * on processors that reorder accesses: see weak_memory.pml.
 *
 * There is one chain, of two records with one link each. The owner's lock has one thread, which
 * adds two regions, retires one and, if there is one reader, uses its record again and retires one
 * more; READERS threads look for the region of an address, use it and release it. Checked: a region
 * that is found has this address and stays pinned until it is released; a record is pinned again
 * only when all are done with it.
 *
 * A compare and swap may come before a store that its thread has not seen. So a reader has to have
 * seen the first store to `users`, which retires a record that was never used: before it, `users`
 * is the 0 of fresh memory, and the record seems to be a region.
 *
 * BROKEN   1 `users` of a new region is stored relaxed      2 a user is added relaxed
 *          3 a link is put into its chain relaxed           4 the first link is loaded relaxed
 *          5 the link behind a new one is stored relaxed    6 a next link is loaded relaxed
 *          7 a user leaves without release                  8 an idle region is retired relaxed
 *          9 a region is retired relaxed                   10 the last user leaves without acquire
 *         11 a link is taken out relaxed                   12 the address is not looked at again
 * Order 10 needs two readers.
 */
#define OWNER 0
#define THREADS (1 + READERS)
#define STORES 9
#define CHAIN 0
#define NEXT(record) (record) /* records are 1 and 2, as their links; 0: none */
#define USERS(record) (2 + (record))
#define START(record) (4 + (record))
#define KEY(record) (6 + (record)) /* plain: what pinning sets */
#define LOCK 9                     /* what the last user of a region hands to the owner */
#define LOCATIONS 10
#include "weak_memory.pml"

#define RETIRED 8
#define WANTED 1 /* the address that readers look for */
#define OTHER 2

inline unpin(me, record)
{
    plain_write(me, KEY(record), 0)
}

inline release(me, record)
{
    change(me, USERS(record), now, now - 1, ORDER(10), ORDER(7));
    if
    :: now == RETIRED + 1 -> unpin(me, record); store(me, LOCK, 1, true)
    :: else
    fi
}

inline try_use(me, record)
{
    assert(sees[me].at[USERS(record)] > 0);
    used = false;
    do
    :: used -> break
    :: else ->
        load(me, USERS(record), now, RELAXED);
        if
        :: now >= RETIRED -> break
        :: else -> swap(me, USERS(record), now, now + 1, used, ORDER(2), RELAXED)
        fi
    od
}

inline use(me, record)
{
    load(me, START(record), now, RELAXED);
    found = (now == WANTED || !ORDER(12));
    if
    :: found -> plain_read(me, KEY(record), now); assert(now == WANTED)
    :: else
    fi;
    release(me, record)
}

proctype reader(byte me)
{
    byte link, now, steps;
    bool used, found;
    load(me, CHAIN, link, ORDER(4));
    do
    :: found || link == 0 || steps == 3 -> break
    :: else ->
        steps++;
        used = false;
        load(me, START(link), now, RELAXED);
        if
        :: now == WANTED -> try_use(me, link)
        :: else
        fi;
        if
        :: used -> use(me, link)
        :: else
        fi;
        load(me, NEXT(link), now, ORDER(6));
        link = now
    od
}

inline take_fresh(record)
{
    store(OWNER, USERS(record), RETIRED, RELAXED)
}

inline add(record, address)
{
    plain_write(OWNER, KEY(record), address);
    store(OWNER, START(record), address, RELAXED);
    store(OWNER, USERS(record), 0, ORDER(1));
    load(OWNER, CHAIN, now, RELAXED);
    store(OWNER, NEXT(record), now, ORDER(5));
    store(OWNER, CHAIN, record, ORDER(3))
}

inline unlink(record)
{
    load(OWNER, NEXT(record), next, true);
    load(OWNER, CHAIN, now, RELAXED);
    if
    :: now == record -> store(OWNER, CHAIN, next, ORDER(11))
    :: else -> store(OWNER, NEXT(now), next, ORDER(11))
    fi
}

inline retire_idle(record)
{
    swap(OWNER, USERS(record), 0, RETIRED, done, ORDER(8), RELAXED);
    if
    :: done -> unlink(record); unpin(OWNER, record)
    :: else
    fi
}

/* The last user takes the lock, ends the region and gives the record back. */
inline await_last()
{
    LAST(LOCK) == 1;
    change(OWNER, LOCK, now, 0, true, true)
}

inline retire(record)
{
    unlink(record);
    change(OWNER, USERS(record), now, now + RETIRED, ORDER(9), true);
    if
    :: now == 0 -> unpin(OWNER, record)
    :: else -> await_last()
    fi
}

inline end(record)
{
    done = false;
    if
    :: true -> retire_idle(record)
    :: true
    fi;
    if
    :: !done -> retire(record)
    :: else
    fi
}

/* Live regions do not overlap. */
proctype owner()
{
    byte now, next, first;
    bool done;
    if
    :: first = WANTED
    :: first = OTHER
    fi;
    take_fresh(1);
    add(1, first);
    take_fresh(2);
    add(2, (first == WANTED -> OTHER : WANTED));
    end(1);
#if READERS == 1
    if
    :: first == WANTED -> add(1, WANTED)
    :: true -> add(1, OTHER)
    fi;
    if
    :: true -> end(2)
    :: true -> end(1)
    fi
#endif
}

init
{
    atomic {
        byte me = 1;
        run owner();
        do
        :: me < THREADS -> run reader(me); me++
        :: else -> break
        od
    }
}
