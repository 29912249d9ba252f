/* gasnet_perf: latency, rate and bandwidth of a GASNet, beside the raw limits of the machine. */
#include "perf.h"

#include <stdio.h>

const aq_perf_test_t aq_perf_tests[] = {
    {"am-short", AQ_PERF_PAIR, NULL, NULL, aq_perf_short, NULL, NULL,
     "round trip of a short request and its reply, us"},
    {"am-medium", AQ_PERF_PAIR, "8,64,512,4K,16K,32K,64K", aq_perf_medium_limit, aq_perf_medium,
     NULL, NULL, "round trip, payload both ways, us"},
    {"am-long", AQ_PERF_PAIR, "8,64,512,4K,32K,256K,1M", aq_perf_long_limit, aq_perf_long, NULL,
     NULL, "round trip, payload both ways, us"},
    {"am-reqreq", AQ_PERF_PAIR, NULL, NULL, aq_perf_reqreq, NULL, aq_perf_reqreq_follow,
     "round trip where the answer is a request that the peer's main loop sends, us"},
    {"am-flood", AQ_PERF_PAIR, NULL, NULL, aq_perf_flood, NULL, NULL,
     "short requests one way, until the last is counted and acknowledged, us each"},
    {"put", AQ_PERF_PAIR, "1,8,64,512,2K,8K,32K,128K,1M", NULL, aq_perf_put, NULL, NULL,
     "blocking put, us"},
    {"get", AQ_PERF_PAIR, "1,8,64,512,2K,8K,32K,128K,1M", NULL, aq_perf_get, NULL, NULL,
     "blocking get, us"},
    {"put-rate", AQ_PERF_PAIR, "8", NULL, aq_perf_put_rate, NULL, NULL,
     "NBI puts, 64 between waits, M/s (millions a second)"},
    {"get-rate", AQ_PERF_PAIR, "8", NULL, aq_perf_get_rate, NULL, NULL,
     "NBI gets, 64 between waits, M/s"},
    {"put-bw", AQ_PERF_PAIR, "64K,1M,4M", NULL, aq_perf_put_bw, NULL, NULL,
     "NBI puts, 16 between waits, MB/s (10^6 bytes a second)"},
    {"get-bw", AQ_PERF_PAIR, "64K,1M,4M", NULL, aq_perf_get_bw, NULL, NULL,
     "NBI gets, 16 between waits, MB/s"},
    {"barrier", AQ_PERF_ALL, NULL, NULL, aq_perf_barrier, aq_perf_barrier_close,
     aq_perf_barrier_follow, "gex_Coll_BarrierNB over all ranks, us"},
    {"raw", AQ_PERF_ALONE, NULL, NULL, aq_perf_raw, NULL, NULL,
     "no GASNet: cache-line ping-pong (raw), context switch (raw-switch), memcpy (raw-memcpy)"},
    {NULL, AQ_PERF_ALONE, NULL, NULL, NULL, NULL, NULL, NULL}};

/* Follows the barrier in a phase of its own, for the ranks must sleep while it is measured. */
static const aq_perf_test_t barrier_bound = {"barrier-bound",       AQ_PERF_ALONE, NULL, NULL,
                                             aq_perf_barrier_bound, NULL,          NULL, NULL};

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

static size_t largest_size(void)
{
    size_t largest = 1;

    for (size_t t = 0; t < aq_perf_options.ntests; t++) {
        aq_perf_sizes_t sizes = sizes_of(aq_perf_options.tests[t]);
        for (size_t s = 0; s < sizes.count; s++)
            if (sizes.bytes[s] > largest)
                largest = sizes.bytes[s];
    }
    return largest;
}

static void lead(const aq_perf_test_t *test)
{
    aq_perf_sizes_t sizes = sizes_of(test);
    size_t limit = test->limit ? test->limit() : aq_perf_job.half;

    aq_perf_phase_open();
    for (size_t s = 0; s < sizes.count; s++) {
        if (sizes.bytes[s] <= limit)
            test->lead(sizes.bytes[s]);
        else
            fprintf(stderr, "gasnet_perf: %s: %zu bytes left out, for the limit here is %zu\n",
                    test->name, sizes.bytes[s], limit);
    }
    if (test->close)
        test->close();
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
        lead(test);
        return;
    }
    aq_perf_phase_enter();
    if (!has_part(test))
        aq_perf_phase_sleep(phase);
    else if (test->follow)
        test->follow(phase);
    aq_perf_phase_serve(phase); /* whatever it did: until rank 0 closes the phase */
    phase++;
}

static void run_all(void)
{
    for (size_t t = 0; t < aq_perf_options.ntests; t++) {
        const aq_perf_test_t *test = aq_perf_options.tests[t];
        run_test(test);
        if (test->part == AQ_PERF_ALL)
            run_test(&barrier_bound);
    }
}

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
    aq_perf_job_attach(largest_size());
    if (lead_rank) {
        aq_perf_report_title();
        if (aq_perf_options.memory)
            aq_perf_report_memory();
    }
    run_all();
    aq_perf_job_exit(0);
}
