/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_perf: latency, rate and bandwidth of a GASNet, next to the raw limits of the machine. */
#include "perf.h"

#include <stdio.h>

/* The sizes of a single put or get. */
#define SIZES "1,8,64,512,2K,8K,32K,128K,1M"

const aq_perf_test_t aq_perf_tests[] = {
    {.name = "am-short",
     .part = AQ_PERF_PAIR,
     .lead = aq_perf_short,
     .by_thread = aq_perf_thread_short,
     .about = "round trip of a short request and its reply, us"},
    {.name = "am-medium",
     .part = AQ_PERF_PAIR,
     .sizes = "8,64,512,4K,16K,32K,64K",
     .limit = aq_perf_medium_limit,
     .lead = aq_perf_medium,
     .about = "round trip, payload both ways, us"},
    {.name = "am-long",
     .part = AQ_PERF_PAIR,
     .sizes = "8,64,512,4K,32K,256K,1M",
     .limit = aq_perf_long_limit,
     .lead = aq_perf_long,
     .about = "round trip, payload both ways, us"},
    {.name = "am-reqreq",
     .part = AQ_PERF_PAIR,
     .lead = aq_perf_reqreq,
     .follow = aq_perf_reqreq_follow,
     .about = "round trip in which the peer answers by a request from its main loop, us"},
    {.name = "am-flood",
     .part = AQ_PERF_PAIR,
     .lead = aq_perf_flood,
     .by_thread = aq_perf_thread_flood,
     .about = "short requests one way until the last one is acknowledged, us each"},
    {.name = "am-self",
     .part = AQ_PERF_SINGLE,
     .lead = aq_perf_self,
     .about = "short request of rank 0 to itself and its reply, us"},
    {.name = "poll-idle",
     .part = AQ_PERF_SINGLE,
     .lead = aq_perf_poll_idle,
     .about = "poll of rank 0 that finds nothing, us"},
    {.name = "put",
     .part = AQ_PERF_PAIR,
     .sizes = SIZES,
     .lead = aq_perf_put,
     .by_thread = aq_perf_thread_put,
     .about = "blocking put, us"},
    {.name = "get",
     .part = AQ_PERF_PAIR,
     .sizes = SIZES,
     .lead = aq_perf_get,
     .by_thread = aq_perf_thread_get,
     .about = "blocking get, us"},
    {.name = "put-rate",
     .part = AQ_PERF_PAIR,
     .sizes = "8",
     .lead = aq_perf_put_rate,
     .by_thread = aq_perf_thread_put_rate,
     .window = AQ_PERF_RATE_WINDOW,
     .about = "NBI puts, 64 between waits, M/s (millions per second)"},
    {.name = "get-rate",
     .part = AQ_PERF_PAIR,
     .sizes = "8",
     .lead = aq_perf_get_rate,
     .by_thread = aq_perf_thread_get_rate,
     .window = AQ_PERF_RATE_WINDOW,
     .about = "NBI gets, 64 between waits, M/s"},
    {.name = "put-bw",
     .part = AQ_PERF_PAIR,
     .sizes = "64K,1M,4M",
     .lead = aq_perf_put_bw,
     .about = "NBI puts, 16 between waits, MB/s (10^6 bytes per second)"},
    {.name = "get-bw",
     .part = AQ_PERF_PAIR,
     .sizes = "64K,1M,4M",
     .lead = aq_perf_get_bw,
     .about = "NBI gets, 16 between waits, MB/s"},
#ifdef GASNETX_MSG
    {.name = "msg",
     .part = AQ_PERF_PAIR,
     .sizes = "8,64,512,4K,16K,64K,256K,1M",
     .set_up = aq_perf_msg_set_up,
     .lead = aq_perf_msg,
     .follow = aq_perf_msg_follow,
     .about = "round trip of messages with two sides, in memory outside of segments, us"},
    {.name = "msg-rate",
     .part = AQ_PERF_PAIR,
     .sizes = "8",
     .set_up = aq_perf_msg_set_up,
     .lead = aq_perf_msg_rate,
     .follow = aq_perf_msg_rate_follow,
     .about = "messages with two sides that find a receive, 64 between waits, M/s"},
#endif
    {.name = "put-strided",
     .part = AQ_PERF_PAIR,
     .sizes = "64",
     .limit = aq_perf_blocks_limit,
     .room = aq_perf_blocks_room,
     .lead = aq_perf_put_strided,
     .about = "blocking put of --blocks blocks, one stride, us"},
    {.name = "get-strided",
     .part = AQ_PERF_PAIR,
     .sizes = "64",
     .limit = aq_perf_blocks_limit,
     .room = aq_perf_blocks_room,
     .lead = aq_perf_get_strided,
     .about = "blocking get of --blocks blocks, one stride, us"},
    {.name = "put-vector",
     .part = AQ_PERF_PAIR,
     .sizes = "64",
     .limit = aq_perf_blocks_limit,
     .room = aq_perf_blocks_room,
     .lead = aq_perf_put_vector,
     .about = "blocking put of --blocks blocks, as lists, us"},
    {.name = "raw-blocks",
     .part = AQ_PERF_SINGLE,
     .sizes = "64",
     .limit = aq_perf_blocks_limit,
     .room = aq_perf_blocks_room,
     .lead = aq_perf_raw_blocks,
     .about = "no GASNet: memcpy of the same blocks, us"},
    {.name = "fadd",
     .part = AQ_PERF_PAIR,
     .set_up = aq_perf_atomic_set_up,
     .lead = aq_perf_fadd,
     .about = "remote atomic fetch-and-add to 8 bytes, blocking, us"},
    {.name = "add",
     .part = AQ_PERF_PAIR,
     .set_up = aq_perf_atomic_set_up,
     .lead = aq_perf_add,
     .about = "remote atomic add to 8 bytes, blocking, us"},
    {.name = "fadd-rate",
     .part = AQ_PERF_PAIR,
     .set_up = aq_perf_atomic_set_up,
     .lead = aq_perf_fadd_rate,
     .about = "NBI fetch-and-adds, 64 between waits, M/s"},
    {.name = "add-rate",
     .part = AQ_PERF_PAIR,
     .set_up = aq_perf_atomic_set_up,
     .lead = aq_perf_add_rate,
     .about = "NBI adds, 64 between waits, M/s"},
    {.name = "add-initiate",
     .part = AQ_PERF_PAIR,
     .set_up = aq_perf_atomic_set_up,
     .lead = aq_perf_add_initiate,
     .about = "the call that begins an NBI add, us"},
    {.name = "raw-add",
     .part = AQ_PERF_SINGLE,
     .lead = aq_perf_raw_add,
     .about = "no GASNet: atomic add to 8 bytes by the processor (raw-add, raw-add-rate)"},
    {.name = "barrier",
     .part = AQ_PERF_ALL,
     .each = aq_perf_barrier,
     .about = "gex_Coll_BarrierNB over all ranks, us"},
    {.name = "barrier-sub",
     .part = AQ_PERF_ALL,
     .set_up = aq_perf_barrier_sub_set_up,
     .each = aq_perf_barrier_sub,
     .about = "barriers of both halves of the ranks at once (ranks < 4: of a team of all), us"},
    {.name = "broadcast",
     .part = AQ_PERF_ALL,
     .sizes = "8,64K",
     .each = aq_perf_broadcast,
     .about = "broadcast, each rank the root in turn, us"},
    {.name = "reduce-one",
     .part = AQ_PERF_ALL,
     .sizes = "8,64K",
     .each = aq_perf_reduce_one,
     .about = "sum of 8-byte integers, each rank the root in turn, us"},
    {.name = "reduce-all",
     .part = AQ_PERF_ALL,
     .sizes = "8,64K",
     .each = aq_perf_reduce_all,
     .about = "sum of 8-byte integers at all ranks, us"},
#ifdef GASNETX_COLL
    {.name = "allgather",
     .part = AQ_PERF_ALL,
     .sizes = "8,64K",
     .limit = aq_perf_all_limit,
     .room = aq_perf_all_room,
     .each = aq_perf_allgather,
     .about = "a block of each rank to all ranks, us"},
    {.name = "alltoall",
     .part = AQ_PERF_ALL,
     .sizes = "8,64K",
     .limit = aq_perf_all_limit,
     .room = aq_perf_all_room,
     .each = aq_perf_alltoall,
     .about = "a block of each rank to each rank, us"},
#endif
    {.name = "team",
     .part = AQ_PERF_ALL,
     .each = aq_perf_team,
     .about = "gex_TM_Split in two (ranks < 4: in one), without scratch, and gex_TM_Destroy, us"},
#ifdef GASNET_PAR
    {.name = "service-thread",
     .part = AQ_PERF_ALL,
     .set_up = aq_perf_service_set_up,
     .lead = aq_perf_service,
     .follow = aq_perf_service_follow,
     .starts_threads = true,
     .about =
         "locks, reductions, barriers and puts that are waited for, beside a thread that polls "
         "(service-lock, -reduce, -barrier, -put), us"},
#endif
    {.name = "raw",
     .part = AQ_PERF_SINGLE,
     .lead = aq_perf_raw,
     .about = "no GASNet: cache-line ping-pong (raw), context switch (raw-switch), memcpy "
              "(raw-memcpy)"},
    {.name = "raw-udp",
     .part = AQ_PERF_SINGLE,
     .lead = aq_perf_raw_udp,
     .about = "no GASNet: ping-pong of two UDP sockets (raw-udp), a stream of large datagrams "
              "(raw-udp-bw)"},
    {.name = NULL}};

/* Runs after the first test of all ranks, in a phase of its own, because other ranks must sleep. */
static const aq_perf_test_t barrier_bound = {
    .name = "barrier-bound", .part = AQ_PERF_SINGLE, .lead = aq_perf_barrier_bound};

static aq_perf_sizes_t sizes_of(const aq_perf_test_t *test)
{
    aq_perf_sizes_t sizes = {1, {0}};

    if (!test->sizes)
        return sizes;
    if (aq_perf_options.sizes.count)
        return aq_perf_options.sizes;
    aq_perf_sizes_parse(test->sizes, &sizes);
    return sizes;
}

/* The size of half a segment that each test needs, or each thread of it, in bytes. */
static size_t largest_room(void)
{
    size_t largest = aq_perf_options.threads ? 64 * AQ_PERF_RATE_WINDOW : 1;

    for (size_t t = 0; t < aq_perf_options.ntests; t++) {
        const aq_perf_test_t *test = aq_perf_options.tests[t];
        aq_perf_sizes_t sizes = sizes_of(test);
        for (size_t s = 0; s < sizes.count; s++) {
            size_t room = test->room ? test->room(sizes.bytes[s]) : sizes.bytes[s];
            if (room > largest)
                largest = room;
        }
    }
    return largest;
}

/* The same for half of the segment that all threads share. */
static size_t shared_room(void)
{
    const aq_perf_options_t *o = &aq_perf_options;

    if (o->own)
        return 1;
    return largest_room() * (o->threads ? o->threads : 1);
}

static bool is_by_threads(const aq_perf_test_t *test)
{
    return aq_perf_options.threads && test->by_thread;
}

static void lead_size(const aq_perf_test_t *test, size_t bytes)
{
    aq_perf_report_frames(NULL, 0);
    if (is_by_threads(test))
        aq_perf_threads_lead(test, bytes);
    else if (test->each)
        aq_perf_report(test->name, bytes, 1e6 * aq_perf_together_measure(test->each, bytes), "us");
    else
        test->lead(bytes);
    aq_perf_report_frames(test->name, bytes);
}

static size_t size_limit(const aq_perf_test_t *test)
{
    if (is_by_threads(test))
        return aq_perf_thread_limit();
    return test->limit ? test->limit() : aq_perf_job.half;
}

static void lead_test(const aq_perf_test_t *test)
{
    aq_perf_sizes_t sizes = sizes_of(test);
    size_t limit = size_limit(test);

    aq_perf_phase_open();
    if (is_by_threads(test))
        aq_perf_threads_start();
    for (size_t s = 0; s < sizes.count; s++) {
        if (sizes.bytes[s] <= limit)
            lead_size(test, sizes.bytes[s]);
        else
            fprintf(stderr, "gasnet_perf: %s: %zu bytes left out because the limit is %zu\n",
                    test->name, sizes.bytes[s], limit);
    }
    if (test->each)
        aq_perf_together_close();
    if (is_by_threads(test))
        aq_perf_threads_end();
    aq_perf_phase_close();
}

static bool has_part(const aq_perf_test_t *test)
{
    return test->part == AQ_PERF_ALL ||
           (test->part == AQ_PERF_PAIR && aq_perf_job.rank == aq_perf_job.peer);
}

static void run_test(const aq_perf_test_t *test)
{
    static unsigned phase;

    if (aq_perf_job.rank == 0) {
        lead_test(test);
        return;
    }
    aq_perf_phase_enter();
    if (!has_part(test))
        aq_perf_phase_sleep(phase);
    else if (test->each)
        aq_perf_together_follow(test->each);
    else if (is_by_threads(test))
        aq_perf_threads_serve(phase);
    else if (test->follow)
        test->follow(phase);
    aq_perf_phase_serve(phase); /* until rank 0 closes the phase */
    phase++;
}

static void run_all(void)
{
    bool bound_known = false;

    for (size_t t = 0; t < aq_perf_options.ntests; t++) {
        const aq_perf_test_t *test = aq_perf_options.tests[t];
        run_test(test);
        if (test->part == AQ_PERF_ALL && !bound_known) {
            run_test(&barrier_bound);
            bound_known = true;
        }
    }
}

/* Creates objects such as teams. Collective: all ranks must create them in the same order. */
static void set_up_all(void)
{
    for (size_t t = 0; t < aq_perf_options.ntests; t++)
        if (aq_perf_options.tests[t]->set_up)
            aq_perf_options.tests[t]->set_up();
    if (aq_perf_options.threads)
        aq_perf_thread_set_up(largest_room());
    aq_perf_job_barrier();
}

#ifdef GASNETX_COLL_LIMITS
/* All ranks get the code of rank 0. */
static int share_code(int code)
{
    gex_Event_Wait(gex_Coll_BroadcastNB(aq_perf_job.tm, 0, &code, &code, sizeof code, 0));
    return code;
}

static int tune(void)
{
    bool lead_rank = aq_perf_job.rank == 0;
    int code = share_code(lead_rank && !aq_perf_tune_check(aq_perf_options.tune) ? 2 : 0);

    if (code)
        return code;
    aq_perf_job_attach(aq_perf_tune_room(aq_perf_job.size));
    if (lead_rank) {
        code = aq_perf_tune_lead();
        aq_perf_together_close();
    } else {
        aq_perf_together_follow(aq_perf_tune_each);
    }
    return share_code(code);
}
#else
static int tune(void)
{
    return 2; /* the options have been refused */
}
#endif

static void list_tests(void)
{
    for (const aq_perf_test_t *test = aq_perf_tests; test->name; test++)
        puts(test->name);
}

int main(int argc, char **argv)
{
    char why[512];

    aq_perf_job_init(&argc, &argv);
    bool legal = aq_perf_options_parse(argc, argv, why, sizeof why);
    bool lead_rank = aq_perf_job.rank == 0;

    if (!legal) {
        if (lead_rank)
            fprintf(stderr, "gasnet_perf: %s\n", why);
        aq_perf_job_exit(2);
    }
    if (aq_perf_options.help || aq_perf_options.list) {
        if (lead_rank && aq_perf_options.help)
            aq_perf_help();
        else if (lead_rank)
            list_tests();
        aq_perf_job_exit(0);
    }
    if (aq_perf_options.tune)
        aq_perf_job_exit(tune());
    aq_perf_job_attach(shared_room());
    if (lead_rank) {
        aq_perf_report_title();
        if (aq_perf_options.memory)
            aq_perf_report_memory();
    }
    set_up_all();
    run_all();
    if (lead_rank && aq_perf_options.memory && aq_perf_options.ntests)
        aq_perf_report_peers();
    aq_perf_job_exit(0);
}
