/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: the receive sides of further endpoints, the threads that are bound to them, and
 * endpoints that come and go. Over a conduit without windows the messages still arrive. */
#include "../conform.h"

#include <aqueduct.h>
#include <dirent.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Of a request; SIGNAL + n: n were sent before. */
typedef enum { COUNT, REPLY, GO, SIGNAL } action_t;

enum {
    INDEX = 90, /* of the handlers at each endpoint */
    BACK = 91,
    WINDOWS = 2,
    BURST = 8,
    TRIALS = 50,
    ROUNDS = 300,
    MOST_THREADS = 64,
    CHURNS = 100000, /* in a job of one rank; else fewer */
    FEW_CHURNS = 2000,
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    RESIDENT_MAX = 64 << 20, /* a sanitizer keeps freed memory */
#else
    RESIDENT_MAX = 1 << 20,
#endif
};

typedef struct {
    gex_EP_t ep;
    gex_EP_Index_t index;
    gex_TM_t pair; /* with the endpoint of the same index of each rank */
    conform_count_t requests, replies, goes, signal;
} place_t;

static place_t *place_here(gex_Token_t token)
{
    gex_Token_Info_t info;

    gex_Token_Info(token, &info, GEX_TI_ENTRY);
    return (place_t *)(uintptr_t)info.gex_entry->gex_cdata;
}

static void on_request(gex_Token_t token, gex_AM_Arg_t action)
{
    place_t *place = place_here(token);

    if (action >= SIGNAL)
        atomic_store(&place->signal, (unsigned)action);
    else
        atomic_fetch_add(action == GO ? &place->goes : &place->requests, 1);
    if (action == REPLY)
        gex_AM_ReplyShort0(token, BACK, 0);
}

static void on_reply(gex_Token_t token)
{
    atomic_fetch_add(&place_here(token)->replies, 1);
}

static void open_place(place_t *place)
{
    gex_AM_Entry_t entries[] = {
        {INDEX, (gex_AM_Fn_t)on_request, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, place,
         "request"},
        {BACK, (gex_AM_Fn_t)on_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, place, "reply"}};

    CHECK(gex_EP_Create(&place->ep, job.client, GEX_EP_CAPABILITY_ALL, 0) == GASNET_OK,
          "gex_EP_Create must return GASNET_OK");
    CHECK(gex_EP_RegisterHandlers(place->ep, entries, 2) == GASNET_OK,
          "the handlers of a new endpoint must be registered");
    place->index = gex_EP_QueryIndex(place->ep);
    place->pair = gex_TM_Pair(place->ep, place->index);
}

static place_t places[WINDOWS];
static unsigned burst_sizes; /* of all trials */

static void open_places(void)
{
    for (int i = 0; i < WINDOWS; i++) {
        if (!places[i].ep)
            open_place(&places[i]);
        places[i].requests = places[i].replies = 0;
    }
    conform_barrier();
}

static void round_trip(place_t *place, gex_Rank_t to)
{
    const unsigned before = place->replies;

    gex_AM_RequestShort1(place->pair, to, INDEX, 0, REPLY);
    GASNET_BLOCKUNTIL(place->replies != before);
}

/* Polls endpoint 0, whose last barrier message may have been lost, and the first n places. */
static void poll_places(int n)
{
    gasnetx_EP_Poll(job.ep);
    for (int i = 0; i < n; i++)
        gasnetx_EP_Poll(places[i].ep);
}

static void send_in_polls(const place_t *place, gex_Rank_t to, int action)
{
    while (gex_AM_RequestShort1(place->pair, to, INDEX, GEX_FLAG_IMMEDIATE, action))
        poll_places(1);
}

/* Sends up to BURST requests, as many as there is room for without a poll of their place. */
static unsigned send_burst(const place_t *place, gex_Rank_t to)
{
    unsigned sent = 0;

    while (sent < BURST && !gex_AM_RequestShort1(place->pair, to, INDEX, GEX_FLAG_IMMEDIATE, REPLY))
        sent++;
    return sent;
}

/* One trial: the rank before sends a burst to place 1, then a signal to place 0. Returns whether
 * polls of place 0 delivered the signal and none of the burst. A rank says go when it has left the
 * barrier, whose polls serve every endpoint. The replies to a burst return its credits: otherwise a
 * later burst, which does not poll place 1, could find none. */
static int burst_waits(gex_Rank_t before, gex_Rank_t next)
{
    unsigned early, sent;

    places[1].requests = places[1].replies = places[0].goes = places[0].signal = 0;
    conform_barrier();
    send_in_polls(&places[0], before, GO);
    while (!places[0].goes)
        poll_places(1);
    sent = send_burst(&places[1], next);
    send_in_polls(&places[0], next, (int)(SIGNAL + sent));
    while (!places[0].signal)
        poll_places(1);
    early = (unsigned)places[1].requests;
    burst_sizes += sent;
    while (places[1].requests < places[0].signal - SIGNAL || places[1].replies < sent)
        poll_places(2); /* over udp, this also sends the signal of this rank */
    conform_barrier();
    return early == 0;
}

/* Polls of one endpoint leave the messages of another one where they are. The windows are connected
 * after a few round trips. */
static void test_polls_of_one(void)
{
    const gex_Rank_t next = (job.rank + 1) % job.size;
    const gex_Rank_t before = (job.rank + job.size - 1) % job.size;
    int apart = 0;

    open_places();
    if (!gasnetx_EP_HasWindow(places[0].ep)) {
        conform_barrier();
        return;
    }
    for (int i = 0; i < 8; i++)
        for (int p = 0; p < WINDOWS; p++)
            round_trip(&places[p], i % 2 ? next : before);
    conform_barrier();
    burst_sizes = 0;
    for (int i = 0; i < TRIALS; i++)
        apart += burst_waits(before, next);
    CHECK(burst_sizes > 0, "no request of a burst was sent");
    CHECK(apart == TRIALS, "polls of an endpoint delivered messages of another one in %d of %d",
          TRIALS - apart, (int)TRIALS);
}

/* ---- endpoints that come and go ---- */

static unsigned open_files(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");

    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

static size_t resident_bytes(void)
{
    unsigned long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    CHECK(file && fscanf(file, "%lu %lu", &all, &resident) == 2, "/proc/self/statm cannot be read");
    if (file)
        fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t ring_bytes(void)
{
    size_t rings;

    gasnetx_memory(NULL, &rings, NULL);
    return rings;
}

static void destroy_place(const place_t *place)
{
    CHECK(gasnetx_EP_Destroy(place->ep) == GASNET_OK, "the endpoint must be destroyed");
}

/* Makes an endpoint at all ranks, and talks to the one of a rank. */
static void come(place_t *place, gex_Rank_t to)
{
    open_place(place);
    conform_barrier();
    round_trip(place, to); /* its window opens */
    conform_barrier();
}

static void go(const place_t *place)
{
    destroy_place(place);
    conform_barrier();
}

static void come_and_go(place_t *place, gex_Rank_t to)
{
    come(place, to);
    go(place);
}

static void churn(gex_EP_Index_t want)
{
    place_t place = {.ep = GEX_EP_INVALID};

    open_place(&place);
    CHECK(place.index == want, "endpoint %u was created, not %u again", (unsigned)place.index,
          (unsigned)want);
    destroy_place(&place);
}

static void test_churn(void)
{
    const int n = job.size > 1 ? FEW_CHURNS : CHURNS;
    static place_t place;
    unsigned files;
    size_t resident, rings;

    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* the kernel may make small pages a huge one */
    open_places();
    come_and_go(&place, job.rank);
    CHECK(gasnetx_EP_Destroy(place.ep) == GASNET_ERR_BAD_ARG, "an endpoint was destroyed twice");
    CHECK(gasnetx_EP_Destroy(job.ep) == GASNET_ERR_BAD_ARG, "endpoint 0 was destroyed");
    for (int i = 0; i < 100; i++)
        churn(place.index);
    files = open_files();
    resident = resident_bytes();
    rings = ring_bytes();
    for (int i = 0; i < n; i++)
        churn(place.index);
    CHECK(open_files() == files, "%u files are open, %u were", open_files(), files);
    CHECK(ring_bytes() == rings, "the rings take more memory than before");
    CHECK(resident_bytes() < resident + RESIDENT_MAX, "%llu bytes are resident, %llu were",
          (unsigned long long)resident_bytes(), (unsigned long long)resident);
    come_and_go(&place, job.rank); /* the window is used again */
}

/* A message to an endpoint that was destroyed is dropped; later ones to a new endpoint arrive. The
 * new one has the same index, so it must not be there before the message, which a network may
 * delay. */
static void test_destroyed(void)
{
    const gex_Rank_t next = (job.rank + 1) % job.size;
    static place_t place;

    open_places();
    come(&place, next);
    const volatile uint64_t *dropped = &gasnetx_Counters(place.ep)->dropped[GASNETX_DROP_DESTROYED];
    const uint64_t before = (gasnetx_Counters_Update(), gasnetx_counter(dropped));
    go(&place);
    gex_AM_RequestShort1(gex_TM_Pair(places[0].ep, place.index), next, INDEX, 0, COUNT);
    while (gasnetx_Counters_Update(), gasnetx_counter(dropped) == before)
        gasnet_AMPoll();
    conform_barrier();
    come_and_go(&place, next);
}

#ifdef GASNET_PAR
/* ---- threads ---- */

static place_t owned[MOST_THREADS];

/* Each thread, bound to its endpoint, talks to the same thread of all ranks. */
static void *talk(void *arg)
{
    place_t *place = &owned[*(int *)arg];
    const unsigned want = ROUNDS * job.size;

    CHECK(gasnetx_EP_BindThread(place->ep) == GASNET_OK, "the thread must be bound");
    for (int i = 0; i < ROUNDS; i++)
        for (gex_Rank_t r = 0; r < job.size; r++)
            gex_AM_RequestShort1(place->pair, r, INDEX, 0, REPLY);
    GASNET_BLOCKUNTIL(place->requests == want && place->replies == want);
    CHECK(gasnetx_EP_BindThread(GEX_EP_INVALID) == GASNET_OK, "the binding must end");
    return NULL;
}

static void test_threads(void)
{
    for (int i = 0; i < job.threads; i++) {
        if (!owned[i].ep)
            open_place(&owned[i]);
        owned[i].requests = owned[i].replies = 0;
    }
    conform_barrier();
    conform_in_threads(job.threads, talk);
    conform_barrier();
}

/* All threads share one endpoint. */
static void *talk_together(void *arg)
{
    (void)arg;
    CHECK(gasnetx_EP_BindThread(places[0].ep) == GASNET_OK, "the thread must be bound");
    for (int i = 0; i < ROUNDS; i++)
        gex_AM_RequestShort1(places[0].pair, (job.rank + 1) % job.size, INDEX, 0, REPLY);
    GASNET_BLOCKUNTIL(places[0].replies == (unsigned)(ROUNDS * job.threads));
    gasnetx_EP_BindThread(GEX_EP_INVALID);
    return NULL;
}

static void test_shared(void)
{
    open_places();
    conform_in_threads(job.threads, talk_together);
    GASNET_BLOCKUNTIL(places[0].requests == (unsigned)(ROUNDS * job.threads));
    conform_barrier();
}
#endif

const conform_test_t conform_window_tests[] = {
    {"window_polls", test_polls_of_one, "polls of an endpoint leave others' messages alone"},
    {"window_churn", test_churn, "endpoints are made and destroyed; nothing grows"},
    {"window_destroyed", test_destroyed, "a message to a destroyed endpoint is dropped"},
#ifdef GASNET_PAR
    {"window_threads", test_threads, "each thread is bound to an endpoint of its own"},
    {"window_shared", test_shared, "all threads are bound to one endpoint"},
#endif
    {NULL, NULL, NULL},
};
