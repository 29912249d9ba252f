/* SPDX-License-Identifier: BSD-3-Clause */
/* The change of epochs in a flow of udp (conduits/udp/wire/udp_flow.h), for spin:
 *
 *     spin -a udp_epoch.pml && cc -DSAFETY -o pan pan.c && ./pan
 *
 * The network is the set of all messages that were sent. A message in it may arrive at any time and
 * any number of times, or never: so the assertions cover delay, reordering, duplication and loss
 * without bound. Steps that change nothing are left out.
 *
 * To check progress, LOSSES messages are lost for good: any messages, at any time before the sender
 * requests the last epoch. In an execution that cannot continue, all other messages have arrived,
 * and everything must be delivered and acknowledged: spin reports any other as an invalid end
 * state.
 *
 * Time is not modelled: a time-out may occur at any moment. Within an epoch a datagram is
 * retransmitted when a later one has arrived.
 *
 * With -DWRAP the epochs are counted modulo EPOCHS, without end, so that old copies look like new
 * ones. Then no datagram may be delivered twice, or released before its delivery. (Use ./pan -E:
 * the network keeps copies for ever, so that repeated epoch numbers can stop all progress.)
 */
#define NUMBERS 3
#define WINDOW 2
#ifdef WRAP
#define EPOCHS 2
#else
#define EPOCHS 3
#endif
#define LOSSES 3
#define MASKS 8 /* 1 << NUMBERS: the sets of numbers that an acknowledgement can name */

/* The network. */
bit data[EPOCHS * NUMBERS], request[EPOCHS], ack[EPOCHS * MASKS];
byte losses;
#define DATA(e, n) data[(e) * NUMBERS + (n)]
#define ACK(e, m) ack[(e) * MASKS + (m)]

/* The sender. */
byte base, next, epoch;
bit requesting;
bit kept[NUMBERS];
bit missing[NUMBERS]; /* a confirmation says so: must be retransmitted */

/* The receiver: `here` is a ring of bits, reused as `cumulative` grows. */
byte cumulative, current;
bit here[WINDOW];

/* Only for the assertions: neither sender nor receiver knows this. */
byte delivered[NUMBERS];
byte needed[NUMBERS]; /* a delivery must belong to this epoch or a later one */

#ifdef WRAP
#define AFTER(e) (((e) + 1) % EPOCHS)
#define MORE_EPOCHS true
#define LOSSY false
#define STRICT false
#else
#define AFTER(e) ((e) + 1)
#define MORE_EPOCHS (epoch < EPOCHS - 1)
#define LOSSY (losses < LOSSES && epoch + requesting < EPOCHS - 1)
#define STRICT true
#endif

#define DONE (base == NUMBERS && !requesting)

/* ---- the sender ---- */

#define OVERTAKEN(n) ((n) + 1 < next && !kept[(n) + 1])
#define MAY_RESEND(n) (!requesting && kept[n] && !DATA(epoch, n) && (missing[n] || OVERTAKEN(n)))

/* An acknowledgement that does not name all numbers below base is older than the last one. */
#define TELLS_BASE(m) (((m) & ((1 << base) - 1)) == (1 << base) - 1)
#define CONFIRMS(e, m) (requesting && (e) == AFTER(epoch) && TELLS_BASE(m))
#define TELLS(m, n) (((m) >> (n)) & 1)
#define RELEASES(m) \
    ((kept[0] && TELLS(m, 0)) || (kept[1] && TELLS(m, 1)) || (kept[2] && TELLS(m, 2)))

inline take_ack(e, m)
{
    i = 0;
    do
    :: i < NUMBERS ->
        if
        :: kept[i] && TELLS(m, i) ->
            assert(delivered[i] == 1);
            kept[i] = 0
        :: else
        fi;
        i++
    :: else -> break
    od;
    if
    :: CONFIRMS(e, m) ->
        epoch = e;
        requesting = 0;
        i = 0;
        do
        :: i < NUMBERS ->
            if
            :: kept[i] ->
                missing[i] = 1;
                needed[i] = e
            :: else
            fi;
            i++
        :: else -> break
        od
    :: else
    fi;
    do
    :: base < next && !kept[base] -> base++
    :: else -> break
    od;
    i = 0
}

#define ON_ACK(e, m) \
    :: d_step { ACK(e, m) && (RELEASES(m) || CONFIRMS(e, m)) -> take_ack(e, m) }
#define ON_ACKS(e) \
    ON_ACK(e, 0) ON_ACK(e, 1) ON_ACK(e, 2) ON_ACK(e, 3) \
    ON_ACK(e, 4) ON_ACK(e, 5) ON_ACK(e, 6) ON_ACK(e, 7)
#define RESEND(n) :: d_step { MAY_RESEND(n) -> DATA(epoch, n) = 1; missing[n] = 0 }

active proctype sender()
{
    byte i;
    do
    :: d_step {
        !requesting && next < NUMBERS && next - base < WINDOW ->
        DATA(epoch, next) = 1;
        kept[next] = 1;
        next++
       }
    RESEND(0)
    RESEND(1)
    RESEND(2)
    :: d_step {
        !requesting && base < next && MORE_EPOCHS -> /* a time-out */
        requesting = 1;
        request[AFTER(epoch)] = 1
       }
    :: d_step { requesting && !request[AFTER(epoch)] -> request[AFTER(epoch)] = 1 }
    ON_ACKS(0)
    ON_ACKS(1)
#if EPOCHS > 2
    ON_ACKS(2)
#endif
    :: DONE -> break
    od
}

/* ---- the receiver ---- */

#define IS_HERE(n) ((n) < cumulative || ((n) < cumulative + WINDOW && here[(n) % WINDOW]))
#define MASK (IS_HERE(0) | (IS_HERE(1) << 1) | (IS_HERE(2) << 2))
#define OWED (!ACK(current, MASK))

inline deliver(e, n)
{
    assert(n < cumulative + WINDOW);
    delivered[n]++;
    assert(delivered[n] == 1);
    assert(!STRICT || e >= needed[n]);
    here[(n) % WINDOW] = 1;
    do
    :: here[cumulative % WINDOW] ->
        here[cumulative % WINDOW] = 0;
        cumulative++
    :: else -> break
    od;
    ACK(current, MASK) = 1
}

#define ON_DATA(e, n) \
    :: d_step { DATA(e, n) && (e) == current && !IS_HERE(n) -> deliver(e, n) } \
    :: d_step { DATA(e, n) && (e) == current && IS_HERE(n) && OWED -> ACK(current, MASK) = 1 } \
    :: d_step { STRICT && DATA(e, n) && (e) > current -> assert(false) }
#define ON_REQUEST(e) \
    :: d_step { \
        request[e] && (e) == AFTER(current) -> \
        assert(!STRICT || (requesting && (e) == AFTER(epoch))); \
        current = e; \
        ACK(current, MASK) = 1 \
       } \
    :: d_step { request[e] && (e) == current && OWED -> ACK(current, MASK) = 1 }
#define ON_EPOCH(e) ON_REQUEST(e) ON_DATA(e, 0) ON_DATA(e, 1) ON_DATA(e, 2)

active proctype receiver()
{
    do
    ON_EPOCH(0)
    ON_EPOCH(1)
#if EPOCHS > 2
    ON_EPOCH(2)
#endif
    :: DONE -> break
    od
}

/* ---- loss ---- */

#define LOSE(what) :: d_step { LOSSY && what -> what = 0; losses++ }
#define LOSE_ACKS(e) \
    LOSE(ACK(e, 0)) LOSE(ACK(e, 1)) LOSE(ACK(e, 2)) LOSE(ACK(e, 3)) \
    LOSE(ACK(e, 4)) LOSE(ACK(e, 5)) LOSE(ACK(e, 6)) LOSE(ACK(e, 7))
#define LOSE_EPOCH(e) \
    LOSE(DATA(e, 0)) LOSE(DATA(e, 1)) LOSE(DATA(e, 2)) LOSE(request[e]) LOSE_ACKS(e)

active proctype network()
{
    do
    LOSE_EPOCH(0)
    LOSE_EPOCH(1)
#if EPOCHS > 2
    LOSE_EPOCH(2)
#endif
    :: DONE -> break
    od
}
