/* SPDX-License-Identifier: BSD-3-Clause */
/* Floods of active messages: exact counts, no deadlock, a sleeping target, IMMEDIATE. */
#include "../conform_argn.h"

#include <stdlib.h>
#include <string.h>

#define FLOOD_SENDS 20000    /* requests of each rank, to all ranks together */
#define DEADLOCK_SENDS 600   /* requests of each rank that ask for the largest reply */
#define SLEEP_SENDS 2000     /* requests of each rank to the sleeping rank */
#define IMMEDIATE_TRIES 5000 /* attempts of each rank to send to the sleeping rank */
#define SLEEP_MS 200

static void flood_short(gex_Token_t, gex_AM_Arg_t);
static void flood_medium(gex_Token_t, void *, size_t, gex_AM_Arg_t);
static void flood_reply(gex_Token_t, gex_AM_Arg_t);
static void big_request(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void big_reply(gex_Token_t, void *, size_t, gex_AM_Arg_t);
static void count_short(gex_Token_t, gex_AM_Arg_t);
static void count_load(gex_Token_t, void *, size_t, gex_AM_Arg_t);
static void on_total(gex_Token_t, gex_AM_Arg_t);

enum {
    FLOOD_SHORT,
    FLOOD_MEDIUM,
    FLOOD_REPLY,
    BIG_REQUEST,
    BIG_REPLY,
    COUNT_SHORT,
    COUNT_LOAD,
    TOTAL,
    ENTRIES
};

#define ENTRY(fn, kind, nargs)                                                                     \
    {                                                                                              \
        .gex_fnptr = (gex_AM_Fn_t)(fn), .gex_flags = (kind), .gex_nargs = (nargs), .gex_name = #fn \
    }

static gex_AM_Entry_t entries[ENTRIES] = {
    [FLOOD_SHORT] = ENTRY(flood_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1),
    [FLOOD_MEDIUM] = ENTRY(flood_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1),
    [FLOOD_REPLY] = ENTRY(flood_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1),
    [BIG_REQUEST] = ENTRY(big_request, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 2),
    [BIG_REPLY] = ENTRY(big_reply, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 1),
    [COUNT_SHORT] = ENTRY(count_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1),
    [COUNT_LOAD] = ENTRY(count_load, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQUEST, 1),
    [TOTAL] = ENTRY(on_total, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1),
};

void conform_flood_setup(void)
{
    conform_register(entries, ENTRIES);
}

/* Counts how often each sequence number has come from each rank. There is one ledger for requests
 * and one for replies. */
typedef struct {
    _Atomic unsigned char *seen;
    uint64_t per_rank;
    conform_count_t count;
} ledger_t;

static ledger_t requests, replies;

static void ledger_open(ledger_t *ledger, uint64_t per_rank)
{
    const size_t n = (size_t)per_rank * job.size;

    ledger->per_rank = per_rank;
    ledger->seen = conform_alloc(n);
    for (size_t i = 0; i < n; i++)
        atomic_init(&ledger->seen[i], 0);
    atomic_store(&ledger->count, 0);
}

static void ledger_note(ledger_t *ledger, gex_Rank_t rank, gex_AM_Arg_t sequence)
{
    CHECK(sequence >= 0 && (uint64_t)sequence < ledger->per_rank,
          "the numbers of rank %u are below %llu, but %d came", (unsigned)rank,
          (unsigned long long)ledger->per_rank, (int)sequence);
    CHECK(atomic_fetch_add(&ledger->seen[ledger->per_rank * rank + (uint64_t)sequence], 1) == 0,
          "message %d of rank %u came twice", (int)sequence, (unsigned)rank);
    atomic_fetch_add(&ledger->count, 1);
}

static void ledger_close(ledger_t *ledger, uint64_t expected, const char *what)
{
    CHECK(atomic_load(&ledger->count) == expected, "%llu %s expected, but %llu came",
          (unsigned long long)expected, what, (unsigned long long)atomic_load(&ledger->count));
    free((void *)ledger->seen);
    ledger->seen = NULL;
}

static void flood_short(gex_Token_t token, gex_AM_Arg_t sequence)
{
    ledger_note(&requests, conform_source(token), sequence);
    gex_AM_ReplyShort1(token, entries[FLOOD_REPLY].gex_index, 0, sequence);
}

static void flood_medium(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t sequence)
{
    const gex_Rank_t from = conform_source(token);

    CHECK_FILL(buf, nbytes, conform_mix(from, (uint32_t)sequence, 9), "payload in the flood");
    ledger_note(&requests, from, sequence);
    gex_AM_ReplyShort1(token, entries[FLOOD_REPLY].gex_index, 0, sequence);
}

static void flood_reply(gex_Token_t token, gex_AM_Arg_t sequence)
{
    ledger_note(&replies, conform_source(token), sequence);
}

static void ledgers_open(uint64_t per_rank)
{
    ledger_open(&requests, per_rank);
    ledger_open(&replies, per_rank);
    conform_barrier();
}

static void ledgers_close(uint64_t expected)
{
    GASNET_BLOCKUNTIL(atomic_load(&replies.count) >= expected);
    conform_barrier();
    ledger_close(&requests, expected, "requests");
    ledger_close(&replies, expected, "replies");
}

static void test_flood_short(void)
{
    const uint64_t each = FLOOD_SENDS / job.size;

    ledgers_open(each);
    for (uint64_t i = 0; i < each; i++) {
        for (gex_Rank_t r = 0; r < job.size; r++)
            gex_AM_RequestShort1(job.am, r, entries[FLOOD_SHORT].gex_index, 0, (gex_AM_Arg_t)i);
    }
    ledgers_close(each * job.size);
}

static void test_flood_mixed(void)
{
    const uint64_t each = FLOOD_SENDS / 2 / job.size;
    uint64_t stream = conform_stream(41);
    unsigned char load[512];

    ledgers_open(each);
    for (uint64_t i = 0; i < each; i++) {
        for (gex_Rank_t r = 0; r < job.size; r++) {
            const size_t nbytes = conform_random(&stream) % (sizeof(load) + 1);

            if (nbytes % 3 == 0) {
                gex_AM_RequestShort1(job.am, r, entries[FLOOD_SHORT].gex_index, 0, (gex_AM_Arg_t)i);
                continue;
            }
            conform_fill(load, nbytes, conform_mix(job.rank, i, 9));
            gex_AM_RequestMedium1(job.am, r, entries[FLOOD_MEDIUM].gex_index, load, nbytes,
                                  GEX_EVENT_NOW, 0, (gex_AM_Arg_t)i);
        }
    }
    ledgers_close(each * job.size);
}

/* ---- replies of the largest size while all ranks send the largest requests ---- */

static unsigned char *big_load;
static size_t big_bytes;

static void big_request(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t sequence,
                        gex_AM_Arg_t want)
{
    CHECK_FILL(buf, nbytes, 21, "largest request");
    ledger_note(&requests, conform_source(token), sequence);
    gex_AM_ReplyMedium1(token, entries[BIG_REPLY].gex_index, big_load, (size_t)want, GEX_EVENT_NOW,
                        0, sequence);
}

static void big_reply(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t sequence)
{
    const gex_Rank_t from = conform_source(token);
    const size_t want = gex_AM_MaxReplyMedium(job.am, from, GEX_EVENT_NOW, 0, 1);

    CHECK(nbytes == want, "the largest reply has %zu bytes, but %zu came", want, nbytes);
    CHECK_FILL(buf, nbytes, 21, "largest reply");
    ledger_note(&replies, from, sequence);
}

static void big_load_init(void)
{
    big_bytes = 0;
    for (gex_Rank_t r = 0; r < job.size; r++) {
        const size_t reply = gex_AM_MaxReplyMedium(job.am, r, GEX_EVENT_NOW, 0, 1);
        const size_t request = gex_AM_MaxRequestMedium(job.am, r, GEX_EVENT_NOW, 0, 2);

        big_bytes = reply > big_bytes ? reply : big_bytes;
        big_bytes = request > big_bytes ? request : big_bytes;
    }
    big_load = conform_alloc(big_bytes);
    conform_fill(big_load, big_bytes, 21);
}

static void test_deadlock(void)
{
    const uint64_t each = DEADLOCK_SENDS / job.size;

    big_load_init();
    ledgers_open(each);
    for (uint64_t i = 0; i < each; i++) {
        for (gex_Rank_t r = 0; r < job.size; r++) {
            const size_t request = gex_AM_MaxRequestMedium(job.am, r, GEX_EVENT_NOW, 0, 2);
            const size_t reply = gex_AM_MaxReplyMedium(job.am, r, GEX_EVENT_NOW, 0, 1);

            gex_AM_RequestMedium2(job.am, r, entries[BIG_REQUEST].gex_index, big_load, request,
                                  GEX_EVENT_NOW, 0, (gex_AM_Arg_t)i, (gex_AM_Arg_t)reply);
        }
    }
    ledgers_close(each * job.size);
    free(big_load);
}

/* ---- a target that does not poll for a while ---- */

static conform_count_t announced, announcements;

static void count_short(gex_Token_t token, gex_AM_Arg_t sequence)
{
    ledger_note(&requests, conform_source(token), sequence);
}

static void count_load(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t sequence)
{
    const gex_Rank_t from = conform_source(token);

    CHECK_FILL(buf, nbytes, conform_mix(from, (uint32_t)sequence, 10), "payload for the sleeper");
    ledger_note(&requests, from, sequence);
}

static void on_total(gex_Token_t token, gex_AM_Arg_t count)
{
    (void)token;
    CHECK(count >= 0, "a count cannot be %d", (int)count);
    atomic_fetch_add(&announced, (uint64_t)count);
    atomic_fetch_add(&announcements, 1);
}

/* Tells the target how many messages this rank has sent. The target waits for the messages of all
 * ranks and checks that there are no more. */
static void report_total(gex_Rank_t target, uint64_t count)
{
    gex_AM_RequestShort1(job.am, target, entries[TOTAL].gex_index, 0, (gex_AM_Arg_t)count);
    if (job.rank == target) {
        GASNET_BLOCKUNTIL(atomic_load(&announcements) == job.size);
        GASNET_BLOCKUNTIL(atomic_load(&requests.count) >= atomic_load(&announced));
    }
    conform_barrier();
    for (int i = 0; i < 100; i++)
        gasnet_AMPoll(); /* a surplus message would come now */
    ledger_close(&requests, job.rank == target ? atomic_load(&announced) : 0, "messages");
    atomic_store(&announced, 0);
    atomic_store(&announcements, 0);
}

static void test_sleeper(void)
{
    const gex_Rank_t target = job.size - 1;
    unsigned char load[300];

    ledger_open(&requests, SLEEP_SENDS);
    conform_barrier();
    if (job.rank == target)
        conform_nap(SLEEP_MS);
    for (int i = 0; i < SLEEP_SENDS; i++) {
        if (i % 4 != 0) {
            gex_AM_RequestShort1(job.am, target, entries[COUNT_SHORT].gex_index, 0, i);
            continue;
        }
        conform_fill(load, sizeof(load), conform_mix(job.rank, (uint32_t)i, 10));
        gex_AM_RequestMedium1(job.am, target, entries[COUNT_LOAD].gex_index, load, sizeof(load),
                              GEX_EVENT_NOW, 0, i);
    }
    report_total(target, SLEEP_SENDS);
}

/* Sends message `sequence` with IMMEDIATE; returns what the call returned. */
static int try_immediate(gex_Rank_t target, gex_AM_Arg_t sequence, argn_cat_t cat)
{
    unsigned char load[200];
    /* each message has a place of its own: the target handles none before its nap ends */
    const size_t place = (size_t)sequence * sizeof(load);
    argn_msg_t m = {.handler = entries[cat == ARGN_SHORT ? COUNT_SHORT : COUNT_LOAD].gex_index,
                    .n = 1,
                    .a = &sequence,
                    .src = load,
                    .nbytes = sizeof(load),
                    .lc = GEX_EVENT_NOW,
                    .flags = GEX_FLAG_IMMEDIATE};
    int err;

    if (cat == ARGN_LONG && place + sizeof(load) > conform_slot_size())
        cat = ARGN_MEDIUM;
    m.dest = cat == ARGN_LONG ? conform_slot(target, job.rank, 0) + place : NULL;
    conform_fill(load, sizeof(load), conform_mix(job.rank, (uint32_t)sequence, 10));
    err = argn_request(cat, target, &m);
    memset(load, 0x77, sizeof(load));
    return err;
}

/* Does not poll between sends: if a queue is full, the call must fail. It must neither wait nor
 * refuse a message and deliver it nevertheless. */
static void test_immediate(void)
{
    const gex_Rank_t target = job.size - 1;
    uint64_t sent = 0;
    int refused = 0;

    ledger_open(&requests, IMMEDIATE_TRIES);
    conform_barrier();
    if (job.rank == target)
        conform_nap(SLEEP_MS);
    for (int i = 0; i < IMMEDIATE_TRIES && refused < 3; i++) {
        if (try_immediate(target, (gex_AM_Arg_t)sent, (argn_cat_t)(i % 3)) == 0)
            sent++;
        else
            refused++;
    }
    report_total(target, sent);
}

/* After a refusal polls and tries again, then sends without IMMEDIATE: all messages arrive. */
static void test_immediate_retry(void)
{
    const uint64_t each = FLOOD_SENDS / 4 / job.size;

    ledgers_open(each);
    for (uint64_t i = 0; i < each; i++) {
        for (gex_Rank_t r = 0; r < job.size; r++) {
            const gex_AM_Index_t handler = entries[FLOOD_SHORT].gex_index;
            const gex_AM_Arg_t a = (gex_AM_Arg_t)i;

            if (gex_AM_RequestShort1(job.am, r, handler, GEX_FLAG_IMMEDIATE, a) == 0)
                continue;
            gasnet_AMPoll();
            if (gex_AM_RequestShort1(job.am, r, handler, GEX_FLAG_IMMEDIATE, a) != 0)
                gex_AM_RequestShort1(job.am, r, handler, 0, a);
        }
    }
    ledgers_close(each * job.size);
}

const conform_test_t conform_flood_tests[] = {
    {"am_flood_short", test_flood_short,
     "all ranks send Shorts to all, each of which is answered exactly once"},
    {"am_flood_mixed", test_flood_mixed, "the same with Shorts and Mediums mixed"},
    {"am_deadlock", test_deadlock, "largest replies while all ranks send largest requests"},
    {"am_sleeper", test_sleeper, "a rank that does not poll for a while loses no message"},
    {"am_immediate", test_immediate, "IMMEDIATE against a rank that does not poll, exact count"},
    {"am_immediate_retry", test_immediate_retry, "IMMEDIATE, poll, again, then without it"},
    {NULL, NULL, NULL}};
