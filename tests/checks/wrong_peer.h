/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wrong_peer: what its files share.
 */
#ifndef WRONG_PEER_H
#define WRONG_PEER_H

#include <gasnetex.h>
#include <stddef.h>

enum { SEGMENT = 65536, GUARD_BYTES = 65536, LINGER_SECONDS = 5 };

// The handlers of this client, all but the first four at rank 0.
enum {
    H_GUARD = 100, // Short request: where the guard of rank 0 is
    H_ACT,         // Short request: the wrong message, as a reply
    H_SHORT,       // Short request with 1 argument
    H_MEDIUM,      // Medium request without arguments
    H_LONG,        // Long request without arguments
    H_REPLY,       // Short reply without arguments
    H_NONE = 250,  // not registered
};

// The library's own, see extended/rma/layer_table.h.
enum {
    H_PUT = 1,
    H_PUT_DONE,
    H_GET,
    H_GET_DONE,
    H_BARRIER,
    H_MSG_EXPOSE = 9,
    H_MSG_EXPOSED,
    H_MSG_PLACED,
    H_VIS_PUT = 16,
    H_VIS_GET,
    H_VIS_GET_DONE,
    H_VIS_NOTICE,
    H_NOTICE_COUNT,
    H_NOTICE_COUNT_PUT,
    H_NOTICE_RUN,
    H_NOTICE_RUN_PUT,
    H_ATOMIC = 24,
    H_ATOMIC_DONE,
    H_ATOMIC_FETCHED,
    H_STREAM_MESSAGE,
    H_STREAM_CONTROL,
    H_LARGE_PIECE,
    H_LARGE_HEADER,
    H_COLL_PART = 32,
    H_COLL_READY,
    H_MEMSET = 40,
    H_MEMSET_DONE,
    H_MSG_COOP_COPY = 43,
    H_MSG_EAGER,
    H_MSG_RTS,
    H_MSG_RNDV_GET,
    H_MSG_DONE,
    H_MSG_PIECE,
    H_MSG_CREDITS,
    H_WINDOW = 57, // core/am/window_ask.h
    H_LONG_PIECE,  // core/am/long_fragment.h
    H_LONG_PIECE_DONE,
    H_LONG_FRAGMENTED,
    H_ROUTE, // core/am/am_header.h
};

typedef struct wrong_mode {
    const char *name;
    const char *pattern;   // an extended regular expression that the sentence matches; begins
                           // with HARMLESS: there may be none
    void (*request)(void); // by rank 1; or
    void (*reply)(gex_Token_t to); // in the handler of a request of rank 0
    void (*both)(void);            // by both ranks, first
    void (*before)(void);          // by rank 0, first
    void (*handler)(void);         // by rank 1, in the handler of a large message
    void (*after)(void);           // by rank 0, when the message is there
} wrong_mode_t;

#define HARMLESS "harmless"

extern gex_TM_t tm;
extern gex_Rank_t me;
extern const wrong_mode_t *mode; // the one that runs

#define FIRST ((uint64_t)1 << 32) // the first cookie
#define TEAM 0                    // the id of the primordial team
#define HIGH(p) ((gex_AM_Arg_t)((uint64_t)(uintptr_t)(p) >> 32))
#define LOW(p) ((gex_AM_Arg_t)(uint32_t)(uintptr_t)(p))
#define BOTH(p) HIGH(p), LOW(p)

extern char bytes[GUARD_BYTES]; // any payload

// Ends this process with a sentence.
void wrong_peer_stop(const char *why);

// The modes about streams and large messages. Registers the handlers of large messages; false: they
// are refused.
extern const wrong_mode_t wrong_message_modes[];
extern const size_t wrong_message_mode_count;
int wrong_message_register(void);

// The modes about messages with two sides.
extern const wrong_mode_t wrong_two_sided_modes[];
extern const size_t wrong_two_sided_mode_count;

#endif
