/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting, wait modes, settings from the environment, handler-safe locks. */
#include "../conform.h"

#include <string.h>

#define PINGS 200
/* Additions of each rank to each counter, and its requests for further additions. */
#define LOCKED 2000

static void on_ping(gex_Token_t, gex_AM_Arg_t);
static void on_pong(gex_Token_t, gex_AM_Arg_t);
static void locked_add(gex_Token_t, gex_AM_Arg_t);
static void locked_done(gex_Token_t, gex_AM_Arg_t);
static void on_turn(gex_Token_t, gex_AM_Arg_t);

enum { PING, PONG, LOCKED_ADD, LOCKED_DONE, TURN, ENTRIES };

#define ENTRY(fn, kind)                                                                            \
    {                                                                                              \
        .gex_fnptr = (gex_AM_Fn_t)(fn), .gex_flags = GEX_FLAG_AM_SHORT | (kind), .gex_nargs = 1,   \
        .gex_name = #fn                                                                            \
    }

static gex_AM_Entry_t entries[ENTRIES] = {
    [PING] = ENTRY(on_ping, GEX_FLAG_AM_REQUEST),
    [PONG] = ENTRY(on_pong, GEX_FLAG_AM_REPLY),
    [LOCKED_ADD] = ENTRY(locked_add, GEX_FLAG_AM_REQUEST),
    [LOCKED_DONE] = ENTRY(locked_done, GEX_FLAG_AM_REPLY),
    [TURN] = ENTRY(on_turn, GEX_FLAG_AM_REQUEST),
};

void conform_sync_setup(void)
{
    conform_register(entries, ENTRIES);
}

static conform_count_t pongs, locked_answers, last_turn;

static void on_ping(gex_Token_t token, gex_AM_Arg_t a)
{
    gex_AM_ReplyShort1(token, entries[PONG].gex_index, 0, a + 1);
}

static void on_pong(gex_Token_t token, gex_AM_Arg_t a)
{
    (void)token;
    CHECK(a == (gex_AM_Arg_t)atomic_load(&pongs) + 1, "the reply is %d instead of %d", (int)a,
          (int)atomic_load(&pongs) + 1);
    atomic_fetch_add(&pongs, 1);
}

static void on_turn(gex_Token_t token, gex_AM_Arg_t a)
{
    (void)token;
    CHECK((uint64_t)(uint32_t)a > atomic_load(&last_turn), "turn %d came after turn %llu", (int)a,
          (unsigned long long)atomic_load(&last_turn));
    atomic_store(&last_turn, (uint64_t)(uint32_t)a);
}

/* Sends each message after the reply to the previous one, so that each wait is for a message. */
static void ping_pong(int pings)
{
    atomic_store(&pongs, 0);
    conform_barrier();
    for (int i = 0; i < pings; i++) {
        gex_AM_RequestShort1(job.am, (job.rank + 1) % job.size, entries[PING].gex_index, 0, i);
        GASNET_BLOCKUNTIL(atomic_load(&pongs) == (uint64_t)i + 1);
    }
    conform_barrier();
}

/* Only one rank sends at a time; all others wait in GASNET_BLOCKUNTIL. */
static void pass_turns(void)
{
    const uint64_t laps = 10;

    atomic_store(&last_turn, 0);
    conform_barrier();
    for (uint64_t lap = 0; lap < laps; lap++) {
        const uint64_t turn = lap * job.size + job.rank;

        if (turn > 0)
            GASNET_BLOCKUNTIL(atomic_load(&last_turn) == turn);
        if (lap == 5 && job.rank == 0)
            conform_nap(20); /* long enough for waiting ranks to block */
        if (turn + 1 < laps * job.size)
            gex_AM_RequestShort1(job.am, (job.rank + 1) % job.size, entries[TURN].gex_index, 0,
                                 (gex_AM_Arg_t)(turn + 1));
    }
    conform_barrier();
}

static void test_blockuntil(void)
{
    GASNET_BLOCKUNTIL(1);
    ping_pong(PINGS);
    pass_turns();
}

static void test_waitmode(void)
{
    static const int modes[] = {GASNET_WAIT_SPIN, GASNET_WAIT_BLOCK, GASNET_WAIT_SPINBLOCK,
                                GASNET_WAIT_BLOCK};

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        const int err = gasnet_set_waitmode(modes[i]);

        CHECK(err == GASNET_OK, "wait mode %d must be accepted, but the call returned %d", modes[i],
              err);
        /* if ranks spin and outnumber the processors, a message may take several time slices */
        ping_pong(modes[i] == GASNET_WAIT_SPIN && job.size > 2 ? 5 : PINGS);
        if (modes[i] != GASNET_WAIT_SPIN)
            pass_turns();
    }
}

static void test_getenv(void)
{
    const char *path = gasnet_getenv("PATH");

    CHECK(gasnet_getenv("CONFORM_THIS_IS_NOT_SET") == NULL, "an unset variable must give NULL");
    CHECK(path != NULL && path[0] != '\0', "PATH should be set on every rank");
    CHECK(strcmp(path, gasnet_getenv("PATH")) == 0, "a variable must not change");
}

/* ---- locks ---- */

static gex_HSL_t static_lock = GEX_HSL_INITIALIZER;
static gex_HSL_t made_lock;
static uint64_t static_total, made_total; /* each protected by its lock, not atomic */

static void add_locked(gex_HSL_t *lock, uint64_t *total, int by_try)
{
    (void)lock; /* a library may need no locks in seq mode */
    if (by_try) {
        int err = gex_HSL_Trylock(lock);

        CHECK(err == GASNET_OK || err == GASNET_ERR_NOT_READY, "trylock returned %d", err);
        if (err != GASNET_OK) {
            gex_HSL_Lock(lock);
        }
    } else {
        gex_HSL_Lock(lock);
    }
    (*total)++;
    gex_HSL_Unlock(lock);
}

static void locked_add(gex_Token_t token, gex_AM_Arg_t a)
{
    add_locked(a % 2 ? &static_lock : &made_lock, a % 2 ? &static_total : &made_total, a % 3 == 0);
    gex_AM_ReplyShort1(token, entries[LOCKED_DONE].gex_index, 0, a);
}

static void locked_done(gex_Token_t token, gex_AM_Arg_t a)
{
    (void)token;
    (void)a;
    atomic_fetch_add(&locked_answers, 1);
}

/* The share of each rank is not fixed, but the sum over all ranks is. */
static void check_additions(uint64_t expected)
{
    uint64_t all[64], sum = 0, mine;

    gex_HSL_Lock(&static_lock);
    gex_HSL_Lock(&made_lock);
    mine = static_total + made_total;
    gex_HSL_Unlock(&made_lock);
    gex_HSL_Unlock(&static_lock);
    conform_exchange(mine, all);
    for (gex_Rank_t r = 0; r < job.size; r++)
        sum += all[r];
    CHECK(sum == expected, "the job made %llu additions, but counted %llu",
          (unsigned long long)expected, (unsigned long long)sum);
}

static void test_hsl(void)
{
    gex_HSL_Init(&made_lock);
    static_total = made_total = 0;
    atomic_store(&locked_answers, 0);
    conform_barrier();
    for (int i = 0; i < LOCKED; i++) {
        gex_AM_RequestShort1(job.am, (job.rank + (gex_Rank_t)(i / 2)) % job.size,
                             entries[LOCKED_ADD].gex_index, 0, i);
        add_locked(&static_lock, &static_total, i % 2);
        add_locked(&made_lock, &made_total, i % 3);
    }
    GASNET_BLOCKUNTIL(atomic_load(&locked_answers) == LOCKED);
    conform_barrier();
    check_additions(3 * (uint64_t)LOCKED * job.size);
    gex_HSL_Destroy(&made_lock);
}

const conform_test_t conform_sync_tests[] = {
    {"blockuntil", test_blockuntil, "waiting for a variable that a handler changes"},
    {"waitmode", test_waitmode, "all wait modes, with traffic after each"},
    {"getenv", test_getenv, "environment variables"},
    {"hsl", test_hsl, "handler-safe locks in handlers and in the client"},
    {NULL, NULL, NULL}};
