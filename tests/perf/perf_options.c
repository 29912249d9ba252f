/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of gasnet_perf. Every rank parses it; rank 0 prints messages about it. */
#include "perf.h"

#include <stdarg.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t max_size = (size_t)1 << 30;

aq_perf_options_t aq_perf_options = {.seconds = 0.2, .blocks = 256};

static const char *const usage =
    "usage: gasnet_perf [TEST...] [--size N[,N...]] [--blocks N] [--iters N]\n"
    "                   [--time SECONDS] [--threads T] [--endpoints shared|own]\n"
    "                   [--service spin|yield|nap|block|none]\n"
    "                   [--wait auto|spin|block|spinblock|poll]\n"
    "                   [--json] [--memory] [--frames] [--list] [--help]\n"
    "       gasnet_perf --tune FILE [--time SECONDS]\n\n"
    "Runs the named tests, or all. Rank 0 measures with rank 1 (with itself in a job of one);\n"
    "other ranks sleep, except in collectives. A measurement is a warm-up and at least 7 batches\n"
    "of operations; the median of the batches is reported.\n\n"
    "  --size N,...    bytes, K and M allowed, for the tests that have a size\n"
    "  --blocks N      blocks in a strided or vector operation (256); the size is that of a block\n"
    "  --json          one object per line instead of a table\n"
    "  --iters N       operations in a batch, instead of as many as fit in the time\n"
    "  --time SECONDS  for the batches of one measurement (0.2)\n"
    "  --threads T     threads of rank 0 and of its peer; thread i works with thread i. NAME is "
    "the\n"
    "                  time in each thread, NAME-sum the rate of all. Above 1 only in a program\n"
    "                  that was compiled with GASNET_PAR, such as gasnet_perf_par\n"
    "  --endpoints E   shared: all threads use one endpoint (the default); own: one for each\n"
    "  --service S     the service thread of each rank in service-thread: polls without a pause\n"
    "                  (spin, the default), yields between polls (yield), sleeps between polls\n"
    "                  (nap), waits by GASNET_BLOCKUNTIL (block), or does not exist (none)\n"
    "  --wait W        how the T workers of each rank in service-thread wait: by\n"
    "                  GASNET_BLOCKUNTIL (auto, the default), by that after gasnet_set_waitmode\n"
    "                  (spin, block, spinblock), or by polling (poll)\n"
    "  --memory        the memory of the runtime on rank 0 before the first message, in KB; with\n"
    "                  a TEST also the cost of peers after the tests\n"
    "  --frames        after each test, the number of messages, puts and gets per packet\n"
    "  --tune FILE     finds limits of collectives that are better than the defaults for this\n"
    "                  conduit and number of ranks, each in turn with its default, and writes "
    "them\n"
    "                  to FILE, for GASNET_COLL_TUNING_FILE; takes up to 2 minutes\n"
    "  --list          the names of the tests\n"
    "  --help          this text\n\n"
    "A size above the limit of the job is left out, with a message on standard error.\n"
    "us: microseconds, lower is better. M/s and MB/s: higher is better.\n\n";

static const char *const bound_note =
    "\nbarrier-bound is printed if a host has more ranks than processors. Each rank then costs\n"
    "two context switches, so that a barrier takes at least\n"
    "2 * ranks on the host * raw-switch / processors. The same bound applies to reduce-all and\n"
    "team, which no rank can leave before all ranks have entered.\n";

void aq_perf_help(void)
{
    fputs(usage, stdout);
    for (const aq_perf_test_t *test = aq_perf_tests; test->name; test++)
        printf("  %-12s %s%s%s\n", test->name, test->about, test->sizes ? ": " : "",
               test->sizes ? test->sizes : "");
    fputs(bound_note, stdout);
}

static bool parse_size(const char *text, char **end, size_t *size)
{
    /* strtoul would accept a sign and leading blanks. */
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long value = strtoul(text, end, 10);
    if (errno || value > max_size)
        return false;
    unsigned shift = 0;
    if (**end == 'K' || **end == 'k')
        shift = 10;
    else if (**end == 'M' || **end == 'm')
        shift = 20;
    *end += shift != 0;
    *size = (size_t)value << shift;
    return *size <= max_size && *size > 0;
}

bool aq_perf_sizes_parse(const char *text, aq_perf_sizes_t *sizes)
{
    sizes->count = 0;
    for (;;) {
        char *end;
        if (sizes->count == AQ_PERF_MAX_SIZES ||
            !parse_size(text, &end, &sizes->bytes[sizes->count]))
            return false;
        sizes->count++;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
}

static bool parse_sizes(const char *text)
{
    return aq_perf_sizes_parse(text, &aq_perf_options.sizes);
}

static bool parse_iters(const char *text)
{
    char *end;

    errno = 0;
    aq_perf_options.iters = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && !errno && aq_perf_options.iters >= 1 &&
           aq_perf_options.iters <= 1000000000;
}

static bool parse_blocks(const char *text)
{
    char *end;

    errno = 0;
    unsigned long blocks = strtoul(text, &end, 10);
    aq_perf_options.blocks = blocks;
    return *text >= '0' && *text <= '9' && *end == '\0' && !errno && blocks >= 1 && blocks <= 65536;
}

static bool parse_threads(const char *text)
{
    char *end;

    errno = 0;
    unsigned long threads = strtoul(text, &end, 10);
    aq_perf_options.threads = (unsigned)threads;
    return *text >= '0' && *text <= '9' && *end == '\0' && !errno && threads >= 1 &&
           threads <= AQ_PERF_MAX_THREADS;
}

static const char *const endpoint_words[] = {"shared", "own"};

const char *aq_perf_endpoints(void)
{
    return endpoint_words[aq_perf_options.own];
}

static bool parse_endpoints(const char *text)
{
    aq_perf_options.own = strcmp(text, endpoint_words[1]) == 0;
    if (!aq_perf_options.threads)
        aq_perf_options.threads = 1;
    return aq_perf_options.own || strcmp(text, endpoint_words[0]) == 0;
}

/* Returns the index of text among the words, or their number. */
static unsigned word_index(const char *text, const char *const *words, unsigned count)
{
    unsigned w = 0;

    while (w < count && strcmp(text, words[w]) != 0)
        w++;
    return w;
}

static bool parse_service(const char *text)
{
    static const char *const words[] = {"spin", "yield", "nap", "block", "none"};
    const unsigned word = word_index(text, words, 5);

    aq_perf_options.service = (aq_perf_service_t)word;
    return word < 5;
}

static bool parse_wait(const char *text)
{
    static const char *const words[] = {"auto", "spin", "block", "spinblock", "poll"};
    const unsigned word = word_index(text, words, 5);

    aq_perf_options.wait = (aq_perf_wait_t)word;
    return word < 5;
}

static bool parse_tune(const char *text)
{
    aq_perf_options.tune = text;
    return *text != '\0';
}

static bool parse_seconds(const char *text)
{
    char *end;

    aq_perf_options.seconds = strtod(text, &end);
    return *text && *end == '\0' && aq_perf_options.seconds > 0 && aq_perf_options.seconds <= 3600;
}

static bool set_error(char *why, size_t room, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, room, format, args);
    va_end(args);
    return false;
}

static bool parse_value(const char *option, const char *text, char *why, size_t room)
{
    static const struct {
        const char *option, *legal;
    } values[] = {{"--size", "1 to 32 numbers of bytes, from 1 to 1024M, such as 8,64K,1M"},
                  {"--iters", "a number from 1 to 1000000000"},
                  {"--blocks", "a number from 1 to 65536"},
                  {"--time", "seconds, above 0 and up to 3600"},
                  {"--threads", "a number from 1 to 1000"},
                  {"--endpoints", "shared or own"},
                  {"--service", "spin, yield, nap, block or none"},
                  {"--wait", "auto, spin, block, spinblock or poll"},
                  {"--tune", "the name of a file"}};
    bool (*const parse[])(const char *) = {parse_sizes,   parse_iters,   parse_blocks,
                                           parse_seconds, parse_threads, parse_endpoints,
                                           parse_service, parse_wait,    parse_tune};

    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
        if (strcmp(option, values[v].option) != 0)
            continue;
        if (!text)
            return set_error(why, room, "%s needs a value: %s", option, values[v].legal);
        return parse[v](text) || set_error(why, room, "%s cannot be \"%s\"; it must be %s", option,
                                           text, values[v].legal);
    }
    return set_error(
        why, room,
        "there is no option \"%s\"; the options are --size, --blocks, --iters, --time, "
        "--threads, --endpoints, --service, --wait, --tune, --json, --memory, --frames, --list and "
        "--help",
        option);
}

static bool check_test(const aq_perf_test_t *test, char *why, size_t room)
{
    if (aq_perf_options.own && test->starts_threads)
        return set_error(why, room,
                         "the test %s has all its threads on one endpoint: use --endpoints shared",
                         test->name);
    if (!test->by_thread && !test->starts_threads)
        return set_error(why, room,
                         "the test %s cannot use --threads or --endpoints; am-short, am-flood, "
                         "put, get, put-rate and get-rate can, and service-thread --threads",
                         test->name);
    return true;
}

/* Whether this program can have the threads, and the tests that are named can use them. */
static bool check_threads(char *why, size_t room)
{
    const aq_perf_options_t *o = &aq_perf_options;

#ifndef GASNET_PAR
    if (o->threads > 1)
        return set_error(why, room,
                         "--threads %u needs a program that was compiled with GASNET_PAR, and this "
                         "one was not: run gasnet_perf_par",
                         o->threads);
#endif
    if (o->own && o->threads >= GASNET_MAXEPS)
        return set_error(why, room,
                         "--endpoints own needs %u endpoints, and this GASNet has at most %d: use "
                         "--endpoints shared",
                         o->threads + 1, (int)GASNET_MAXEPS);
    for (size_t t = 0; t < o->ntests; t++)
        if (!check_test(o->tests[t], why, room))
            return false;
    return true;
}

/* Whether --tune can be: it chooses the operations itself. */
static bool check_tune(char *why, size_t room)
{
    if (aq_perf_options.ntests || aq_perf_options.threads)
        return set_error(why, room,
                         "--tune chooses the tests itself: leave tests and --threads out");
#ifndef GASNETX_COLL_LIMITS
    return set_error(why, room,
                     "--tune needs limits of collectives that can be set, and this GASNet has "
                     "none");
#else
    if (aq_perf_job.size < 2)
        return set_error(why, room, "--tune needs at least 2 ranks, and the job has 1");
    return true;
#endif
}

static bool unknown_test(const char *name, char *why, size_t room)
{
    set_error(why, room, "there is no test \"%.64s\"; the tests are", name);
    for (const aq_perf_test_t *test = aq_perf_tests; test->name; test++) {
        size_t used = strlen(why);
        snprintf(why + used, room - used, "%s %s", test == aq_perf_tests ? "" : ",", test->name);
    }
    return false;
}

static bool add_test(const char *name, char *why, size_t room)
{
    aq_perf_options_t *o = &aq_perf_options;

    if (o->ntests == AQ_PERF_MAX_TESTS)
        return set_error(why, room, "only %d tests can be named, and \"%s\" is one more",
                         AQ_PERF_MAX_TESTS, name);
    for (const aq_perf_test_t *test = aq_perf_tests; test->name; test++) {
        if (strcmp(name, test->name) == 0) {
            o->tests[o->ntests++] = test;
            return true;
        }
    }
    return unknown_test(name, why, room);
}

/* Returns the flag of an option without a value, or NULL if there is no such option. */
static bool *find_switch(const char *text)
{
    aq_perf_options_t *o = &aq_perf_options;
    const struct {
        const char *name;
        bool *flag;
    } switches[] = {{"--json", &o->json},
                    {"--memory", &o->memory},
                    {"--frames", &o->frames},
                    {"--list", &o->list},
                    {"--help", &o->help}};

    for (size_t s = 0; s < sizeof switches / sizeof switches[0]; s++)
        if (strcmp(text, switches[s].name) == 0)
            return switches[s].flag;
    return NULL;
}

bool aq_perf_options_parse(int argc, char **argv, char *why, size_t room)
{
    aq_perf_options_t *o = &aq_perf_options;

    for (int a = 1; a < argc; a++) {
        bool *flag = find_switch(argv[a]);
        if (flag) {
            *flag = true;
        } else if (argv[a][0] == '-') {
            if (!parse_value(argv[a], a + 1 < argc ? argv[a + 1] : NULL, why, room))
                return false;
            a++;
        } else if (!add_test(argv[a], why, room)) {
            return false;
        }
    }
    if (o->tune)
        return check_tune(why, room);
    if (o->ntests == 0 && !o->memory)
        for (const aq_perf_test_t *test = aq_perf_tests; test->name; test++)
            if (test->by_thread || !o->threads)
                o->tests[o->ntests++] = test;
    return !o->threads || check_threads(why, room);
}
