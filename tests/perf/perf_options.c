/* The command line of gasnet_perf. Every rank reads it; rank 0 speaks about it. */
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
    "                   [--time SECONDS] [--json] [--memory] [--frames] [--list] [--help]\n\n"
    "Runs the tests named, or all. Rank 0 measures with rank 1 (with itself in a job of one);\n"
    "other ranks sleep, but for collectives. A measurement is a warm-up, then at least 7 batches\n"
    "of operations; the median batch is reported.\n\n"
    "  --size N,...    bytes, K and M allowed, for the tests that have a size\n"
    "  --blocks N      blocks in a strided or vector operation (256); the size is that of a block\n"
    "  --json          one object a line instead of a table\n"
    "  --iters N       operations in a batch, instead of as many as fit in the time\n"
    "  --time SECONDS  for the batches of one measurement (0.2)\n"
    "  --memory        what the runtime holds on rank 0 before the first message, in KB;\n"
    "                  with no TEST, only this; else what peers cost after them too\n"
    "  --frames        after each test, how many messages, puts and gets shared a packet\n"
    "  --list          the names of the tests\n"
    "  --help          this text\n\n"
    "A size beyond what the job allows is left out, and standard error says so.\n"
    "us: microseconds, lower is better. M/s and MB/s: higher is better.\n\n";

static const char *const bound_note =
    "\nbarrier-bound is printed where a host has more ranks than processors. There each rank\n"
    "costs two context switches, so that a barrier takes at least\n"
    "2 * ranks on the host * raw-switch / processors. So does all else that no rank can leave\n"
    "before all have come: reduce-all, team.\n";

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
    /* strtoul would take a sign and leading blanks. */
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

static bool parse_seconds(const char *text)
{
    char *end;

    aq_perf_options.seconds = strtod(text, &end);
    return *text && *end == '\0' && aq_perf_options.seconds > 0 && aq_perf_options.seconds <= 3600;
}

static bool complain(char *why, size_t room, const char *format, ...)
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
                  {"--time", "seconds, above 0 and up to 3600"}};
    bool (*const parse[])(const char *) = {parse_sizes, parse_iters, parse_blocks, parse_seconds};

    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
        if (strcmp(option, values[v].option) != 0)
            continue;
        if (!text)
            return complain(why, room, "%s needs a value: %s", option, values[v].legal);
        return parse[v](text) ||
               complain(why, room, "%s cannot be \"%s\"; it is %s", option, text, values[v].legal);
    }
    return complain(why, room,
                    "no option \"%s\"; the options are --size, --blocks, --iters, --time, --json, "
                    "--memory, --frames, --list and --help",
                    option);
}

static bool unknown_test(const char *name, char *why, size_t room)
{
    complain(why, room, "no test \"%.64s\"; the tests are", name);
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
        return complain(why, room, "more than %d tests named, \"%s\" is one too many",
                        AQ_PERF_MAX_TESTS, name);
    for (const aq_perf_test_t *test = aq_perf_tests; test->name; test++) {
        if (strcmp(name, test->name) == 0) {
            o->tests[o->ntests++] = test;
            return true;
        }
    }
    return unknown_test(name, why, room);
}

/* An option that is a mere switch, or NULL. */
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
    if (o->ntests == 0 && !o->memory)
        for (const aq_perf_test_t *test = aq_perf_tests; test->name; test++)
            o->tests[o->ntests++] = test;
    return true;
}
