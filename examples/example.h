/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * example.h - what the example programs share: the start and the end of a job, sums over the
 * ranks, waiting until every message has arrived, options, and errors told in one sentence.
 *
 * Always true: every rank runs the same program with the same arguments, so what a rank decides
 * from the arguments alone (a bad option, a size) all ranks decide alike. What a rank learns
 * elsewhere (a file, a count) is agreed with example_sum() before anyone acts upon it.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gasnetex.h>

enum {
    EXAMPLE_ON_SUM = GEX_AM_INDEX_BASE,
    EXAMPLE_ON_ANNOUNCE,
    EXAMPLE_FIRST_INDEX /* the first handler index that is free for a program */
};

/* The job as this rank sees it; set once, by example_start(). */
static struct {
    const char *program;
    const char *help;
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t tm;
    gex_Segment_t segment;
    gex_Rank_t me;
    gex_Rank_t ranks;
    gex_HSL_t lock; /* for what handlers change: they may run on another thread */
} job;

/* Written by the handlers below, hence atomic. */
static _Atomic uint64_t example_sum_total, example_sum_replies;
static _Atomic uint64_t example_items_in, example_items_due, example_announcements;

/* An argument of a message has 32 bits, so a 64-bit number travels as two. */
static inline gex_AM_Arg_t example_high(uint64_t value)
{
    return (gex_AM_Arg_t)(value >> 32);
}
static inline gex_AM_Arg_t example_low(uint64_t value)
{
    return (gex_AM_Arg_t)(uint32_t)value;
}

static inline uint64_t example_join(gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    return (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
}

static void example_on_sum(gex_Token_t token, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    (void)token;
    atomic_fetch_add(&example_sum_total, example_join(high, low));
    atomic_fetch_add(&example_sum_replies, 1);
}

static void example_on_announce(gex_Token_t token, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    (void)token;
    atomic_fetch_add(&example_items_due, example_join(high, low));
    atomic_fetch_add(&example_announcements, 1);
}

static inline double example_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void example_barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(job.tm, 0));
}

/* Ends the job; all ranks call it, with the same code. The barrier lets each finish its output. */
static inline void example_finish(int code)
{
    fflush(NULL);
    example_barrier();
    gasnet_exit(code);
}

/* Ends the job because of what this rank alone has met; may be called in a handler. */
__attribute__((format(printf, 1, 2))) static inline void example_fatal(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: rank %u: ", job.program, (unsigned)job.me);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    gasnet_exit(1);
    abort();
}

/* Ends the job because of its arguments; all ranks call it, rank 0 speaks. */
__attribute__((format(printf, 1, 2))) static inline void example_misuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (job.me == 0) {
        fprintf(stderr, "%s: ", job.program);
        vfprintf(stderr, format, args);
        fputs("; --help tells the usage.\n", stderr);
    }
    va_end(args);
    example_finish(2);
}

static inline void *example_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        example_fatal("no memory for %zu items of %zu bytes; give it a smaller task.", count, size);
    return memory;
}

/* Joins the job and registers the shared handlers and those of the program. */
static inline void example_start(const char *program, const char *help, int *argc, char ***argv,
                                 gex_AM_Entry_t *handlers, size_t count)
{
    gex_AM_Entry_t shared[] = {
        {EXAMPLE_ON_SUM, (gex_AM_Fn_t)example_on_sum, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2,
         NULL, "sum"},
        {EXAMPLE_ON_ANNOUNCE, (gex_AM_Fn_t)example_on_announce,
         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, NULL, "announce"},
    };
    job.program = program;
    job.help = help;
    if (gex_Client_Init(&job.client, &job.ep, &job.tm, "EXAMPLE", argc, argv, 0) != GASNET_OK) {
        fprintf(stderr, "%s: cannot join the job.\n", program);
        exit(1);
    }
    job.me = gex_TM_QueryRank(job.tm);
    job.ranks = gex_TM_QuerySize(job.tm);
    gex_HSL_Init(&job.lock);
    if (gex_EP_RegisterHandlers(job.ep, shared, 2) != GASNET_OK ||
        (count && gex_EP_RegisterHandlers(job.ep, handlers, count) != GASNET_OK))
        example_fatal("cannot register the message handlers.");
    example_barrier(); /* no message may leave before its handler exists everywhere */
}

/* The sum of every rank's value, on every rank. */
static inline uint64_t example_sum(uint64_t value)
{
    for (gex_Rank_t to = 0; to < job.ranks; to++)
        gex_AM_RequestShort2(job.tm, to, EXAMPLE_ON_SUM, 0, example_high(value),
                             example_low(value));
    GASNET_BLOCKUNTIL(atomic_load(&example_sum_replies) == job.ranks);
    uint64_t total = atomic_exchange(&example_sum_total, 0);
    atomic_store(&example_sum_replies, 0);
    example_barrier(); /* nobody may begin the next sum before all have cleared this one */
    return total;
}

/* A handler calls this once it has dealt with `count` items. */
static inline void example_items_arrived(uint64_t count)
{
    atomic_fetch_add(&example_items_in, count);
}

static inline int example_all_arrived(uint64_t announcements)
{
    return atomic_load(&example_announcements) == announcements &&
           atomic_load(&example_items_in) == atomic_load(&example_items_due);
}

/*
 * Returns when every item that any rank has sent in this round is dealt with. sent[r] is the number
 * of items that this rank has sent to rank r: r is told, and waits for as many. The counters are
 * never reset, since another rank may be in the next round before this one has looked.
 */
static inline void example_settle(const uint64_t *sent)
{
    static uint64_t rounds;
    rounds++;
    for (gex_Rank_t to = 0; to < job.ranks; to++)
        gex_AM_RequestShort2(job.tm, to, EXAMPLE_ON_ANNOUNCE, 0, example_high(sent[to]),
                             example_low(sent[to]));
    GASNET_BLOCKUNTIL(example_all_arrived(rounds * job.ranks));
    example_barrier();
}

/* Where the part of `rank` begins when `total` things are dealt out evenly, in order. */
static inline uint64_t example_share(uint64_t total, uint64_t rank)
{
    uint64_t rest = total % job.ranks;
    return total / job.ranks * rank + (rank < rest ? rank : rest);
}

/* Gives every rank a segment of at least `bytes` bytes; its address is returned. */
static inline void *example_attach(uint64_t bytes)
{
    uint64_t most = gasnet_getMaxLocalSegmentSize();
    uint64_t size = (bytes + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
    uint64_t small = example_sum(size > most);
    if (small) {
        if (job.me == 0)
            fprintf(stderr,
                    "%s: each rank needs a segment of %" PRIu64 " bytes, and %" PRIu64 " of %u "
                    "ranks cannot have one (limit of rank 0: %" PRIu64 "); ask for a smaller "
                    "problem or raise GASNET_MAX_SEGSIZE.\n",
                    job.program, size, small, (unsigned)job.ranks, most);
        example_finish(1);
    }
    if (gex_Segment_Attach(&job.segment, job.tm, size) != GASNET_OK)
        example_fatal("cannot attach a segment of %" PRIu64 " bytes.", size);
    return gex_Segment_QueryAddr(job.segment);
}

/* The address of the segment of `rank`, in that rank's own address space. */
static inline void *example_segment_of(gex_Rank_t rank)
{
    void *owner = NULL, *local = NULL;
    uintptr_t size = 0;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(job.tm, rank, &owner, &local, &size, 0));
    return owner;
}

/* An option "--name VALUE" within [least, most]; one with most == 0 is a flag without value. */
typedef struct {
    const char *name;
    uint64_t least, most;
    uint64_t *value;
} example_option_t;

static inline uint64_t example_number(const example_option_t *option, const char *text)
{
    char *end = NULL;
    errno = 0;
    uint64_t value = text ? strtoull(text, &end, 10) : 0;
    if (!text)
        example_misuse("%s needs a number after it", option->name);
    else if (!isdigit((unsigned char)text[0]) || *end)
        example_misuse("%s takes a whole number, not '%s'", option->name, text);
    else if (errno || value < option->least || value > option->most)
        example_misuse("%s takes a number from %" PRIu64 " to %" PRIu64 ", not '%s'", option->name,
                       option->least, option->most, text);
    return value;
}

static inline void example_help(void)
{
    if (job.me == 0)
        fputs(job.help, stdout);
    example_finish(0);
}

/* Reads the options and returns the index of the first argument that is none. */
static inline int example_options(int argc, char **argv, const example_option_t *options,
                                  size_t count)
{
    int at = 1;
    for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
        size_t k = 0;
        if (strcmp(argv[at], "--") == 0)
            return at + 1;
        if (strcmp(argv[at], "--help") == 0)
            example_help();
        while (k < count && strcmp(argv[at], options[k].name) != 0)
            k++;
        if (k == count)
            example_misuse("unknown option '%s'", argv[at]);
        else if (options[k].most == 0)
            *options[k].value = 1;
        else if (at + 1 < argc)
            *options[k].value = example_number(&options[k], argv[++at]);
        else
            example_number(&options[k], NULL);
    }
    return at;
}

/* For programs that take options only. */
static inline void example_no_arguments(int argc, char **argv, int from)
{
    if (from < argc)
        example_misuse("unexpected argument '%s'", argv[from]);
}

#endif
