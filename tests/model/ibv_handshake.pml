/* The handshake of conduits/ibv/ibv_handshake.h, for spin:
 *
 *     spin -a ibv_handshake.pml && cc -DSAFETY -o pan pan.c && ./pan
 *
 * Two sides, of which one or both call, exchange messages over a network that loses LOSSES messages,
 * duplicates COPIES, and delivers in any order. A message is one of the four combinations of its two
 * flags, so the model only counts those in flight.
 *
 * Checked in every state: a side that is ready has a peer whose queue pairs are connected with its
 * own. The number of messages is bounded by the losses, copies and repetitions: the sides do not
 * answer each other for ever. An execution that cannot continue must have both sides ready and no
 * message in flight: spin reports any other as an invalid end state.
 */
#define LOSSES 2
#define COPIES 2
#define EARLY 2  /* repetitions of a side while a message or its answer is still in flight */
#define MOST 40

#define KNOWN 1
#define WANT 2
#define ON(to, flags) ((to) * 4 + (flags))
#define IN_FLIGHT(to) (flight[ON(to, 0)] + flight[ON(to, 1)] + flight[ON(to, 2)] + flight[ON(to, 3)])
#define READY(a) known[a]

byte flight[8];     /* messages to a side, by flags */
bool begun[2], heard[2], known[2];
byte losses = LOSSES, copies = COPIES, sent;
byte early[2];

inline send(a)
{
    flight[ON(1 - a, (heard[a] -> KNOWN : 0) + (known[a] -> 0 : WANT))]++;
    sent++;
    assert(sent <= MOST)
}

inline receive(a, flags)
{
    begun[a] = true;
    heard[a] = true;
    if
    :: flags & KNOWN -> known[a] = true
    :: else
    fi;
    if
    :: flags & WANT -> send(a)
    :: else
    fi;
    assert(!READY(a) || heard[1 - a]);
    assert(!READY(1 - a) || heard[a])
}

proctype side(byte a; bool calls)
{
    byte flags;
    do
    :: atomic { calls && !begun[a] -> begun[a] = true; send(a) }
    :: atomic { /* a message arrives */
        IN_FLIGHT(a) > 0 ->
        select(flags : 0 .. 3);
        if
        :: flight[ON(a, flags)] > 0 ->
            if
            :: flight[ON(a, flags)]--
            :: copies > 0 -> copies--
            :: losses > 0 -> losses--; flight[ON(a, flags)]--; flags = 4
            fi;
            if
            :: flags < 4 -> receive(a, flags)
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
    :: READY(0) && READY(1) && IN_FLIGHT(0) + IN_FLIGHT(1) == 0 -> break
    od
}

init {
    atomic {
        run side(0, true);
        if
        :: run side(1, true)
        :: run side(1, false)
        fi
    }
}
