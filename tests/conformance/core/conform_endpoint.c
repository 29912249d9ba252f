/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages between further endpoints: their handlers, their tokens, and threads that have an
 * endpoint each. */
#include "../conform.h"

#include <stdlib.h>
#include <string.h>

enum {
    ENDPOINTS = 3, /* further endpoints of each rank; with endpoint 0 one more */
    INDEX = 77,    /* of the request's handler at every endpoint */
    LONG = 79,
    LONG_BACK = 80,
    BACK = 78,     /* of the reply's handler */
    ABSENT = 1000, /* an endpoint that no rank creates */
    ROUNDS = 200,  /* messages of a thread to each rank */
    MOST_THREADS = 64
};

typedef struct {
    gex_EP_t ep;
    gex_EP_Index_t index;
    conform_count_t requests, replies;
} station_t;

static station_t stations[1 + ENDPOINTS];

/* The station of the handler that runs, by the data that its endpoint was registered with. */
static station_t *station_here(gex_Token_t token, int is_request)
{
    gex_Token_Info_t info;
    const gex_TI_t wanted = GEX_TI_SRCRANK | GEX_TI_EP | GEX_TI_ENTRY | GEX_TI_IS_REQ;
    const gex_TI_t known = gex_Token_Info(token, &info, wanted);
    station_t *here = (station_t *)(uintptr_t)info.gex_entry->gex_cdata;

    CHECK((known & wanted) == wanted, "a token tells 0x%x, not all of 0x%x", known, wanted);
    CHECK(info.gex_ep == here->ep, "the handler of endpoint %u runs for another endpoint",
          (unsigned)here->index);
    CHECK(!info.gex_is_req == !is_request, "a request and a reply were mixed up");
    return here;
}

static void on_request(gex_Token_t token, void *load, size_t nbytes, gex_AM_Arg_t to,
                       gex_AM_Arg_t from)
{
    station_t *here = station_here(token, 1);

    CHECK((gex_AM_Arg_t)here->index == to, "a message to endpoint %d came to endpoint %u", (int)to,
          (unsigned)here->index);
    CHECK_FILL(load, nbytes, (uint64_t)conform_source(token), "the payload of a request");
    atomic_fetch_add(&here->requests, 1);
    gex_AM_ReplyShort1(token, BACK, 0, from);
}

static void on_reply(gex_Token_t token, gex_AM_Arg_t from)
{
    station_t *here = station_here(token, 0);

    CHECK((gex_AM_Arg_t)here->index == from, "a reply to endpoint %d came to endpoint %u",
          (int)from, (unsigned)here->index);
    atomic_fetch_add(&here->replies, 1);
}

/* The segment of station 1: requests of the rank before are written to the lower half, replies of
 * the rank after to the upper half. */
enum { HALF = 2 << 20 };

static unsigned char *long_segment;
static unsigned char **long_segments; /* by rank */
static conform_count_t long_requests, long_replies;

static void on_long(gex_Token_t token, void *load, size_t nbytes)
{
    const gex_Rank_t source = conform_source(token);

    CHECK(load == long_segment, "a Long came to %p, not to %p", load, (void *)long_segment);
    CHECK_FILL(load, nbytes, nbytes + source, "the payload of a Long request");
    atomic_fetch_add(&long_requests, 1);
    gex_AM_ReplyLong0(token, LONG_BACK, load, nbytes, long_segments[source] + HALF, GEX_EVENT_NOW,
                      0);
}

static void on_long_back(gex_Token_t token, void *load, size_t nbytes)
{
    (void)token;
    CHECK(load == long_segment + HALF, "a reply came to %p, not to %p", load,
          (void *)(long_segment + HALF));
    CHECK_FILL(load, nbytes, nbytes + job.rank, "the payload of a Long reply");
    atomic_fetch_add(&long_replies, 1);
}

static void register_station(station_t *station)
{
    gex_AM_Entry_t entries[] = {
        {INDEX, (gex_AM_Fn_t)on_request, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 2, station,
         "request"},
        {BACK, (gex_AM_Fn_t)on_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, station, "reply"},
        {LONG, (gex_AM_Fn_t)on_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 0, station, "long"},
        {LONG_BACK, (gex_AM_Fn_t)on_long_back, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY, 0, station,
         "long reply"}};

    station->index = gex_EP_QueryIndex(station->ep);
    CHECK(gex_EP_RegisterHandlers(station->ep, entries, 4) == GASNET_OK,
          "the handlers of endpoint %u must be registered", (unsigned)station->index);
}

static void create_endpoint(station_t *station, gex_EP_Capabilities_t capabilities)
{
    const int err = gex_EP_Create(&station->ep, job.client, capabilities, 0);

    CHECK(err == GASNET_OK, "gex_EP_Create must return GASNET_OK, but returned %d", err);
    register_station(station);
}

/* All ranks create theirs in one order, so that indices are the same everywhere. */
static void create_stations(void)
{
    if (stations[0].ep)
        return; /* of the run before */
    stations[0].ep = job.ep;
    register_station(&stations[0]);
    create_endpoint(&stations[1], GEX_EP_CAPABILITY_AM);
    create_endpoint(&stations[2], GEX_EP_CAPABILITY_AM | GEX_EP_CAPABILITY_RMA);
    create_endpoint(&stations[3], GEX_EP_CAPABILITY_ALL);
    conform_barrier();
}

static void send_between(const station_t *from, const station_t *to)
{
    unsigned char load[600];

    conform_fill(load, sizeof(load), job.rank);
    for (gex_Rank_t r = 0; r < job.size; r++)
        gex_AM_RequestMedium2(gex_TM_Pair(from->ep, to->index), r, INDEX, load,
                              (r + to->index) % sizeof(load), GEX_EVENT_NOW, 0, to->index,
                              from->index);
}

/* Every endpoint of every rank sends to every endpoint of every rank. */
static void test_all_pairs(void)
{
    const uint64_t want = (uint64_t)job.size * (1 + ENDPOINTS);

    create_stations();
    for (int i = 0; i <= ENDPOINTS; i++)
        stations[i].requests = stations[i].replies = 0;
    conform_barrier();
    for (int from = 0; from <= ENDPOINTS; from++)
        for (int to = 0; to <= ENDPOINTS; to++)
            send_between(&stations[from], &stations[to]);
    for (int i = 0; i <= ENDPOINTS; i++)
        GASNET_BLOCKUNTIL(stations[i].requests == want && stations[i].replies == want);
    conform_barrier();
    for (int i = 0; i <= ENDPOINTS; i++)
        CHECK(stations[i].requests == want && stations[i].replies == want,
              "endpoint %u got more messages than were sent", (unsigned)stations[i].index);
}

static void bind_long_segment(void)
{
    gex_Segment_t segment;
    uint64_t *all = conform_alloc(job.size * sizeof(*all));

    long_segment = conform_alloc(2 * HALF);
    CHECK(gex_Segment_Create(&segment, job.client, long_segment, 2 * HALF, GEX_MK_HOST, 0) ==
                  GASNET_OK &&
              gex_EP_BindSegment(stations[1].ep, segment, 0) == GASNET_OK &&
              gex_EP_PublishBoundSegment(job.tm, &stations[1].ep, 1, 0) == GASNET_OK,
          "endpoint 1 must get a segment");
    conform_exchange((uintptr_t)long_segment, all);
    long_segments = conform_alloc(job.size * sizeof(*long_segments));
    for (gex_Rank_t r = 0; r < job.size; r++)
        long_segments[r] = (unsigned char *)(uintptr_t)all[r];
    free(all);
}

/* Longs up to the limit of messages to primordial endpoints, within 2 MiB. */
static void test_longs(void)
{
    static const size_t sizes[] = {0, 1, 4096, 65536, 65537, 1000003, HALF};
    const gex_Rank_t next = (job.rank + 1) % job.size;
    unsigned char *load = conform_alloc(HALF);
    gex_TM_t pair;

    create_stations();
    if (!long_segment)
        bind_long_segment();
    pair = gex_TM_Pair(stations[1].ep, stations[1].index);
    CHECK(gex_AM_MaxRequestLong(pair, next, GEX_EVENT_NOW, 0, 0) >= gex_AM_LUBRequestLong(),
          "a limit below the LUB");
    long_requests = long_replies = 0;
    conform_barrier();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i] > gex_AM_LUBRequestLong() || sizes[i] > gex_AM_LUBReplyLong())
            continue;
        conform_fill(load, sizes[i], sizes[i] + job.rank);
        gex_AM_RequestLong0(pair, next, LONG, load, sizes[i], long_segments[next], GEX_EVENT_NOW,
                            0);
        memset(load, 0, sizes[i]); /* the call returned: it may be reused */
        GASNET_BLOCKUNTIL(long_replies == long_requests && long_replies > 0);
        conform_barrier();
        CHECK(long_requests == 1 && long_replies == 1, "%llu requests and %llu replies came, not 1",
              (unsigned long long)long_requests, (unsigned long long)long_replies);
        conform_barrier();
        long_requests = long_replies = 0;
        conform_barrier();
    }
    free(load);
}

/* The receiver drops such a message, and says so; both ranks go on. */
static void test_absent(void)
{
    const gex_Rank_t next = (job.rank + 1) % job.size;

    create_stations();
    gex_AM_RequestMedium2(gex_TM_Pair(stations[1].ep, ABSENT), next, INDEX, "lost", 4,
                          GEX_EVENT_NOW, 0, 0, 0);
    test_all_pairs();
}

#ifdef GASNET_PAR
static station_t windows[MOST_THREADS];

/* Each thread sends from its endpoint to the endpoints of the same thread of all ranks. */
static void *talk_through_window(void *arg)
{
    station_t *window = &windows[*(int *)arg];
    const uint64_t want = (uint64_t)job.size * ROUNDS;

    for (int i = 0; i < ROUNDS; i++)
        send_between(window, window);
    GASNET_BLOCKUNTIL(window->requests == want && window->replies == want);
    return NULL;
}

static void test_windows(void)
{
    for (int i = 0; i < job.threads; i++) {
        if (!windows[i].ep)
            create_endpoint(&windows[i], GEX_EP_CAPABILITY_ALL);
        windows[i].requests = windows[i].replies = 0;
    }
    conform_barrier();
    conform_in_threads(job.threads, talk_through_window);
    conform_barrier();
}
#endif

const conform_test_t conform_endpoint_tests[] = {
    {"endpoint_am", test_all_pairs, "messages between all pairs of endpoints"},
    {"endpoint_long", test_longs, "Longs of all sizes between further endpoints"},
    {"endpoint_absent", test_absent, "a message to an endpoint that is not there is dropped"},
#ifdef GASNET_PAR
    {"endpoint_threads", test_windows, "each thread has an endpoint of its own"},
#endif
    {NULL, NULL, NULL},
};
