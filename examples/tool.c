/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tool.c - stacktool: a tool that asks all processes where they are, by a stream along a tree.
 *
 *     rank 0:       the tool: asks, down the tree, and prints which ranks are at the same place
 *     other ranks:  a program that works: a ring in which each rank waits for its neighbours.
 *                   Whenever such a rank polls, it answers with the names of its functions
 *     inner ranks:  merge what comes from below: equal stacks become one line with many ranks, so
 *                   the root gets one short message, however many ranks there are
 *
 * One rank gets stuck (--stuck), and soon all others wait for it. Another one (--silent) does not
 * even answer: the merge waits for all children, but not longer than a limit.
 *
 * The tool asks until two answers are the same, so what it prints stands still. Then it releases
 * the rank that is stuck, and all work ends; if a rank is silent, it ends the job.
 */
#include "example.h"

#include <aqueduct_stream.h>
#include <unistd.h>

static const char help[] =
    "usage: stacktool [--stuck R] [--silent R] [--arity K] [--limit MS] [--steps N]\n"
    "Prints which ranks are stuck, and where.\n"
    "  --stuck R    the rank that gets stuck (default 1)\n"
    "  --silent R   a rank that does not answer (default: none)\n"
    "  --arity K    children of a rank in the tree (1 to 1000; default 2)\n"
    "  --limit MS   how long to wait for answers, for each level of the tree (1 to 60000; default\n"
    "               2000)\n"
    "  --steps N    steps of the work (10 to 1000000; default 100)\n";

enum { ON_STEP = EXAMPLE_FIRST_INDEX }; /* index of a handler of active messages */
enum { ASK, ANSWER, RELEASE };          /* ids of handlers of the stream */
enum { FRAMES = 8, NAME_BYTES = 200, TROUBLE_STEP = 5, RANKS_MAX = 10000, GROUPS = 50 };

static uint64_t stuck = 1, silent = UINT64_MAX, arity = 2, limit_ms = 2000, steps = 100;

/* ---- the program that works; it keeps the names of its functions ---- */

static const char *frames[FRAMES];
static int depth;
static _Atomic uint64_t my_step, step_of_side[2]; /* of the left and of the right neighbour */
static _Atomic int released;

static void frame_enter(const char *name)
{
    frames[depth++] = name;
}

static void frame_leave(void)
{
    depth--;
}

static void on_step(gex_Token_t token, gex_AM_Arg_t side, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    (void)token;
    atomic_store(&step_of_side[side & 1], example_join(high, low));
}

/* The workers are ranks 1 to N - 1, in a ring. */
static gex_Rank_t neighbour(int side)
{
    const gex_Rank_t workers = job.ranks - 1, place = job.me - 1;
    return 1 + (place + (side ? 1 : workers - 1)) % workers;
}

static void exchange(uint64_t step)
{
    frame_enter("exchange");
    for (int side = 0; side < 2; side++)
        gex_AM_RequestShort3(job.tm, neighbour(side), ON_STEP, 0, !side, example_high(step),
                             example_low(step));
    GASNET_BLOCKUNTIL(atomic_load(&step_of_side[0]) >= step &&
                      atomic_load(&step_of_side[1]) >= step);
    frame_leave();
}

static void read_input(void)
{
    frame_enter("read_input");
    GASNET_BLOCKUNTIL(atomic_load(&released));
    frame_leave();
}

/* Does not poll, so this rank takes part in nothing until the job ends. */
static void spin(void)
{
    for (;;)
        usleep(10000);
}

static void solve(uint64_t step)
{
    frame_enter("solve");
    if (step == TROUBLE_STEP && job.me == stuck)
        read_input();
    if (step == TROUBLE_STEP && job.me == silent)
        spin();
    atomic_store(&my_step, step);
    exchange(step);
    frame_leave();
}

static void work(void)
{
    frame_enter("main");
    for (uint64_t step = 1; step <= steps; step++)
        solve(step);
    frame_leave();
}

/* ---- reports: a line with the number of the question and the steps of all, and groups ---- */

/* Ranks with the same stack. */
typedef struct group {
    char stack[NAME_BYTES];
    unsigned char has[RANKS_MAX];
} group_t;

typedef struct report {
    uint64_t question, steps;
    size_t count;
    group_t *groups; /* GROUPS of them */
} report_t;

static group_t *report_group(report_t *report, const char *stack, size_t bytes)
{
    for (size_t i = 0; i < report->count; i++)
        if (strlen(report->groups[i].stack) == bytes &&
            memcmp(report->groups[i].stack, stack, bytes) == 0)
            return &report->groups[i];
    if (report->count == GROUPS || bytes >= NAME_BYTES)
        example_fatal("there are more than %d different stacks, or one is too long.", GROUPS);
    group_t *group = &report->groups[report->count++];
    memset(group, 0, sizeof *group);
    memcpy(group->stack, stack, bytes);
    return group;
}

/* Reads ranks like 0-3,5 into a group. Returns the text behind them. */
static const char *ranks_read(group_t *group, const char *text)
{
    char *end;
    do {
        const unsigned long first = strtoul(text, &end, 10);
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        for (unsigned long rank = first; rank <= last && rank < job.ranks; rank++)
            group->has[rank] = 1;
        text = end + 1;
    } while (*end == ',');
    return end;
}

/* Writes ranks like 0-3,5 and returns their number. */
static unsigned ranks_write(const group_t *group, char *to, size_t size)
{
    unsigned count = 0;
    size_t at = 0;
    to[0] = 0;
    for (gex_Rank_t rank = 0; rank < job.ranks && at < size; rank++) {
        gex_Rank_t last = rank;
        if (!group->has[rank])
            continue;
        while (last + 1 < job.ranks && group->has[last + 1])
            last++;
        at += (size_t)snprintf(to + at, size - at, last > rank ? "%s%u-%u" : "%s%u", at ? "," : "",
                               (unsigned)rank, (unsigned)last);
        count += last - rank + 1;
        rank = last;
    }
    return count;
}

/* Adds the lines of a message. An answer to an earlier question is too late and does not count. */
static void report_read(report_t *report, const gasnetx_stream_message_t *message)
{
    char *text = example_alloc(message->nbytes + 1, 1), *line = text;
    memcpy(text, message->data, message->nbytes);
    const uint64_t question = strtoull(line, &line, 10), all = strtoull(line, &line, 10);
    if (question > report->question) {
        report->question = question;
        report->count = report->steps = 0;
    }
    report->steps += question == report->question ? all : 0;
    while (question == report->question && line[0] == '\n' && line[1]) {
        const char *stack = line + 1, *equals = strchr(stack, '=');
        if (!equals)
            break;
        group_t *group = report_group(report, stack, (size_t)(equals - stack));
        line = (char *)(uintptr_t)ranks_read(group, equals + 1);
    }
    free(text);
}

static size_t report_write(const report_t *report, char *to, size_t size)
{
    char ranks[1000];
    size_t at =
        (size_t)snprintf(to, size, "%" PRIu64 " %" PRIu64 "\n", report->question, report->steps);
    for (size_t i = 0; i < report->count && at < size; i++) {
        ranks_write(&report->groups[i], ranks, sizeof ranks);
        at += (size_t)snprintf(to + at, size - at, "%s=%s\n", report->groups[i].stack, ranks);
    }
    return at;
}

/* ---- the stream: questions down, reports up ---- */

static void on_ask(gasnetx_Stream_t stream, const gasnetx_stream_message_t *message, size_t count,
                   void *context)
{
    char text[NAME_BYTES + 100];
    uint64_t question;
    (void)count;
    (void)context;
    memcpy(&question, message->data, sizeof question);
    size_t at = (size_t)snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 "\n", question,
                                 atomic_load(&my_step));
    for (int i = 0; i < depth; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? " > " : "", frames[i]);
    at += (size_t)snprintf(text + at, sizeof text - at, "=%u\n", (unsigned)job.me);
    gasnetx_Stream_Send(stream, GASNETX_UP, ANSWER, text, at, NULL, 0, 0);
}

/* The filter of inner ranks: one report of several. */
static int merge(gasnetx_Stream_t stream, const gasnetx_stream_message_t *inputs, size_t count,
                 gasnetx_stream_output_t *output, void *context)
{
    report_t *report = context;
    (void)stream;
    report->question = report->steps = report->count = 0;
    for (size_t i = 0; i < count; i++)
        report_read(report, &inputs[i]);
    output->nbytes = report_write(report, output->data, output->capacity);
    return 0;
}

/* The root: the merged report. */
static void on_report(gasnetx_Stream_t stream, const gasnetx_stream_message_t *message,
                      size_t count, void *context)
{
    (void)stream;
    (void)count;
    ((report_t *)context)->question = 0;
    report_read(context, message);
}

static void on_release(gasnetx_Stream_t stream, const gasnetx_stream_message_t *message,
                       size_t count, void *context)
{
    (void)stream;
    (void)message;
    (void)count;
    (void)context;
    atomic_store(&released, 1);
}

/* Levels below a rank: a rank waits longer than those below it. */
static uint64_t height(void)
{
    uint64_t levels = 0;
    for (uint64_t first = job.me * arity + 1; first < job.ranks; first = first * arity + 1)
        levels++;
    return levels;
}

static gasnetx_Stream_t stream_make(report_t *scratch, report_t *latest)
{
    const gasnetx_stream_entry_t entries[] = {
        {.id = ASK, .directions = GASNETX_DOWN, .flags = GASNETX_STREAM_PASS, .fn = on_ask},
        {.id = RELEASE, .directions = GASNETX_DOWN, .flags = GASNETX_STREAM_PASS, .fn = on_release},
        {.id = ANSWER,
         .directions = GASNETX_UP,
         .flags = job.me ? GASNETX_STREAM_SELF : 0,
         .children = GASNETX_ALL_CHILDREN,
         .limit_us = 1000 * limit_ms * height(),
         .filters = {{merge, scratch}},
         .fn = on_report,
         .context = latest}};
    const gasnetx_stream_spec_t spec = {
        .parent = gasnetx_Stream_TreeParent(job.me, job.ranks, 0, (gex_Rank_t)arity),
        .flags = GASNETX_STREAM_ORDERED,
        .entries = entries,
        .entry_count = 3};
    gasnetx_Stream_t stream;
    if (gasnetx_Stream_Create(job.tm, &spec, &stream) != GASNET_OK)
        example_fatal("cannot create the stream.");
    return stream;
}

/* ---- the tool ---- */

static void line_print(const char *ranks, unsigned count, const char *what)
{
    printf("%s %s: %s\n", count == 1 ? "rank" : "ranks", ranks, what);
}

static int group_compare(const void *a, const void *b)
{
    const unsigned char *x = ((const group_t *)a)->has, *y = ((const group_t *)b)->has;
    return memcmp(y, x, RANKS_MAX); /* the group with the lowest rank is the first one */
}

static void report_print(report_t *report)
{
    static group_t missing;
    char ranks[1000];
    for (gex_Rank_t rank = 1; rank < job.ranks; rank++)
        missing.has[rank] = 1;
    qsort(report->groups, report->count, sizeof *report->groups, group_compare);
    for (size_t i = 0; i < report->count; i++) {
        const group_t *group = &report->groups[i];
        const unsigned count = ranks_write(group, ranks, sizeof ranks);
        line_print(ranks, count, group->stack);
        for (gex_Rank_t rank = 0; rank < job.ranks; rank++)
            missing.has[rank] &= !group->has[rank];
    }
    const unsigned count = ranks_write(&missing, ranks, sizeof ranks);
    if (count)
        line_print(ranks, count, "no answer");
}

/* Asks, and waits for the report. */
static void ask(gasnetx_Stream_t stream, report_t *latest)
{
    static uint64_t question;
    question++;
    gasnetx_Stream_Send(stream, GASNETX_DOWN, ASK, &question, sizeof question, NULL, 0, 0);
    GASNET_BLOCKUNTIL(latest->question == question);
}

/* The ranks that have answered. */
static unsigned report_ranks(const report_t *report)
{
    char ranks[1000];
    unsigned count = 0;
    for (size_t i = 0; i < report->count; i++)
        count += ranks_write(&report->groups[i], ranks, sizeof ranks);
    return count;
}

/* Counts how many reports in a row were the same: as many ranks, at the same steps. */
static void report_compare(const report_t *report, unsigned ranks, int *same)
{
    static uint64_t steps_before;
    static unsigned ranks_before;
    *same = report->steps == steps_before && ranks == ranks_before ? *same + 1 : 0;
    steps_before = report->steps;
    ranks_before = ranks;
}

/* Asks until nothing has moved between two questions, and no rank is at work. */
static void tool_run(gasnetx_Stream_t stream, report_t *latest)
{
    enum { SAME = 20 }; /* reports in a row; 1 if ranks do not answer, which takes the limit */
    unsigned ranks = job.ranks;
    for (int same = 0; same < (ranks < job.ranks - 1 ? 1 : SAME);) {
        ask(stream, latest);
        ranks = report_ranks(latest);
        report_compare(latest, ranks, &same);
    }
    report_print(latest);
}

static report_t *report_make(void)
{
    report_t *report = example_alloc(1, sizeof *report);
    report->groups = example_alloc(GROUPS, sizeof *report->groups);
    return report;
}

int main(int argc, char **argv)
{
    gex_AM_Entry_t handlers[] = {
        {ON_STEP, (gex_AM_Fn_t)on_step, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 3, NULL, "step"}};
    const example_option_t options[] = {{"--stuck", 1, UINT32_MAX, &stuck},
                                        {"--silent", 1, UINT32_MAX, &silent},
                                        {"--arity", 1, 1000, &arity},
                                        {"--limit", 1, 60000, &limit_ms},
                                        {"--steps", 10, 1000000, &steps}};
    example_start("stacktool", help, &argc, &argv, handlers, 1);
    example_no_arguments(argc, argv, example_options(argc, argv, options, 5));
    if (job.ranks < 2 || job.ranks > RANKS_MAX)
        example_misuse("it needs 2 to %d ranks", RANKS_MAX);
    report_t *latest = report_make();
    gasnetx_Stream_t stream = stream_make(report_make(), latest);
    if (job.me)
        work();
    else
        tool_run(stream, latest);
    fflush(stdout);
    if (silent < job.ranks)
        gasnet_exit(0);
    if (!job.me)
        gasnetx_Stream_Send(stream, GASNETX_DOWN, RELEASE, NULL, 0, NULL, 0, 0);
    gasnetx_Stream_Free(&stream);
    example_finish(0);
}
