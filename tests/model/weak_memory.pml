/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of processors that reorder accesses, for the models weak_*.pml, which include this file.
 *
 * The rules are those of C11, as far as they can be executed step by step:
 *
 * - Each location keeps all values that were stored. A load may return any of them that is not
 *   older than what its thread has seen of this location.
 * - A release store brings all that its thread has seen to a thread whose acquire load returns it.
 *   So do a relaxed store after a release fence, a relaxed load before an acquire fence, and the
 *   changes of a location by atomic operations (add, compare and swap), which pass it on.
 * - A full fence (seq_cst) sees all that was seen at earlier full fences.
 * - membarrier is a full fence in all threads at the same moment.
 * - Plain accesses: a thread must have seen the last write, and a writer all reads before; anything
 *   else is a race of C11, and an error.
 *
 * Two things that processors do are left out. A load does not return a value that is stored later
 * (C11 allows that for relaxed accesses, without sense): where a load must come before a store of
 * the same thread, the memory that it reads is plain here, so that a missing release shows as a
 * race. And a store of a location never comes between two older ones; in the models each location
 * is written by one thread at a time.
 *
 * A model defines LOCATIONS (the numbers of its locations begin at 0), THREADS and STORES, the most
 * values of a location, and checks with BROKEN, a number, that each of its orders is needed:
 * ORDER(n) is true unless BROKEN is n.
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define ORDER(n) (BROKEN != (n))
#define RELAXED false
#define SEEN (LOCATIONS + THREADS) /* places of a view: locations, and a clock of each thread */

typedef view_t {
    byte at[SEEN]
}
typedef stored_t {
    byte value;
    view_t brings
}
typedef location_t {
    byte last; /* the number of the last store, or of the last plain write */
    stored_t held[STORES];
    byte was_read[THREADS] /* plain reads: the reader's clock */
}

location_t memory[LOCATIONS];
view_t sees[THREADS];   /* what a thread has seen */
view_t fenced[THREADS]; /* what it had seen at its last release fence */
view_t loaded[THREADS]; /* what an acquire fence would let it see */
view_t total;           /* what the full fences so far have seen */

hidden byte number, which, thread;

#define LAST(location) memory[location].held[memory[location].last].value

inline see(to, from)
{
    which = 0;
    do
    :: which < SEEN ->
        to.at[which] = (from.at[which] > to.at[which] -> from.at[which] : to.at[which]);
        which++
    :: else -> break
    od
}

inline load(me, location, to, acquire)
{
    atomic {
        number = sees[me].at[location];
        do
        :: number < memory[location].last -> number++
        :: break
        od;
        d_step {
            to = memory[location].held[number].value;
            sees[me].at[location] = number;
            see(loaded[me], memory[location].held[number].brings);
            if
            :: acquire -> see(sees[me], memory[location].held[number].brings)
            :: else
            fi;
            number = 0;
            which = 0
        }
    }
}

inline append(me, location, new, release)
{
    number = memory[location].last + 1;
    assert(number < STORES);
    memory[location].held[number].value = new;
    memory[location].last = number;
    sees[me].at[location] = number;
    if
    :: release -> see(memory[location].held[number].brings, sees[me])
    :: else -> see(memory[location].held[number].brings, fenced[me])
    fi;
    memory[location].held[number].brings.at[location] = number
}

inline store(me, location, new, release)
{
    d_step {
        append(me, location, new, release);
        number = 0;
        which = 0
    }
}

/* An atomic operation: loads the last value to `old` and stores `new`, an expression with `old`. */
inline change(me, location, old, new, acquire, release)
{
    d_step {
        old = LAST(location);
        sees[me].at[location] = memory[location].last;
        see(loaded[me], memory[location].held[memory[location].last].brings);
        if
        :: acquire -> see(sees[me], memory[location].held[memory[location].last].brings)
        :: else
        fi;
        append(me, location, new, release);
        see(memory[location].held[number].brings, memory[location].held[number - 1].brings);
        number = 0;
        which = 0
    }
}

/* A compare and swap; `done`: whether it took place. Its load is relaxed if not. */
inline swap(me, location, expected, new, done, acquire, release)
{
    atomic {
        done = (LAST(location) == expected);
        if
        :: done -> change(me, location, number, new, acquire, release)
        :: else
        fi
    }
}

inline fence_release(me)
{
    d_step {
        see(fenced[me], sees[me]);
        which = 0
    }
}

inline fence_acquire(me)
{
    d_step {
        see(sees[me], loaded[me]);
        which = 0
    }
}

inline join_total(me)
{
    see(sees[me], loaded[me]);
    see(total, sees[me])
}

inline leave_total(me)
{
    see(sees[me], total);
    see(fenced[me], total)
}

inline fence_full(me)
{
    d_step {
        join_total(me);
        leave_total(me);
        which = 0
    }
}

inline membarrier()
{
    d_step {
        thread = 0;
        do
        :: thread < THREADS -> join_total(thread); thread++
        :: else -> break
        od;
        thread = 0;
        do
        :: thread < THREADS -> leave_total(thread); thread++
        :: else -> break
        od;
        thread = 0;
        which = 0
    }
}

inline plain_read(me, location, to)
{
    d_step {
        assert(sees[me].at[location] == memory[location].last);
        to = memory[location].held[0].value;
        sees[me].at[LOCATIONS + me] = sees[me].at[LOCATIONS + me] + 1;
        memory[location].was_read[me] = sees[me].at[LOCATIONS + me]
    }
}

inline plain_write(me, location, new)
{
    d_step {
        assert(sees[me].at[location] == memory[location].last);
        thread = 0;
        do
        :: thread < THREADS ->
            assert(thread == me ||
                   sees[me].at[LOCATIONS + thread] >= memory[location].was_read[thread]);
            thread++
        :: else -> break
        od;
        thread = 0;
        memory[location].held[0].value = new;
        memory[location].last = memory[location].last + 1;
        sees[me].at[location] = memory[location].last
    }
}
