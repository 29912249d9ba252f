/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers: of a team, several at once, thousands in a row; the split-phase barrier with ids. */
#include "../conform.h"

#include <string.h>

#define MANY 2000
#define SPLIT 150

/* Writes the number of the barrier that this rank is about to enter to all ranks: word r of an
 * inbox is the number that rank r announced last. */
static void announce_barrier(uint64_t number)
{
    for (gex_Rank_t r = 0; r < job.size; r++)
        gex_RMA_PutNBI(job.tm, r, job.base[r] + CONFORM_INBOX + 8 * (size_t)job.rank, &number, 8,
                       GEX_EVENT_DEFER, 0);
    gex_NBI_Wait(GEX_EC_PUT, 0);
}

static void check_announced(uint64_t number)
{
    const volatile uint64_t *word =
        (const volatile uint64_t *)(const void *)(job.base[job.rank] + CONFORM_INBOX);

    for (gex_Rank_t r = 0; r < job.size; r++)
        CHECK(word[r] >= number, "I left barrier %llu, but rank %u was only at %llu",
              (unsigned long long)number, (unsigned)r, (unsigned long long)word[r]);
}

static void clear_announced(void)
{
    memset(job.base[job.rank] + CONFORM_INBOX, 0, 8 * (size_t)job.size);
    conform_barrier();
}

static void nap_sometimes(uint64_t *stream)
{
    if (conform_random(stream) % 40 == 0)
        conform_nap(1);
}

static void wait_or_test(gex_Event_t event, uint64_t way)
{
    if (way % 2 == 0) {
        gex_Event_Wait(event);
        return;
    }
    while (gex_Event_Test(event) != 0)
        gasnet_AMPoll();
}

static void test_team(void)
{
    uint64_t stream = conform_stream(71);

    clear_announced();
    for (uint64_t i = 1; i <= SPLIT; i++) {
        gex_Event_t event;

        nap_sometimes(&stream);
        announce_barrier(i);
        event = gex_Coll_BarrierNB(job.tm, 0);
        CHECK(event != GEX_EVENT_NO_OP, "a barrier cannot be refused");
        nap_sometimes(&stream);
        wait_or_test(event, i);
        check_announced(i);
    }
}

/* Starts three barriers on one team at a time and waits for them in each of the six orders. */
static void test_several(void)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    uint64_t stream = conform_stream(72);

    clear_announced();
    for (uint64_t i = 0; i < SPLIT; i++) {
        const int *order = orders[(i + job.rank) % 6];
        gex_Event_t events[3];

        for (uint64_t j = 0; j < 3; j++) {
            nap_sometimes(&stream);
            announce_barrier(3 * i + j + 1);
            events[j] = gex_Coll_BarrierNB(job.tm, 0);
        }
        for (int j = 0; j < 3; j++) {
            wait_or_test(events[order[j]], i);
            check_announced(3 * i + (uint64_t)order[j] + 1);
        }
    }
}

static void test_several_array(void)
{
    clear_announced();
    for (uint64_t i = 1; i <= SPLIT; i++) {
        gex_Event_t events[5] = {GEX_EVENT_INVALID};

        announce_barrier(i);
        for (int j = 1; j < 5; j++)
            events[j] = gex_Coll_BarrierNB(job.tm, 0);
        gex_Event_WaitAll(events, 5, 0);
        check_announced(i);
    }
}

static void test_many(void)
{
    clear_announced();
    for (uint64_t i = 1; i <= MANY; i++) {
        if (i % 8 == 0)
            announce_barrier(i);
        conform_barrier();
        if (i % 8 == 0)
            check_announced(i);
    }
}

/* ---- messages between barriers ---- */

static void on_visit(gex_Token_t, gex_AM_Arg_t);
static void on_thanks(gex_Token_t, gex_AM_Arg_t);

static gex_AM_Entry_t entries[] = {{.gex_fnptr = (gex_AM_Fn_t)on_visit,
                                    .gex_flags = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
                                    .gex_nargs = 1},
                                   {.gex_fnptr = (gex_AM_Fn_t)on_thanks,
                                    .gex_flags = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY,
                                    .gex_nargs = 1}};
static conform_count_t visits, thanks;

void conform_barrier_setup(void)
{
    conform_register(entries, 2);
}

static void on_visit(gex_Token_t token, gex_AM_Arg_t a)
{
    atomic_fetch_add(&visits, 1);
    gex_AM_ReplyShort1(token, entries[1].gex_index, 0, a);
}

static void on_thanks(gex_Token_t token, gex_AM_Arg_t a)
{
    (void)token;
    (void)a;
    atomic_fetch_add(&thanks, 1);
}

/* Each rank has all its replies before every fourth barrier, so all requests have arrived after
 * that barrier. */
static void test_with_messages(void)
{
    atomic_store(&visits, 0);
    atomic_store(&thanks, 0);
    conform_barrier();
    for (uint64_t i = 1; i <= MANY / 2; i++) {
        gex_AM_RequestShort1(job.am, (job.rank + (gex_Rank_t)i) % job.size, entries[0].gex_index, 0,
                             (gex_AM_Arg_t)i);
        if (i % 4 == 0)
            GASNET_BLOCKUNTIL(atomic_load(&thanks) == i);
        conform_barrier();
        if (i % 4 != 0)
            continue;
        CHECK(atomic_load(&visits) >= i,
              "after barrier %llu there should be %llu messages, not %llu", (unsigned long long)i,
              (unsigned long long)i, (unsigned long long)atomic_load(&visits));
        conform_barrier();
    }
    CHECK(atomic_load(&visits) == MANY / 2, "%d messages expected, but %llu came", MANY / 2,
          (unsigned long long)atomic_load(&visits));
}

static void barrier_nb(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(job.tm, 0));
}

static void barrier_test(void)
{
    gex_Event_t event = gex_Coll_BarrierNB(job.tm, 0);

    while (gex_Event_Test(event) != GASNET_OK)
        gasnet_AMPoll();
}

static void barrier_whole(void)
{
    gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void barrier_split(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void barrier_try(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    while (gasnet_barrier_try(0, GASNET_BARRIERFLAG_ANONYMOUS) != GASNET_OK)
        gasnet_AMPoll();
}

/* Rank 0 enters last, so that the barrier is complete as soon as it enters. By then all messages
 * have arrived if they come through shared memory; networks may take longer. */
static void serve_by_barrier(void (*barrier)(void))
{
    const uint64_t senders = job.size > 1 ? job.size - 1 : 1;
    gex_Rank_t here;

    gex_System_QueryNbrhdInfo(NULL, &here, NULL);
    atomic_store(&visits, 0);
    atomic_store(&thanks, 0);
    conform_barrier();
    if (job.rank > 0 || job.size == 1)
        gex_AM_RequestShort1(job.am, 0, entries[0].gex_index, 0, 0);
    else
        conform_nap(5);
    barrier();
    CHECK(job.rank > 0 || here < job.size || atomic_load(&visits) == senders,
          "%llu messages were sent to rank 0 before the barrier, but %llu are handled",
          (unsigned long long)senders, (unsigned long long)atomic_load(&visits));
    GASNET_BLOCKUNTIL(job.rank > 0 ? atomic_load(&thanks) == 1 : atomic_load(&visits) == senders);
    conform_barrier();
}

static void test_serves(void)
{
    static void (*const barriers[])(void) = {barrier_nb, barrier_test, barrier_whole, barrier_split,
                                             barrier_try};

    for (int i = 0; i < 20; i++)
        serve_by_barrier(barriers[i % 5]);
}

/* ---- the split-phase barrier with an id ---- */

/* Performs one barrier that ends by wait or by try, or in one call. */
static int split_barrier(int id, int flags, uint64_t way)
{
    int err;

    if (way % 3 == 0)
        return gasnet_barrier(id, flags);
    gasnet_barrier_notify(id, flags);
    if (way % 3 == 1)
        return gasnet_barrier_wait(id, flags);
    while ((err = gasnet_barrier_try(id, flags)) == GASNET_ERR_NOT_READY)
        gasnet_AMPoll();
    return err;
}

static void expect_barrier(int id, int flags, uint64_t way, int want, const char *what)
{
    const int err = split_barrier(id, flags, way);

    CHECK(err == want, "%s: the barrier should return %d, but returned %d", what, want, err);
}

static void test_named(void)
{
    uint64_t stream = conform_stream(73);

    clear_announced();
    for (uint64_t i = 1; i <= SPLIT; i++) {
        nap_sometimes(&stream);
        announce_barrier(i);
        expect_barrier((int)(i * 1000003), 0, i + job.rank, GASNET_OK, "equal names");
        check_announced(i);
    }
    expect_barrier(0, 0, 0, GASNET_OK, "the name 0");
    expect_barrier(-1, 0, 1, GASNET_OK, "the name -1");
}

/* Anonymous ranks match every id, and each other. */
static void test_anonymous(void)
{
    clear_announced();
    for (uint64_t i = 1; i <= SPLIT; i++) {
        const int anonymous = i % 3 == 0 || (job.rank + i) % 3 == 0;

        announce_barrier(i);
        expect_barrier(anonymous ? (int)job.rank : (int)i,
                       anonymous ? GASNET_BARRIERFLAG_ANONYMOUS : 0, i, GASNET_OK,
                       "named and anonymous");
        check_announced(i);
    }
}

/* All ranks are told of a mismatch. The barrier synchronizes nevertheless, and the next one is not
 * affected. */
static void test_mismatch(void)
{
    clear_announced();
    for (uint64_t i = 1; i <= SPLIT; i++) {
        const int culprit = job.rank == i % job.size;

        announce_barrier(3 * i);
        expect_barrier(3, culprit ? GASNET_BARRIERFLAG_MISMATCH : 0, i, GASNET_ERR_BARRIER_MISMATCH,
                       "one rank reports a mismatch");
        check_announced(3 * i);
        announce_barrier(3 * i + 1);
        expect_barrier(culprit && job.size > 1 ? 4 : 5, 0, i + 1,
                       job.size > 1 ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK,
                       "one rank has another name");
        check_announced(3 * i + 1);
        announce_barrier(3 * i + 2);
        expect_barrier(6, 0, i + 2, GASNET_OK, "after a mismatch");
        check_announced(3 * i + 2);
    }
}

/* Two ids are a mismatch even if the ranks between are anonymous. */
static void test_mismatch_mixed(void)
{
    for (uint64_t i = 0; i < SPLIT; i++) {
        const gex_Rank_t place = (job.rank + (gex_Rank_t)i) % job.size;
        const int anonymous = place != 0 && place != job.size - 1;

        expect_barrier(place == 0 ? 10 : 11, anonymous ? GASNET_BARRIERFLAG_ANONYMOUS : 0, i,
                       job.size > 1 ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK,
                       "two names and anonymous ranks");
    }
}

const conform_test_t conform_barrier_tests[] = {
    {"barrier_team", test_team, "no rank leaves before all have entered, by wait and by test"},
    {"barrier_several", test_several, "three at once, waited for in each order"},
    {"barrier_array", test_several_array, "four at once, waited for as an array"},
    {"barrier_many", test_many, "thousands in a row"},
    {"barrier_am", test_with_messages, "a thousand with messages in between"},
    {"barrier_serves", test_serves, "the last rank to enter handles what was sent before"},
    {"barrier_named", test_named, "the split-phase barrier with equal names"},
    {"barrier_anonymous", test_anonymous, "named and anonymous ranks together"},
    {"barrier_mismatch", test_mismatch, "different names are reported on every rank"},
    {"barrier_mixed", test_mismatch_mixed, "different names with anonymous ranks between"},
    {NULL, NULL, NULL}};
