// SPDX-License-Identifier: BSD-3-Clause
// wrong_address: rank 0 of a job of 2 names memory that rank 1 does not have, in all ways, at all
// places. wrong_address_everything is the same program, with all memory of rank 1 as its segment.
//
//     wrong_address --list
//
// prints a line for each wrong access: OPERATION PLACE.
//
//     wrong_address OPERATION PLACE
//
// makes this access, which has to end the job. It prints "expect: TEXT" for the texts that the
// message must have, and "went on" if the job does not end.
//
//     wrong_address return
//
// makes all of them in one job with GASNET_ERRORS=return, reads the error of each, and prints their
// number.
//
//     WRONG_FURTHER=1 wrong_address ...
//
// The same, for the segment of endpoint 1 of rank 1.
//
//     wrong_address handler | late-handler | chained-handler
//     wrong_address pointer
//
// A put behind a segment, by a program with a handler of SIGSEGV, which ends the process with code
// 7; a put far from all segments, by a program that installs such a handler after attach; the same
// with a handler that calls the one before it; and a wild pointer of the program itself, at which
// it dies by the signal.
#include <aqueduct.h>
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>
#include <gasnet_tools.h>
#include <gasnetex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 4, NBYTES = 8, LINGER_SECONDS = 5 };

// How the operation is synchronized.
typedef enum sync { BLOCKING, EVENT, IMPLICIT } sync_t;

typedef struct operation {
    const char *name;
    const char *call; // as an error names it
    sync_t sync;
    gex_Event_t (*start)(void *at); // NBYTES of rank 1, and of VIS another piece at `inside` before
} operation_t;

// A place of NBYTES bytes that are not, or not all, in the segment of rank 1.
typedef struct place {
    const char *name;
    int reason;
    void *(*at)(void);
} place_t;

#ifdef GASNET_SEGMENT_EVERYTHING
enum { EVERYTHING = 1, ABSENT = GASNETX_ERROR_UNMAPPED };
#else
enum { EVERYTHING = 0, ABSENT = GASNETX_ERROR_OUTSIDE };
#endif

static gex_TM_t team, tm; // tm: of the operations
static int further;       // tm leads to endpoint 1
static gex_Rank_t me, target = 1;
static gex_AD_t integers, reals;
static char *segment, *inside; // of rank 1; inside: a place that it has
static uintptr_t segment_size;
static void *known; // the segment of rank 1 as the library knows it
static uintptr_t known_size;
static uint64_t local[2];
static unsigned long errors, complaints;

static void complain(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    complaints++;
}

// ---- operations ----

static gex_Event_t do_put(void *at)
{
    gex_RMA_PutBlocking(tm, target, at, local, NBYTES, 0);
    return GEX_EVENT_INVALID;
}

static gex_Event_t do_put_nb(void *at)
{
    return gex_RMA_PutNB(tm, target, at, local, NBYTES, GEX_EVENT_NOW, 0);
}

static gex_Event_t do_put_nbi(void *at)
{
    gex_RMA_PutNBI(tm, target, at, local, NBYTES, GEX_EVENT_DEFER, 0);
    return GEX_EVENT_INVALID;
}

static gex_Event_t do_put_val(void *at)
{
    gex_RMA_PutBlockingVal(tm, target, at, 1, NBYTES, 0);
    return GEX_EVENT_INVALID;
}

static gex_Event_t do_get(void *at)
{
    gex_RMA_GetBlocking(tm, local, target, at, NBYTES, 0);
    return GEX_EVENT_INVALID;
}

static gex_Event_t do_get_nb(void *at)
{
    return gex_RMA_GetNB(tm, local, target, at, NBYTES, 0);
}

static gex_Event_t do_get_nbi(void *at)
{
    gex_RMA_GetNBI(tm, local, target, at, NBYTES, 0);
    return GEX_EVENT_INVALID;
}

static gex_Event_t do_get_val(void *at)
{
    if (gex_RMA_GetBlockingVal(tm, target, at, NBYTES, 0) != 0)
        complain("gex_RMA_GetBlockingVal has returned a value\n");
    return GEX_EVENT_INVALID;
}

static gex_Event_t do_memset(void *at)
{
    gasnet_memset(target, at, 1, NBYTES);
    return GEX_EVENT_INVALID;
}

static gex_Event_t do_add(void *at)
{
    return gex_AD_OpNB_U64(integers, NULL, target, at, GEX_OP_ADD, 1, 0, 0);
}

static gex_Event_t do_fetch_add(void *at)
{
    return gex_AD_OpNB_U64(integers, local, target, at, GEX_OP_FADD, 1, 0, 0);
}

static gex_Event_t do_swap_nbi(void *at)
{
    gex_AD_OpNBI_U64(integers, local, target, at, GEX_OP_SWAP, 1, 0, 0);
    return GEX_EVENT_INVALID;
}

static gex_Event_t do_multiply(void *at)
{
    return gex_AD_OpNB_DBL(reals, NULL, target, at, GEX_OP_MULT, 2, 0, 0);
}

static gex_Event_t do_vector_put(void *at)
{
    const gex_Memvec_t there[] = {{inside, NBYTES}, {at, NBYTES}}, here = {local, sizeof local};
    return gex_VIS_VectorPutNB(tm, target, 2, there, 1, &here, 0);
}

static gex_Event_t do_vector_get(void *at)
{
    const gex_Memvec_t there[] = {{inside, NBYTES}, {at, NBYTES}}, here = {local, sizeof local};
    return gex_VIS_VectorGetNB(tm, 1, &here, target, 2, there, 0);
}

static gex_Event_t do_indexed_put(void *at)
{
    void *const there[] = {inside, at}, *const here[] = {local};
    gex_VIS_IndexedPutBlocking(tm, target, 2, there, NBYTES, 1, here, sizeof local, 0);
    return GEX_EVENT_INVALID;
}

static gex_Event_t do_indexed_get(void *at)
{
    void *const there[] = {inside, at}, *const here[] = {local};
    gex_VIS_IndexedGetNBI(tm, 1, here, sizeof local, target, 2, there, NBYTES, 0);
    return GEX_EVENT_INVALID;
}

static const size_t two = 2;
static const ptrdiff_t step = NBYTES;

static gex_Event_t do_strided_put(void *at)
{
    const ptrdiff_t stride = (ptrdiff_t)((uintptr_t)at - (uintptr_t)inside);
    gex_VIS_StridedPutNBI(tm, target, inside, &stride, local, &step, NBYTES, &two, 1, 0);
    return GEX_EVENT_INVALID;
}

static gex_Event_t do_strided_get(void *at)
{
    const ptrdiff_t stride = (ptrdiff_t)((uintptr_t)at - (uintptr_t)inside);
    return gex_VIS_StridedGetNB(tm, local, &step, target, inside, &stride, NBYTES, &two, 1, 0);
}

static const operation_t operations[] = {
    {"put", "gex_RMA_PutBlocking", BLOCKING, do_put},
    {"put-nb", "gex_RMA_PutNB", EVENT, do_put_nb},
    {"put-nbi", "gex_RMA_PutNBI", IMPLICIT, do_put_nbi},
    {"put-val", "gex_RMA_PutBlocking", BLOCKING, do_put_val},
    {"get", "gex_RMA_GetBlocking", BLOCKING, do_get},
    {"get-nb", "gex_RMA_GetNB", EVENT, do_get_nb},
    {"get-nbi", "gex_RMA_GetNBI", IMPLICIT, do_get_nbi},
    {"get-val", "gex_RMA_GetBlocking", BLOCKING, do_get_val},
    {"memset", "gasnet_memset", BLOCKING, do_memset},
    {"add", "gex_AD_OpNB_U64", EVENT, do_add},
    {"fetch-add", "gex_AD_OpNB_U64", EVENT, do_fetch_add},
    {"swap-nbi", "gex_AD_OpNBI_U64", IMPLICIT, do_swap_nbi},
    {"multiply", "gex_AD_OpNB_DBL", EVENT, do_multiply},
    {"vector-put", "gex_VIS_VectorPutNB", EVENT, do_vector_put},
    {"vector-get", "gex_VIS_VectorGetNB", EVENT, do_vector_get},
    {"indexed-put", "gex_VIS_IndexedPutBlocking", BLOCKING, do_indexed_put},
    {"indexed-get", "gex_VIS_IndexedGetNBI", IMPLICIT, do_indexed_get},
    {"strided-put", "gex_VIS_StridedPutNBI", IMPLICIT, do_strided_put},
    {"strided-get", "gex_VIS_StridedGetNB", EVENT, do_strided_get},
};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static int is_atomic(const operation_t *operation)
{
    return strncmp(operation->call, "gex_AD_", 7) == 0;
}

// ---- places ----

static void *at_before(void)
{
    return segment - NBYTES;
}

static void *at_start(void)
{
    return segment - NBYTES / 2;
}

static void *at_end(void)
{
    return segment + segment_size - NBYTES / 2;
}

static void *at_behind(void)
{
    return segment + segment_size;
}

static void *at_beyond(void)
{
    return segment + segment_size + (1 << 16);
}

static void *at_wrap(void)
{
    return (void *)(uintptr_t)-NBYTES;
}

static void *at_null(void)
{
    return NULL;
}

// Neither a segment nor anything else of a process is there.
static void *at_far(void)
{
    return (void *)(uintptr_t)0x300000000000;
}

// The processor does not tell such an address.
static void *at_impossible(void)
{
    return (void *)(uintptr_t)0x8888888888888888;
}

static void *at_odd(void)
{
    return inside + 1;
}

static const place_t places[] = {
    {"before", ABSENT, at_before},
    {"start", ABSENT, at_start},
    {"end", ABSENT, at_end},
    {"behind", ABSENT, at_behind},
    {"beyond", ABSENT, at_beyond},
    {"wrap", GASNETX_ERROR_OUTSIDE, at_wrap},
    {"null", ABSENT, at_null},
    {"far", ABSENT, at_far},
    {"impossible", ABSENT, at_impossible},
    {"odd", GASNETX_ERROR_MISALIGNED, at_odd},
};
enum { PLACES = sizeof places / sizeof places[0] };
static const place_t no_segment = {"no-segment", GASNETX_ERROR_NO_SEGMENT, at_null};

// An address that is not aligned is wrong for atomics only, and the first fault that they have. If
// all memory is the segment, there may be some behind the guard page. Atomics and memset lead to
// endpoint 0 only.
static int is_wrong(const operation_t *operation, const place_t *place)
{
    if (further && (is_atomic(operation) || operation->start == do_memset))
        return 0;
    if (EVERYTHING && place->at == at_beyond)
        return 0;
    return place->reason != GASNETX_ERROR_MISALIGNED || is_atomic(operation);
}

static int reason_of(const operation_t *operation, const place_t *place, const void *at)
{
    return is_atomic(operation) && (uintptr_t)at % NBYTES ? GASNETX_ERROR_MISALIGNED
                                                          : place->reason;
}

// ---- a job that asks for errors ----

static void check_none(const char *when)
{
    gasnetx_error_t error;
    if (gasnetx_Error_Next(&error) != GASNET_ERR_NOT_READY)
        complain("%s: there is an error of %s\n", when, error.operation);
}

static void check_error(const operation_t *operation, const place_t *place, const void *at,
                        gex_Event_t event)
{
    gasnetx_error_t error;
    if (gasnetx_Error_Next(&error) != GASNET_OK) {
        complain("%s %s: there is no error\n", operation->name, place->name);
        return;
    }
    errors++;
    if (strcmp(error.operation, operation->call) != 0)
        complain("%s %s: the error is of %s\n", operation->name, place->name, error.operation);
    if (error.reason != reason_of(operation, place, at))
        complain("%s %s: reason %d\n", operation->name, place->name, error.reason);
    if (error.rank != target || error.ep_index != (further ? 1 : 0) || error.addr != at ||
        error.nbytes != NBYTES)
        complain("%s %s: rank %u, endpoint %u, %zu bytes at %p\n", operation->name, place->name,
                 error.rank, error.ep_index, error.nbytes, error.addr);
    if (operation->sync != BLOCKING && error.event != event)
        complain("%s %s: the error is of another event\n", operation->name, place->name);
    if (error.segment_addr != known || error.segment_size != known_size)
        complain("%s %s: the error has another segment\n", operation->name, place->name);
}

static void synchronize(const operation_t *operation, gex_Event_t event)
{
    if (operation->sync == EVENT && event == GEX_EVENT_INVALID)
        complain("%s: the operation was complete at once\n", operation->name);
    if (operation->sync == EVENT)
        gex_Event_Wait(event);
    else if (operation->sync == IMPLICIT)
        gex_NBI_Wait(GEX_EC_ALL, 0);
}

static void check_unchanged(const operation_t *operation, const place_t *place)
{
    if (local[0] != 0x1122334455667788 || local[1] != 0x1122334455667788)
        complain("%s %s: local memory has changed\n", operation->name, place->name);
}

static void try_access(const operation_t *operation, const place_t *place)
{
    void *const at = place->at();
    local[0] = local[1] = 0x1122334455667788;
    const gex_Event_t event = operation->start(at);
    synchronize(operation, event);
    check_error(operation, place, at, event);
    check_none(place->name);
    check_unchanged(operation, place);
}

// Operations that fit bring no errors, also if they follow one that does not, or have no bytes.
static void try_right(void)
{
    uint64_t value = 7;
    gex_RMA_PutBlocking(tm, target, inside, &value, sizeof value, 0);
    value = 0;
    gex_RMA_GetBlocking(tm, &value, target, inside, sizeof value, 0);
    gex_RMA_PutBlocking(tm, target, at_before(), &value, 0, 0);
    gex_RMA_GetBlocking(tm, &value, target, NULL, 0, 0);
    check_none("right operations");
    if (value != 7)
        complain("a put that fits has not arrived\n");
    value = 0;
    gex_RMA_PutBlocking(tm, target, inside, &value, sizeof value, 0);
}

// Three operations, of which one is wrong, in one synchronization.
static void try_several(void)
{
    gasnetx_error_t error;
    gex_Event_t events[] = {do_get_nb(inside), do_get_nb(at_behind()), do_get_nb(inside)};
    const gex_Event_t wrong = events[1];
    gex_Event_WaitAll(events, 3, 0);
    if (gasnetx_Error_Next(&error) != GASNET_OK || error.event != wrong)
        complain("gex_Event_WaitAll: the error is not that of the wrong get\n");
    check_none("gex_Event_WaitAll");
    gex_NBI_BeginAccessRegion(0);
    do_put_nbi(at_behind());
    do_get_nbi(at_before());
    gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    for (int i = 0; i < 2; i++)
        if (gasnetx_Error_Next(&error) != GASNET_OK ||
            error.addr != (i ? at_before() : at_behind()))
            complain("an access region: error %d is missing\n", i);
    check_none("an access region");
    gex_Event_t leaf = gex_RMA_PutNB(tm, target, at_behind(), local, NBYTES, &leaf, 0);
    while (gex_Event_Test(leaf) != GASNET_OK)
        ;
    if (gasnetx_Error_Next(&error) != GASNET_OK)
        complain("gex_Event_Test: no error\n");
    errors += 4;
}

// A segment of another endpoint of rank 1, which exists at first, and then does not. Both ranks
// call.
static void try_endpoint(void)
{
    gasnetx_error_t error;
    gex_EP_t ep;
    gex_Segment_t extra;
    gex_Addr_t there;
    uintptr_t size;
    if (gex_EP_Create(&ep, gex_TM_QueryClient(team), GEX_EP_CAPABILITY_RMA, 0) != GASNET_OK ||
        gex_Segment_Create(&extra, gex_TM_QueryClient(team), NULL, GASNET_PAGESIZE, GEX_MK_HOST,
                           0) != GASNET_OK ||
        gex_EP_BindSegment(ep, extra, 0) != GASNET_OK ||
        gex_EP_PublishBoundSegment(team, &ep, 1, 0) != GASNET_OK)
        gasnet_exit(3);
    const gex_TM_t pair = gex_TM_Pair(gex_TM_QueryEP(team), gex_EP_QueryIndex(ep));
    gex_Segment_QueryBound(pair, target, &there, NULL, &size);
    for (int gone = 0; gone < 2; gone++) {
        if (me == 0)
            gex_RMA_PutBlocking(pair, target, there, local, NBYTES, 0);
        if (me == 0 && (gasnetx_Error_Next(&error) == GASNET_OK) != gone)
            complain("a put to another endpoint: there is %s error\n", gone ? "no" : "an");
        if (me == 0 && gone &&
            (error.reason != GASNETX_ERROR_NO_SEGMENT || error.ep_index != gex_EP_QueryIndex(ep)))
            complain("a put to another endpoint: reason %d\n", error.reason);
        if (me == 0)
            gex_RMA_GetBlocking(pair, local, target, (char *)there + size - 1, NBYTES, 0);
        if (me == 0 && (gasnetx_Error_Next(&error) != GASNET_OK || error.nbytes != NBYTES))
            complain("a get from another endpoint: there is no error\n");
        gex_Coll_BarrierBlocking(team, 0);
        if (me == target && !gone)
            gex_Segment_Destroy(extra, 0);
        gex_Coll_BarrierBlocking(team, 0);
    }
    errors += me == 0 ? 3 : 0;
}

// More errors than a process keeps.
static void try_many(void)
{
    enum { MANY = 1000 };
    uint64_t failed, dropped, more;
    unsigned read = 0;
    gasnetx_error_t error;
    gasnetx_Error_Counts(&failed, NULL);
    if (failed != errors)
        complain("%lu errors are counted, not %lu\n", (unsigned long)failed, errors);
    for (int i = 0; i < MANY; i++)
        do_put(at_behind());
    while (gasnetx_Error_Next(&error) == GASNET_OK)
        read++;
    gasnetx_Error_Counts(&more, &dropped);
    if (more != failed + MANY || read == 0 || read + dropped != MANY)
        complain("of %d errors %lu are counted, %u read, %lu dropped\n", MANY,
                 (unsigned long)(more - failed), read, (unsigned long)dropped);
}

static void try_all(void)
{
    for (unsigned o = 0; o < OPERATIONS; o++)
        for (unsigned p = 0; p < PLACES; p++)
            if (is_wrong(&operations[o], &places[p]))
                try_access(&operations[o], &places[p]);
    try_right();
    try_several();
    try_many();
    try_right();
}

// The memory of rank 1 is as it was.
static void check_segment_clean(void)
{
    for (uintptr_t i = 0; me == target && i < segment_size; i++)
        if (segment[i]) {
            complain("byte %lu of the segment has changed\n", (unsigned long)i);
            return;
        }
}

// ---- the job ----

static void begin(int *argc, char ***argv)
{
    gex_Client_Init(NULL, NULL, &team, "wrong_address", argc, argv, GEX_FLAG_USES_GASNET1);
    tm = team;
    me = gex_TM_QueryRank(team);
    gex_AD_Create(&integers, team, GEX_DT_U64, GEX_OP_ADD | GEX_OP_FADD | GEX_OP_SWAP, 0);
    gex_AD_Create(&reals, team, GEX_DT_DBL, GEX_OP_MULT, 0);
}

// Endpoint 1 of each rank, with a segment, which neighbours map.
static void attach_further(void)
{
    const gex_Client_t client = gex_TM_QueryClient(team);
    gex_Segment_t own;
    gex_EP_t ep;
    if (gex_EP_Create(&ep, client, GEX_EP_CAPABILITY_ALL, 0) != GASNET_OK ||
        gex_Segment_Create(&own, client, NULL, PAGES * GASNET_PAGESIZE, GEX_MK_HOST, 0) !=
            GASNET_OK ||
        gex_EP_BindSegment(ep, own, 0) != GASNET_OK ||
        gex_EP_PublishBoundSegment(team, &ep, 1, 0) != GASNET_OK)
        gasnet_exit(3);
    tm = gex_TM_Pair(ep, gex_EP_QueryIndex(ep));
}

// Memory of rank 1 between pages without access.
static void make_memory(void)
{
    segment_size = PAGES * GASNET_PAGESIZE;
    if (me == target) {
        char *room = mmap(NULL, segment_size + 2 * GASNET_PAGESIZE, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        segment = room + GASNET_PAGESIZE;
        if (room == MAP_FAILED || mprotect(segment, segment_size, PROT_READ | PROT_WRITE) != 0)
            gasnet_exit(3);
    }
    gex_Event_Wait(gex_Coll_BroadcastNB(team, target, &segment, &segment, sizeof segment, 0));
}

static void attach(void)
{
    gex_Segment_t own;
    if (gex_Segment_Attach(&own, team, PAGES * GASNET_PAGESIZE) != GASNET_OK)
        gasnet_exit(3);
    if (further)
        attach_further();
    gex_Segment_QueryBound(tm, target, &known, NULL, &known_size);
    segment = known;
    segment_size = known_size;
    if (EVERYTHING)
        make_memory();
    inside = segment + GASNET_PAGESIZE;
    gex_Coll_BarrierBlocking(team, 0);
}

static void end(void)
{
    gex_Coll_BarrierBlocking(team, 0);
    check_segment_clean();
    gex_Coll_BarrierBlocking(team, 0);
    if (me == 0)
        printf("%lu errors, %lu complaints\n", errors, complaints);
    gasnet_exit(complaints != 0);
}

static void run_return(void)
{
    for (unsigned o = 0; !EVERYTHING && !further && me == 0 && o < OPERATIONS; o++)
        if (strncmp(operations[o].call, "gex_VIS", 7) != 0) // has pieces in the segment
            try_access(&operations[o], &no_segment);
    gex_Coll_BarrierBlocking(team, 0);
    attach();
    if (!further)
        try_endpoint();
    if (me == 0)
        try_all();
    end();
}

// The byte at which a mapped access fails: the first one behind the end, if the rest is inside.
static const void *first_wrong(const place_t *place)
{
    void *here = NULL;
    gex_Segment_QueryBound(tm, target, NULL, &here, NULL);
#ifndef GASNET_DEBUG
    if (here && place->at == at_end)
        return segment + segment_size;
#endif
    return place->at();
}

// Whether a wrong operation ends this process by a signal: the program does it without a call, and
// nothing tells from the address that the operation was one to rank 1.
static int is_wild(const place_t *place)
{
    void *here = NULL;
    gex_Segment_QueryBound(tm, target, NULL, &here, NULL);
#ifdef GASNET_DEBUG
    here = NULL;
#endif
    return here && !EVERYTHING && (place->at == at_far || place->at == at_impossible);
}

static void print_expected(const place_t *place)
{
    // Only the target knows what memory it has; its sentence names this rank.
    const gex_Rank_t named = EVERYTHING && place->reason == ABSENT ? me : target;
    if (is_wild(place))
        puts("wild");
    if (is_wild(place) && place->at == at_impossible)
        puts("expect: an address that no process can have");
    else
        printf("expect: %p\nexpect: rank %u\n", first_wrong(place), named);
    fflush(stdout);
}

static void run_end(const operation_t *operation, const place_t *place)
{
    const double from = (double)gasnett_ticks_to_ns(gasnett_ticks_now());
    if (place != &no_segment)
        attach();
    if (me == 0) {
        print_expected(place);
        synchronize(operation, operation->start(place->at()));
    }
    while ((double)gasnett_ticks_to_ns(gasnett_ticks_now()) - from < LINGER_SECONDS * 1e9)
        gasnet_AMPoll();
    puts("went on");
    gasnet_exit(0);
}

static void on_segv(int number)
{
    (void)number;
    _exit(7);
}

static void run_put(void *(*at)(void))
{
    if (me == 0)
        do_put(at());
    gex_Coll_BarrierBlocking(team, 0);
    gasnet_exit(0);
}

static struct sigaction before; // the handler that was there before that of the program

static void on_segv_chained(int number, siginfo_t *info, void *context)
{
    (void)!write(STDOUT_FILENO, "chained\n", 8);
    before.sa_sigaction(number, info, context);
}

static void run_late_handler(int chained)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    if (chained)
        action.sa_sigaction = on_segv_chained;
    else
        action.sa_handler = on_segv;
    attach();
    sigaction(SIGSEGV, &action, &before);
    run_put(at_far);
}

static void run_pointer(void)
{
    attach();
    if (me == 0)
        *(volatile char *)(uintptr_t)0x5123456000 = 1;
    gex_Coll_BarrierBlocking(team, 0);
    gasnet_exit(0);
}

static void list(void)
{
    for (unsigned o = 0; o < OPERATIONS; o++)
        for (unsigned p = 0; p < PLACES; p++)
            if (is_wrong(&operations[o], &places[p]))
                printf("%s %s\n", operations[o].name, places[p].name);
}

static const place_t *find_place(const char *name)
{
    for (unsigned p = 0; p < PLACES; p++)
        if (strcmp(places[p].name, name) == 0)
            return &places[p];
    return strcmp(name, no_segment.name) == 0 ? &no_segment : NULL;
}

int main(int argc, char **argv)
{
    further = getenv("WRONG_FURTHER") != NULL;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "handler") == 0)
        signal(SIGSEGV, on_segv);
    begin(&argc, &argv);
    if (argc == 2 && strcmp(argv[1], "handler") == 0) {
        attach();
        run_put(at_behind);
    }
    if (argc == 2 && strstr(argv[1], "-handler"))
        run_late_handler(strcmp(argv[1], "chained-handler") == 0);
    if (argc == 2 && strcmp(argv[1], "pointer") == 0)
        run_pointer();
    if (argc == 2 && strcmp(argv[1], "return") == 0)
        run_return();
    for (unsigned o = 0; argc == 3 && o < OPERATIONS; o++)
        if (strcmp(operations[o].name, argv[1]) == 0 && find_place(argv[2]))
            run_end(&operations[o], find_place(argv[2]));
    fprintf(stderr, "wrong_address --list | return | OPERATION PLACE\n");
    gasnet_exit(2);
    return 2;
}
