/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The election of a master and the broadcast of the end (core/job/exit_election.c), over a network that
 * loses up to LOSSES messages, with up to DEATHS dead ranks. LEAVERS of N ranks want to leave, the
 * others only hear of the end; DEGREE is the degree of the tree. A time limit is reached only when
 * no other step is possible, and there is one try more than messages may be lost, so that a rank
 * counts as dead only if it is dead.
 *
 * Checked: every rank that has begun an exit or heard of the end finishes (any other end state is
 * invalid). If one rank is done, all live ranks are done with the same ballot, which stands for the
 * exit code. If no rank is dead and no message is lost, there are at most 4 N - 2 messages.
 *
 *   -DPLAIN    3 ranks in a chain, two leave, one message may be lost, one rank may be dead
 *   -DTREE     4 ranks in a tree of degree 2, one leaves, one message may be lost, one may be dead
 *   -DNODEATH  3 ranks, all leave, no deaths, no losses: counts the messages
 *   -DDIES     as PLAIN, but the rank dies during the election, so that others may not hear of the
 *              end. These ranks give up at the time limit, and the launcher ends the job: the ranks
 *              need not agree on the code.
 */
#if defined(TREE)
#define N 4
#define DEGREE 2
#define LEAVERS 1
#define LOSSES 1
#define DEATHS 1
#elif defined(NODEATH)
#define N 3
#define DEGREE 2
#define LEAVERS 3
#define LOSSES 0
#define DEATHS 0
#else
#define N 3
#define DEGREE 1
#define LEAVERS 2
#define LOSSES 1
#define DEATHS 1
#endif
#define TRIES (LOSSES + 1)
#define ELECTORS 2
#define NOBODY 255

mtype = { ASK, ANSWER, END, ACK };
mtype = { IDLE, ASKING, TELLING, DONE, GAVE_UP };

typedef slot_t {
    byte top, at, tries;
    bool over
};

typedef rank_t {
    mtype state = IDLE;
    byte elector = NOBODY, master; /* the ballot: while ASKING as wanted, later as known */
    byte tries;                    /* how often ASK was sent */
    bool told, stood_in;
    slot_t child[DEGREE]
};

rank_t rank[N];
bool dead[N];
byte losses, messages;
chan in[N] = [2 * N] of { mtype, byte, byte, byte }; /* kind, from, elector, master */

#define PLACE(me, r) ((r + N - rank[me].master) % N)
#define RANK(me, p) ((p + rank[me].master) % N)
#define STRONGER(e, m, me) (e < rank[me].elector || (e == rank[me].elector && m < rank[me].master))
#define SAME(e, m, me) (e == rank[me].elector && m == rank[me].master)
#define KNOWS(me) (rank[me].state == TELLING || rank[me].state == DONE)

inline post(whom, what, self)
{
    messages++;
    if
    :: dead[whom]
    :: !dead[whom] -> in[whom]!what, self, rank[self].elector, rank[self].master
    :: !dead[whom] && losses < LOSSES -> losses++
    fi
}

inline set_slots(self, place)
{
    i = 0;
    do
    :: i < DEGREE ->
        rank[self].child[i].top = place * DEGREE + 1 + i;
        rank[self].child[i].at = place * DEGREE + 1 + i;
        rank[self].child[i].tries = 0;
        rank[self].child[i].over = (place * DEGREE + 1 + i >= N);
        i++
    :: else -> break
    od;
    i = 0
}

/* Moves a slot on from a rank that has answered, or from a dead rank to its children. */
inline move_on(s, is_dead)
{
    s.tries = 0;
    if
    :: is_dead && s.at * DEGREE + 1 < N -> s.at = s.at * DEGREE + 1
    :: else ->
        do
        :: s.at != s.top && (s.at % DEGREE == 0 || s.at + 1 == N) -> s.at = (s.at - 1) / DEGREE
        :: else -> break
        od;
        if
        :: s.at == s.top -> s.over = true
        :: else -> s.at++
        fi
    fi
}

inline learn(self, elects, becomes)
{
    if
    :: KNOWS(self) && !STRONGER(elects, becomes, self)
    :: else ->
        rank[self].state = TELLING;
        rank[self].elector = elects;
        rank[self].master = becomes;
        rank[self].told = (becomes == self);
        rank[self].stood_in = false;
        set_slots(self, PLACE(self, self))
    fi
}

inline check_done(self)
{
    if
    :: rank[self].state == TELLING && rank[self].told && rank[self].child[0].over &&
       rank[self].child[DEGREE - 1].over -> rank[self].state = DONE
    :: else
    fi
}

inline hear(me)
{
    if
    :: kind == ASK ->
        if
        :: !KNOWS(me) -> learn(me, e, m)
        :: else
        fi;
        post(from, ANSWER, me)
    :: kind == ANSWER -> learn(me, e, m)
    :: kind == END ->
        learn(me, e, m);
        if
        :: SAME(e, m, me) -> rank[me].told = true
        :: else
        fi;
        post(from, ACK, me)
    :: kind == ACK ->
        if
        :: KNOWS(me) ->
            learn(me, e, m);
            i = 0;
            do
            :: i < DEGREE ->
                if
                :: SAME(e, m, me) && !rank[me].child[i].over &&
                   rank[me].child[i].at == PLACE(me, from) -> move_on(rank[me].child[i], false)
                :: else
                fi;
                i++
            :: else -> break
            od;
            i = 0
        :: else
        fi
    fi;
    check_done(me);
    kind = ASK; from = 0; e = 0; m = 0
}

inline ask(me)
{
    rank[me].tries++;
    post(rank[me].elector, ASK, me)
}

/* After the last try: asks the next elector, or takes this rank itself as master. */
inline ask_next(me)
{
    rank[me].tries = 0;
    rank[me].elector++;
    if
    :: rank[me].elector == ELECTORS || rank[me].elector == me -> learn(me, rank[me].elector, me)
    :: else
    fi;
    check_done(me)
}

#define WANTS(s) (!s.over && s.tries == 0)
#define WAITS(s) (!s.over && s.tries > 0)

/* Sends END to the rank of a slot. A rank that stands in for the master skips itself. */
inline tell(me, s)
{
    if
    :: RANK(me, s.at) == me -> move_on(s, false)
    :: else ->
        s.tries++;
        post(RANK(me, s.at), END, me)
    fi;
    check_done(me)
}

inline tell_again(me, s)
{
    if
    :: s.tries == TRIES -> move_on(s, true)
    :: s.tries < TRIES ->
        s.tries++;
        post(RANK(me, s.at), END, me)
    fi;
    check_done(me)
}

inline stand_in(me)
{
    rank[me].stood_in = true;
    rank[me].told = true;
    set_slots(me, 0);
    check_done(me)
}

proctype rank_process(byte me)
{
    mtype kind = ASK;
    byte from, e, m, i;

quiet: /* nothing to do, or all done; others may still ask */
end:
    do
    :: dead[me] -> goto gone
    :: atomic { in[me]?kind, from, e, m ->
            if
            :: dead[me]
            :: else -> hear(me)
            fi };
        if
        :: rank[me].state == TELLING -> goto busy
        :: else
        fi
    :: atomic { !dead[me] && rank[me].state == IDLE && me >= N - LEAVERS ->
            if
            :: me == 0 -> learn(me, 0, 0)
            :: else -> rank[me].state = ASKING; rank[me].elector = 0; rank[me].master = me
            fi };
        goto busy
    od;
busy:
    do
    :: dead[me] -> goto gone
    :: !dead[me] && (rank[me].state == DONE || rank[me].state == GAVE_UP) -> goto quiet
    :: atomic { in[me]?kind, from, e, m ->
            if
            :: dead[me]
            :: else -> hear(me)
            fi }
    :: atomic { !dead[me] && rank[me].state == ASKING && rank[me].tries == 0 -> ask(me) }
    :: atomic { !dead[me] && rank[me].state == TELLING && WANTS(rank[me].child[0]) ->
            tell(me, rank[me].child[0]) }
#if DEGREE > 1
    :: atomic { !dead[me] && rank[me].state == TELLING && WANTS(rank[me].child[1]) ->
            tell(me, rank[me].child[1]) }
    :: atomic { timeout && !dead[me] && rank[me].state == TELLING && WAITS(rank[me].child[1]) ->
            tell_again(me, rank[me].child[1]) }
#endif
    :: atomic { timeout && !dead[me] && rank[me].state == TELLING && WAITS(rank[me].child[0]) ->
            tell_again(me, rank[me].child[0]) }
    :: atomic { timeout && !dead[me] && rank[me].state == ASKING && rank[me].tries > 0 ->
            if
            :: rank[me].tries == TRIES -> ask_next(me)
            :: else -> ask(me)
            fi }
#ifdef DIES
    :: atomic { timeout && !dead[me] && rank[me].state == TELLING && !rank[me].told &&
            rank[me].elector != me && rank[me].child[0].over -> rank[me].state = GAVE_UP }
#endif
    :: atomic { timeout && !dead[me] && rank[me].state == TELLING && !rank[me].told &&
            rank[me].elector == me && !rank[me].stood_in && rank[me].child[0].over &&
            rank[me].child[DEGREE - 1].over -> stand_in(me) }
    od;
gone:
    do
    :: in[me]?_, _, _, _
    :: empty(in[me]) -> break
    od
}

/* Kills one rank or none. */
proctype kill_one()
{
    if
    :: DEATHS > 0 -> dead[0] = true
    :: DEATHS > 0 -> dead[1] = true
    :: DEATHS > 0 -> dead[2] = true
    :: true
    fi
}

#define OVER(r) (dead[r] || rank[r].state == DONE || rank[r].state == GAVE_UP)
#define QUIET(r) (OVER(r) || (rank[r].state == IDLE && r < N - LEAVERS))
#if N == 4
#define ALL(P) (P(0) && P(1) && P(2) && P(3))
#else
#define ALL(P) (P(0) && P(1) && P(2))
#endif
#define NONE(r) (empty(in[r]))
#define IDLES(r) (dead[r] || rank[r].state == IDLE)

proctype check_agreement()
{
    byte r, first = NOBODY;
end:
    atomic {
        ALL(QUIET) && ALL(NONE) ->
#ifndef DIES
        assert(ALL(OVER) || ALL(IDLES));
        do
        :: r < N ->
            if
            :: !dead[r] && rank[r].state == DONE && first == NOBODY -> first = r
            :: !dead[r] && rank[r].state == DONE && first != NOBODY ->
                assert(rank[r].elector == rank[first].elector &&
                       rank[r].master == rank[first].master)
            :: else
            fi;
            r++
        :: else -> break
        od;
#endif
        assert(DEATHS + LOSSES > 0 || messages <= 4 * N - 2)
    }
}

init
{
    atomic {
#ifdef DIES
        run kill_one();
#else
        if
        :: DEATHS > 0 -> dead[0] = true
        :: DEATHS > 0 -> dead[1] = true
        :: DEATHS > 0 -> dead[2] = true
        :: true
        fi;
#endif
        run rank_process(0);
        run rank_process(1);
        run rank_process(2);
#if N == 4
        run rank_process(3);
#endif
        run check_agreement()
    }
}
