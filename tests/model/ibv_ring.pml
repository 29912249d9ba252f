/* How a ring of conduit ibv is given and taken back (conduits/ibv/ibv_ring*.c), for spin:
 *
 *     spin -a ibv_ring.pml && cc -DSAFETY -o pan pan.c && ./pan
 *
 * The reader gives its one ring GRANTS times and asks for it whenever it likes, as it does before it
 * sleeps. What it says to the writer may overtake itself without bound: news of a ring, and the request
 * to leave it. What the writer sends is delivered in order, whether it is a write into the ring or an
 * answer; but the reader may look at the one long after the other.
 *
 * Checked in every state: nothing is written into a ring that its writer does not own any more. An
 * execution that cannot go on must have had all rings back, and every message run.
 */
#define GRANTS 6
#define WRITES 2 /* of each ring, at most: the slots */

mtype = { WRITE, ANSWER };

chan wire = [4] of { mtype, bit }; /* from the writer; the bit: it has left */
chan completions = [4] of { bit };

bool news, ask;        /* under way to the writer */
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
    :: atomic { news -> news = false; has_ring = true; slots = WRITES }
    :: atomic { ask && nfull(wire) -> ask = false; wire!ANSWER(has_ring); has_ring = false }
    :: atomic { has_ring && slots > 0 && nfull(wire) -> slots = slots - 1; sent = sent + 1; wire!WRITE(0) }
    od
}

active proctype reader()
{
    bit gone;
    do
    :: atomic { !given && grants < GRANTS ->
        given = true; leaving = false; left = false; news = true; grants = grants + 1 }
    :: atomic { given && !leaving && !left -> leaving = true; ask = true }
    :: seen < landed -> seen = seen + 1
    :: atomic { completions?gone ->
        if
        :: gone -> left = true
        :: !gone && !left -> leaving = false
        :: else
        fi }
    :: atomic { given && left && seen == landed -> given = false; landed = seen } /* the rest is lost */
    :: !given && grants == GRANTS && seen == landed -> break
    od;
    assert(sent == seen && !has_ring)
}
