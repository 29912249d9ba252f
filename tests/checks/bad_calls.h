// SPDX-License-Identifier: BSD-3-Clause
// The tables of wrong calls; each table ends with a row whose name is NULL.
#ifndef BAD_CALLS_H
#define BAD_CALLS_H

#include <gasnetex.h>

// What follows the wrong call.
typedef enum bad_end {
    BAD_FATAL,         // the job ends with a message, in a debug build
    BAD_FATAL_ALWAYS,  // the same in every build
    BAD_RETURNS,       // an error code, and a message, at both ranks
    BAD_RETURNS_DEBUG, // the same, in a debug build only
} bad_end_t;

typedef struct bad_call {
    const char *name;
    bad_end_t end;
    int rank; // who prints the message; -1: a process that is no rank yet
    const char
        *pattern; // an extended regular expression that the message matches, behind its prefix
    void (*call)(void);                    // by rank 0, with BAD_RETURNS by both; or:
    void (*in_request)(gex_Token_t token); // in a request's handler, at rank 1
    void (*in_reply)(gex_Token_t token);   // in a reply's handler, at rank 0
} bad_call_t;

extern const bad_call_t bad_am_calls[], bad_prepare_calls[], bad_other_calls[], bad_start_calls[],
    bad_gasnet1_calls[], bad_ratomic_calls[], bad_vis_calls[], bad_kind_calls[], bad_coll_calls[],
    bad_coll1_calls[], bad_gather_calls[], bad_team_calls[], bad_number_calls[];

// What a wrong rank leads to: the client's inline code does not know the name of its call.
#define BAD_RANK(CALL, RANK)                                                                       \
    "(" CALL "|a put, get or atomic): rank " RANK " is not below the team's size 2"

// The job of two ranks: ranks, and the segment of the other rank.
#define BAD_SEGMENT ((size_t)65536)
extern gex_Client_t bad_client;
extern gex_EP_t bad_ep;
extern gex_TM_t bad_tm;
extern gex_Rank_t bad_me, bad_other;
extern char *bad_segment;

// The handlers, and what they are registered for. All but ACT do nothing.
enum {
    BAD_H_SHORT = 100,  // Short request with 1 argument
    BAD_H_SHORT_REPLY,  // Short reply without arguments
    BAD_H_MEDIUM,       // Medium request without arguments
    BAD_H_MEDIUM_REPLY, // Medium reply without arguments
    BAD_H_LONG,         // Long request without arguments
    BAD_H_LONG_REPLY,   // Long reply without arguments
    BAD_H_ACT,          // Short request: makes the wrong call of the mode
    BAD_H_ACT_REPLY,    // Short reply: the same
    BAD_H_NONE = 250,   // not registered
};

// The start by GASNet-1, in place of the one by GASNet-EX.
void bad_legacy_start(int *argc, char ***argv, int attach);

// Announces a text that has to stand in the message, beside the pattern.
void bad_expect(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// With BAD_RETURNS: what the wrong call returned, and what it should have.
void bad_returned(int result, int expected);

// Ends the process where a test cannot be made.
void bad_abort(const char *why) __attribute__((noreturn));

// Further modes whose names are made of two words, such as handler/gex_Event_Wait: how many there
// are, and the one of a number. The strings live until the next call.
size_t bad_context_count(void);
const bad_call_t *bad_context_call(size_t number);
size_t bad_early_count(void);
const bad_call_t *bad_early_call(size_t number);
size_t bad_rma_count(void);
const bad_call_t *bad_rma_call(size_t number);

#endif
