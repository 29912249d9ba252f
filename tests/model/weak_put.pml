/* SPDX-License-Identifier: BSD-3-Clause */
/* A put, and then the sign that its bytes are there, on processors that reorder accesses: see
 * weak_memory.pml.
 *
 * FLAG: the sign is another put, and the memory is mapped (extended/gasnetex_rma.h). One rank puts
 * two values and then a flag; the other waits for the flag, reads them and answers by a flag, after
 * which the first puts again. Fences that the library does not have are those of the client
 * (gasnett_local_rmb, gasnett_local_mb), or of a get.
 * NOTICE: the memory is not mapped, and the sign is a notice (extended/rma/notice.c): a thread of the
 * target stores the bytes and answers, the answer completes the put, and then a message makes
 * another thread of the target add to the counter, which a third waits for.
 * Checked: the bytes are read as they were put, and overwritten only when they were read.
 *
 * BROKEN   1 FLAG: no fence follows a put                2 FLAG: the reader of a flag does not fence
 *          3 FLAG: the client's reads are not fenced from its next put
 *          4 NOTICE: the answer is sent relaxed          5 NOTICE: it is received relaxed
 *          6 NOTICE: the notice is sent relaxed          7 NOTICE: it is received relaxed
 *          8 NOTICE: the counter grows relaxed           9 NOTICE: the client reads it relaxed
 */
#define INITIATOR 0
#define TARGET 1
#ifdef NOTICE
#define ROUNDS 3
#define STORER 2
#define COUNTING 3
#define THREADS 4
#else
#define ROUNDS 12
#define THREADS 2
#endif
#define STORES (ROUNDS + 2)
#define SIGN 0
#define BACK 1
#define REQUESTED 2
#define ANSWERED 3
#define NOTIFIED 4
#define BYTES(index) (5 + (index))
#define LOCATIONS (5 + 2)
#include "weak_memory.pml"

#define VALUE(round, index) (16 * (index) + (round))

inline await(me, location, value, acquire)
{
    do
    :: load(me, location, now, acquire);
        if
        :: now == value -> break
        :: else
        fi
    od
}

/* The flag of a round. */
inline await_flag(me, location, value)
{
    await(me, location, value, RELAXED);
    if
    :: ORDER(2) -> fence_acquire(me)
    :: else
    fi
}

inline put_ends(me)
{
    if
    :: ORDER(1) -> fence_release(me)
    :: else
    fi
}

inline write_bytes(me)
{
    plain_write(me, BYTES(0), VALUE(round, 0));
    plain_write(me, BYTES(1), VALUE(round, 1))
}

inline read_bytes(me)
{
    plain_read(me, BYTES(0), now);
    assert(now == VALUE(round, 0));
    plain_read(me, BYTES(1), now);
    assert(now == VALUE(round, 1))
}

#ifdef NOTICE
inline put_and_notify()
{
    store(INITIATOR, REQUESTED, round, true);
    await(INITIATOR, ANSWERED, round, ORDER(5));
    store(INITIATOR, NOTIFIED, round, ORDER(6));
    await(INITIATOR, BACK, round, true) /* a message of the target */
}

inline read_and_answer()
{
    await(TARGET, SIGN, round, ORDER(9));
    read_bytes(TARGET);
    store(TARGET, BACK, round, true)
}

proctype storer()
{
    byte round = 1, now;
    do
    :: round > ROUNDS -> break
    :: else ->
        await(STORER, REQUESTED, round, true);
        write_bytes(STORER);
        store(STORER, ANSWERED, round, ORDER(4));
        round++
    od
}

proctype counting()
{
    byte round = 1, now;
    do
    :: round > ROUNDS -> break
    :: else ->
        await(COUNTING, NOTIFIED, round, ORDER(7));
        change(COUNTING, SIGN, now, now + 1, RELAXED, ORDER(8));
        round++
    od
}
#else
inline put_and_notify()
{
    plain_write(INITIATOR, BYTES(0), VALUE(round, 0));
    put_ends(INITIATOR);
    plain_write(INITIATOR, BYTES(1), VALUE(round, 1));
    put_ends(INITIATOR);
    store(INITIATOR, SIGN, round, RELAXED);
    put_ends(INITIATOR);
    await_flag(INITIATOR, BACK, round)
}

inline read_and_answer()
{
    await_flag(TARGET, SIGN, round);
    read_bytes(TARGET);
    if
    :: ORDER(3) -> fence_release(TARGET)
    :: else
    fi;
    store(TARGET, BACK, round, RELAXED)
}
#endif

proctype initiator()
{
    byte round = 1, now;
    do
    :: round > ROUNDS -> break
    :: else -> put_and_notify(); round++
    od
}

proctype target()
{
    byte round = 1, now;
    do
    :: round > ROUNDS -> break
    :: else -> read_and_answer(); round++
    od
}

init
{
    atomic {
        run initiator();
        run target();
#ifdef NOTICE
        run storer();
        run counting()
#endif
    }
}
