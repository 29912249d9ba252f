/* SPDX-License-Identifier: BSD-3-Clause */
/* The completion of operations that an event counts (core/thread/event.h), and of a fence that another
 * thread has begun (core/thread/outstanding.c), on processors that reorder accesses: see weak_memory.pml.
 *
 * A thread begins a get and a put, which one record counts; two other threads handle the answers,
 * and the first waits, and frees the record and uses it again. A fence of a fourth thread waits
 * for the first round. Checked: the bytes of a get are there when its event is complete, and when
 * the fence is; they are written after the accesses of the thread that began it.
 *
 * The network orders less than any real one does: an answer comes after its operation was counted,
 * but brings nothing else of what the first thread did.
 *
 * BROKEN   1 operations begin relaxed            2 the answer of a get does not follow them
 *          3 operations end relaxed              4 the event is tested relaxed
 *          5 `uses` is stored relaxed            6 the fence loads `uses` relaxed
 *          7 the fence loads the counter relaxed
 */
#define ROUNDS 2
#define CLIENT 0
#define GETS 1
#define PUTS 2
#define FENCE 3
#define THREADS 4
#define STORES (4 * ROUNDS + 1)
#define PENDING 0
#define USES 1
#define NOTED 2 /* the list of what the thread has begun, with its lock */
#define BYTES(round) (2 + (round))
#define LOCATIONS (3 + ROUNDS)
#include "weak_memory.pml"

#define RESULT(round) (16 + (round))

byte issued; /* the last round whose operations are on their way */

inline begin()
{
    change(CLIENT, PENDING, now, now + 1, RELAXED, ORDER(1))
}

proctype client()
{
    byte round = 1, now;
    do
    :: round > ROUNDS -> break
    :: else ->
        plain_write(CLIENT, BYTES(round), round);
        begin();
        begin();
        issued = round;
        if
        :: round == 1 -> store(CLIENT, NOTED, 1, true)
        :: else
        fi;
        do
        :: load(CLIENT, PENDING, now, ORDER(4));
            if
            :: now == 0 -> break
            :: else
            fi
        od;
        plain_read(CLIENT, BYTES(round), now);
        assert(now == RESULT(round));
        store(CLIENT, USES, round, ORDER(5));
        round++
    od
}

inline await_answer(me)
{
    atomic {
        issued >= round;
        sees[me].at[PENDING] = memory[PENDING].last
    }
}

inline end(me)
{
    change(me, PENDING, now, now - 1, RELAXED, ORDER(3))
}

proctype gets()
{
    byte round = 1, now;
    do
    :: round > ROUNDS -> break
    :: else ->
        await_answer(GETS);
        load(GETS, PENDING, now, ORDER(2));
        plain_write(GETS, BYTES(round), RESULT(round));
        end(GETS);
        round++
    od
}

proctype puts()
{
    byte round = 1, now;
    do
    :: round > ROUNDS -> break
    :: else ->
        await_answer(PUTS);
        end(PUTS);
        round++
    od
}

inline fence_looks()
{
    load(FENCE, USES, now, ORDER(6));
    over = (now != 0);
    if
    :: !over ->
        load(FENCE, PENDING, now, ORDER(7));
        over = (now == 0)
    :: else
    fi
}

proctype fence()
{
    byte now;
    bool over;
    do
    :: load(FENCE, NOTED, now, true);
        if
        :: now == 1 -> break
        :: else
        fi
    od;
    do
    :: over -> break
    :: else -> fence_looks()
    od;
    plain_read(FENCE, BYTES(1), now);
    assert(now == RESULT(1))
}

init
{
    atomic {
        run client();
        run gets();
        run puts();
        run fence()
    }
}
