/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bad_calls: makes one wrong call, for the test that the message about it says what is wrong.
 *   bad_calls --list     prints a line for each mode: NAME END RANK PATTERN, see bad_calls.h
 *   bad_calls MODE       runs it, in a job of 2 ranks; prints "expect: TEXT" for each text that the
 *                        message must have beside the pattern
 * A wrong call that nobody refused prints "went on".
 */
#include "bad_calls.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINGER_SECONDS = 3 };

gex_Client_t bad_client;
gex_EP_t bad_ep;
gex_TM_t bad_tm;
gex_Rank_t bad_me, bad_other;
char *bad_segment;

static const bad_call_t *mode;
static int went_wrong;

void bad_expect(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("expect: ", stdout);
    vprintf(fmt, args);
    putchar('\n');
    va_end(args);
    fflush(stdout);
}

void bad_returned(int result, int expected)
{
    if (result == expected)
        return;
    printf("%s returned %d (%s) instead of %d (%s)\n", mode->name, result, gasnet_ErrorName(result),
           expected, gasnet_ErrorName(expected));
    fflush(stdout);
    went_wrong = 1;
}

void bad_abort(const char *why)
{
    printf("bad_calls: %s\n", why);
    fflush(stdout);
    gasnet_exit(3);
    abort();
}

// ---- handlers ----

static void on_none(gex_Token_t token)
{
    (void)token;
}

static void on_argument(gex_Token_t token, gex_AM_Arg_t a)
{
    (void)token, (void)a;
}

static void on_payload(gex_Token_t token, void *payload, size_t nbytes)
{
    (void)token, (void)payload, (void)nbytes;
}

static void on_act(gex_Token_t token)
{
    if (mode->in_request)
        mode->in_request(token);
    else
        gex_AM_ReplyShort0(token, BAD_H_ACT_REPLY, 0);
}

static void on_act_reply(gex_Token_t token)
{
    mode->in_reply(token);
}

static gex_AM_Entry_t entry(gex_AM_Index_t index, gex_AM_Fn_t fn, gex_Flags_t flags, unsigned nargs,
                            const char *name)
{
    gex_AM_Entry_t made = {
        .gex_index = index, .gex_fnptr = fn, .gex_flags = flags, .gex_nargs = nargs};
    made.gex_name = name;
    return made;
}

static void register_handlers(void)
{
    const gex_Flags_t request = GEX_FLAG_AM_REQUEST, reply = GEX_FLAG_AM_REPLY;
    gex_AM_Entry_t table[] = {
        entry(BAD_H_SHORT, (gex_AM_Fn_t)on_argument, GEX_FLAG_AM_SHORT | request, 1, "short"),
        entry(BAD_H_SHORT_REPLY, (gex_AM_Fn_t)on_none, GEX_FLAG_AM_SHORT | reply, 0, "short_reply"),
        entry(BAD_H_MEDIUM, (gex_AM_Fn_t)on_payload, GEX_FLAG_AM_MEDIUM | request, 0, "medium"),
        entry(BAD_H_MEDIUM_REPLY, (gex_AM_Fn_t)on_payload, GEX_FLAG_AM_MEDIUM | reply, 0,
              "medium_reply"),
        entry(BAD_H_LONG, (gex_AM_Fn_t)on_payload, GEX_FLAG_AM_LONG | request, 0, "long"),
        entry(BAD_H_LONG_REPLY, (gex_AM_Fn_t)on_payload, GEX_FLAG_AM_LONG | reply, 0, "long_reply"),
        entry(BAD_H_ACT, (gex_AM_Fn_t)on_act, GEX_FLAG_AM_SHORT | request, 0, "act"),
        entry(BAD_H_ACT_REPLY, (gex_AM_Fn_t)on_act_reply, GEX_FLAG_AM_SHORT | reply, 0,
              "act_reply")};
    if (gex_EP_RegisterHandlers(bad_ep, table, sizeof table / sizeof table[0]) != GASNET_OK)
        bad_abort("the handlers cannot be registered");
}

// ---- modes ----

static const bad_call_t *const tables[] = {
    bad_am_calls,      bad_prepare_calls, bad_other_calls, bad_start_calls, bad_gasnet1_calls,
    bad_ratomic_calls, bad_vis_calls,     bad_kind_calls,  bad_coll_calls,  bad_coll1_calls,
    bad_gather_calls,  bad_team_calls,    bad_number_calls};
enum { TABLES = sizeof tables / sizeof tables[0] };

// Calls visit with each mode until it returns non-zero.
static void each_mode(int (*visit)(const bad_call_t *bad, const char *arg), const char *arg)
{
    for (size_t t = 0; t < TABLES; t++)
        for (const bad_call_t *bad = tables[t]; bad->name; bad++)
            if (visit(bad, arg))
                return;
    for (size_t i = 0; i < bad_context_count(); i++)
        if (visit(bad_context_call(i), arg))
            return;
    for (size_t i = 0; i < bad_early_count(); i++)
        if (visit(bad_early_call(i), arg))
            return;
    for (size_t i = 0; i < bad_rma_count(); i++)
        if (visit(bad_rma_call(i), arg))
            return;
}

static int print_mode(const bad_call_t *bad, const char *arg)
{
    static const char *const ends[] = {"fatal", "fatal-always", "returns", "returns-debug"};
    (void)arg;
    printf("%s %s %d %s\n", bad->name, ends[bad->end], bad->rank, bad->pattern);
    return 0;
}

static int find_mode(const bad_call_t *bad, const char *name)
{
    if (strcmp(bad->name, name) != 0)
        return 0;
    mode = bad;
    return 1;
}

static int returns(void)
{
    return mode->end == BAD_RETURNS || mode->end == BAD_RETURNS_DEBUG;
}

// A mode that is about the start, or about a rank without a segment, joins the job only.
static int has_word(const char *word)
{
    return strstr(mode->name, word) != NULL;
}

static void start(int *argc, char ***argv)
{
    gex_Segment_t segment;
    void *address;
    if (has_word("legacy")) {
        bad_legacy_start(argc, argv, !has_word("attach") && !has_word("early"));
        return;
    }
    const gex_Flags_t flags = has_word("deferred") ? GEX_FLAG_DEFER_THREADS : 0;
    if (gex_Client_Init(&bad_client, &bad_ep, &bad_tm, "BAD_CALLS", argc, argv, flags) != GASNET_OK)
        bad_abort("the job cannot be joined");
    bad_me = gex_TM_QueryRank(bad_tm);
    if (gex_TM_QuerySize(bad_tm) != 2)
        bad_abort("it takes 2 ranks");
    bad_other = 1 - bad_me;
    register_handlers();
    if (!has_word("attach") && !has_word("nosegment")) {
        if (gex_Segment_Attach(&segment, bad_tm, BAD_SEGMENT) != GASNET_OK ||
            gex_Segment_QueryBound(bad_tm, bad_other, &address, NULL, NULL) != GASNET_OK)
            bad_abort("the segment cannot be attached");
        bad_segment = address;
    }
    gex_Event_Wait(gex_Coll_BarrierNB(bad_tm, 0));
}

// The rank that should complain, of a message perhaps that is still on its way.
static void linger(void)
{
    const time_t end = time(NULL) + LINGER_SECONDS;
    while (time(NULL) < end)
        gasnet_AMPoll();
    puts("went on");
    fflush(stdout);
}

static void run(void)
{
    if (!mode->call && bad_me == 0)
        gex_AM_RequestShort0(bad_tm, 1, BAD_H_ACT, 0);
    else if (mode->call && (returns() || has_word("both") || bad_me == 0))
        mode->call();
    if (!returns() && (int)bad_me == mode->rank)
        linger();
    gex_Event_Wait(gex_Coll_BarrierNB(bad_tm, 0));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        each_mode(print_mode, NULL);
        return 0;
    }
    if (argc == 2)
        each_mode(find_mode, argv[1]);
    if (!mode) {
        fprintf(stderr, "usage: bad_calls MODE; bad_calls --list prints the modes\n");
        return 2;
    }
    if (mode->rank < 0) {
        mode->call();
        return went_wrong;
    }
    start(&argc, &argv);
    run();
    gasnet_exit(went_wrong);
}
