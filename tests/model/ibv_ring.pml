/* SPDX-License-Identifier: BSD-3-Clause */
/* How a reader of conduit ibv grants a ring and takes it back (conduits/ibv/ibv_ring*.c), for spin:
 *
 *     spin -a ibv_ring.pml && cc -DSAFETY -o pan pan.c && ./pan
 *
 * The reader grants its one ring GRANTS times and may ask for it back at any time, as it does
 * before it sleeps. Messages of the reader to the writer (a grant of the ring, and the request to
 * leave it) may overtake each other without bound. Messages of the writer, which are writes into
 * the ring and answers, are delivered in order; but the reader may notice one of them long after
 * the other.
 *
 * Checked in every state: no write arrives in a ring that the writer does not own any more. In an
 * execution that cannot continue, the reader must have got back all rings and run every message.
 */
#define GRANTS 6
#define WRITES 2 /* slots of a ring: the most writes of a grant */

mtype = { WRITE, ANSWER };

chan wire = [4] of { mtype, bit }; /* from the writer; the bit of an answer: the writer has left */
chan completions = [4] of { bit };

bool grant, ask;       /* in flight to the writer */
bool given;            /* as the reader sees it */
bool leaving, left;
byte landed, seen, grants;
bool has_ring;         /* as the writer sees it */
byte slots, sent;

/* The reader's device. */
active proctype device()
{
    bit gone;
end:
    do
    :: atomic { wire?WRITE(gone) -> assert(given); landed = landed + 1 }
    :: wire?ANSWER(gone) -> completions!gone
    od
}

active proctype writer()
{
end:
    do
    :: atomic { grant -> grant = false; has_ring = true; slots = WRITES }
    :: atomic { ask && nfull(wire) -> ask = false; wire!ANSWER(has_ring); has_ring = false }
    :: atomic { has_ring && slots > 0 && nfull(wire) ->
        slots = slots - 1; sent = sent + 1; wire!WRITE(0) }
    od
}

active proctype reader()
{
    bit gone;
    do
    :: atomic { !given && grants < GRANTS ->
        given = true; leaving = false; left = false; grant = true; grants = grants + 1 }
    :: atomic { given && !leaving && !left -> leaving = true; ask = true }
    :: seen < landed -> seen = seen + 1
    :: atomic { completions?gone ->
        if
        :: gone -> left = true
        :: !gone && !left -> leaving = false
        :: else
        fi }
    :: atomic { given && left && seen == landed -> given = false; landed = seen }
    :: !given && grants == GRANTS && seen == landed -> break
    od;
    assert(sent == seen && !has_ring)
}
