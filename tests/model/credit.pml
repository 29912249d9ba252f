/* SPDX-License-Identifier: BSD-3-Clause */
/* The credits of conduits/common/credit.h, for spin:
 *
 *     spin -a credit.pml && cc -DSAFETY -o pan pan.c && ./pan
 *
 * NODES processes send REQUESTS requests to each peer. Messages overtake each other without bound,
 * so that the model only counts the messages in flight. A handler may reply or not. Banked credits
 * may travel with any message to their owner or stay behind, because another thread may have
 * collected them.
 *
 * Checked in every state: no process has more requests in flight than its peer has buffers for, nor
 * expects more replies than its pool has buffers, and no credit is lost. An execution that cannot
 * continue must have sent all requests: spin reports any other as an invalid end state.
 *
 * With -DSTAR only process 0 sends, and its pool is smaller than the sum of the credits that its
 * peers grant: credits that are banked at the peers must not block process 0. -DEACH=1 leaves no
 * slack.
 */
#ifdef STAR
#define NODES 3
#define EACH 2
#define POOL 3
#define SLACK 1
#define REQUESTS 3
#define SENDS(a) ((a) == 0)
#else
#define NODES 2
#ifndef EACH
#define EACH 2
#endif
#define POOL EACH
#define SLACK (EACH - 1)
#define REQUESTS (8 / EACH)
#define SENDS(a) true
#endif

#define AT(a, b) ((a) * NODES + (b))
#define ON(class, a, b) (((class) * NODES + (a)) * NODES + (b))
#define REQUEST 0
#define REPLY 1

byte free[NODES * NODES];     /* credits that a may use for b */
byte pool[NODES];
byte banked[NODES * NODES];   /* credits at a, of requests of b */
byte to_send[NODES * NODES];
byte requests[NODES * NODES]; /* in flight from a to b */
byte handlers[NODES * NODES]; /* that run at b, for requests of a */
byte replies[NODES * NODES];  /* in flight from a to b, including hidden replies */
byte riding[2 * NODES * NODES]; /* credits in flight with requests, with replies */

/* The model does not know which message carries which credits: an arriving message takes any number
 * of the credits in flight in its class, and the last message takes the rest. */

inline take_along(class, a, b)
{
    if
    :: riding[ON(class, a, b)] = riding[ON(class, a, b)] + banked[AT(a, b)]; banked[AT(a, b)] = 0
    :: skip
    fi
}

inline give(class, a, b, left)
{
    if
    :: riding[ON(class, b, a)] > 0 ->
        n = riding[ON(class, b, a)];
        if
        :: left == 0
        :: left > 0 && n > 0 -> n = n - 1
        :: left > 0 -> n = 0
        fi;
        riding[ON(class, b, a)] = riding[ON(class, b, a)] - n;
        free[AT(a, b)] = free[AT(a, b)] + n;
        pool[a] = pool[a] + n;
        n = 0
    :: else
    fi
}

inline check(a, b)
{
    assert(requests[AT(a, b)] + handlers[AT(a, b)] <= EACH);
    assert(free[AT(a, b)] + requests[AT(a, b)] + handlers[AT(a, b)] + banked[AT(b, a)] +
               riding[ON(REQUEST, b, a)] + riding[ON(REPLY, b, a)] == EACH);
    replies_to = 0;
    out = 0;
    i = 0;
    do
    :: i < NODES ->
        if
        :: i != a ->
            replies_to = replies_to + replies[AT(i, a)];
            out = out + EACH - free[AT(a, i)]
        :: else
        fi;
        i++
    :: else -> break
    od;
    assert(pool[a] + out == POOL);
    assert(replies_to <= out);
    i = 0;
    out = 0;
    replies_to = 0
}

#define DONE(a, b) (to_send[AT(a, b)] == 0 && requests[AT(a, b)] == 0 && handlers[AT(a, b)] == 0)

#define QUIET(a, b) (replies[AT(a, b)] == 0 && banked[AT(a, b)] <= SLACK)

/* The actions of process a towards its peer b. */
proctype pair(byte a; byte b)
{
    byte n, i, out, replies_to;
    do
    :: atomic {
        to_send[AT(a, b)] > 0 && free[AT(a, b)] > 0 && pool[a] > 0 ->
        free[AT(a, b)]--;
        pool[a]--;
        to_send[AT(a, b)]--;
        requests[AT(a, b)]++;
        take_along(REQUEST, a, b);
        check(a, b)
       }
    :: atomic { /* a request of b arrives */
        requests[AT(b, a)] > 0 ->
        requests[AT(b, a)]--;
        handlers[AT(b, a)]++;
        give(REQUEST, a, b, requests[AT(b, a)]);
        check(a, b)
       }
    :: atomic { /* the handler replies */
        handlers[AT(b, a)] > 0 ->
        handlers[AT(b, a)]--;
        replies[AT(a, b)]++;
        riding[ON(REPLY, a, b)]++;
        take_along(REPLY, a, b);
        check(a, b)
       }
    :: atomic { /* the handler does not reply */
        handlers[AT(b, a)] > 0 ->
        handlers[AT(b, a)]--;
        banked[AT(a, b)]++;
        check(a, b)
       }
    :: atomic { /* process a sends a hidden reply */
        banked[AT(a, b)] > SLACK ->
        riding[ON(REPLY, a, b)] = riding[ON(REPLY, a, b)] + banked[AT(a, b)];
        banked[AT(a, b)] = 0;
        replies[AT(a, b)]++;
        check(a, b)
       }
    :: atomic { /* a reply of b arrives */
        replies[AT(b, a)] > 0 ->
        replies[AT(b, a)]--;
        give(REPLY, a, b, replies[AT(b, a)]);
        check(a, b)
       }
    :: DONE(a, b) && DONE(b, a) && QUIET(a, b) && QUIET(b, a) -> break
    od
}

init {
    byte a, b;
    atomic {
        do
        :: a < NODES ->
            pool[a] = POOL;
            b = 0;
            do
            :: b < NODES ->
                if
                :: a != b ->
                    free[AT(a, b)] = EACH;
                    to_send[AT(a, b)] = (SENDS(a) -> REQUESTS : 0);
                    run pair(a, b)
                :: else
                fi;
                b++
            :: else -> break
            od;
            a++
        :: else -> break
        od
    }
}
