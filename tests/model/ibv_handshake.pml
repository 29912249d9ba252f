/* SPDX-License-Identifier: BSD-3-Clause */
/* The handshake of conduits/ibv/peers/ibv_handshake.h, for spin:
 *
 *     spin -a ibv_handshake.pml && cc -DSAFETY -o pan pan.c && ./pan
 *
 * Two sides, of which one or both call, exchange messages over a network that loses LOSSES messages,
 * duplicates COPIES, and delivers in any order. With -DSEVERAL there are several rounds: the sides may
 * begin in any of them, and one that has received nothing may begin the next one at any time. A
 * message is one of the four combinations of its two flags in one of the rounds, so the model only
 * counts those in flight.
 *
 * Checked in every state: a side that is ready has a peer whose queue pairs are connected with its
 * own, in the same round, and never has to join another one. The number of messages is bounded by
 * the losses, copies, repetitions and rounds: the sides do not answer each other for ever. An
 * execution that cannot continue must have both sides ready and no message in flight: spin reports
 * any other as an invalid end state.
 */
#ifdef SEVERAL
#define ROUNDS 2
#define LOSSES 1
#define COPIES 1
#define EARLY 0
#else
#define ROUNDS 1
#define LOSSES 2
#define COPIES 2
#define EARLY 2 /* repetitions of a side while a message or its answer is still in flight */
#endif
#define MOST 40

#define KNOWN 1
#define WANT 2
#define ON(to, at, flags) (((to) * ROUNDS + (at)) * 4 + (flags))
#define IN(to, at) (flight[ON(to, at, 0)] + flight[ON(to, at, 1)] + flight[ON(to, at, 2)] + flight[ON(to, at, 3)])
#define IN_FLIGHT(to) (IN(to, 0) + IN(to, ROUNDS - 1))
#define READY(a) known[a]

byte flight[2 * ROUNDS * 4]; /* messages to a side, by round and flags */
bool begun[2], received[2], known[2];
byte round[2];
byte losses = LOSSES, copies = COPIES, sent;
byte early[2];

inline send(a)
{
    flight[ON(1 - a, round[a], (received[a] -> KNOWN : 0) + (known[a] -> 0 : WANT))]++;
    sent++;
    assert(sent <= MOST)
}

/* A message of the present round. */
inline hear(a, flags)
{
    begun[a] = true;
    received[a] = true;
    if
    :: flags & KNOWN -> known[a] = true
    :: else
    fi
}

inline receive(a, at, flags)
{
    if
    :: at > round[a] -> /* joins: nothing may have been posted */
        assert(!READY(a) && !READY(1 - a));
        round[a] = at;
        received[a] = false
    :: else
    fi;
    if
    :: at == round[a] -> hear(a, flags)
    :: else
    fi;
    if
    :: flags & WANT -> send(a)
    :: else
    fi;
    assert(!READY(a) || (received[1 - a] && round[0] == round[1]));
    assert(!READY(1 - a) || (received[a] && round[0] == round[1]))
}

proctype side(byte a; bool calls)
{
    byte flags, at;
    do
    :: atomic { calls && !begun[a] -> begun[a] = true; send(a) }
    :: atomic { /* a message arrives */
        IN_FLIGHT(a) > 0 ->
        select(flags : 0 .. 3);
        select(at : 0 .. ROUNDS - 1);
        if
        :: flight[ON(a, at, flags)] > 0 ->
            if
            :: flight[ON(a, at, flags)]--
            :: copies > 0 -> copies--
            :: losses > 0 -> losses--; flight[ON(a, at, flags)]--; flags = 4
            fi;
            if
            :: flags < 4 -> receive(a, at, flags)
            :: else
            fi
        :: else
        fi
       }
    :: atomic { /* a deadline: nothing is on its way any more */
        begun[a] && !known[a] && IN_FLIGHT(0) + IN_FLIGHT(1) == 0 -> send(a)
       }
    :: atomic { /* a deadline that came too early */
        begun[a] && !known[a] && early[a] < EARLY -> early[a]++; send(a)
       }
    :: atomic { /* the next round */
        begun[a] && !received[a] && round[a] < ROUNDS - 1 -> round[a]++; send(a);
        assert(!READY(1 - a))
       }
    :: READY(0) && READY(1) && IN_FLIGHT(0) + IN_FLIGHT(1) == 0 -> break
    od
}

init {
    byte first;
    atomic {
        select(first : 0 .. ROUNDS - 1);
        round[0] = first;
        select(first : 0 .. ROUNDS - 1);
        round[1] = first;
        first = 0;
        run side(0, true);
        if
        :: run side(1, true)
        :: run side(1, false)
        fi
    }
}
