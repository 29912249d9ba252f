/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wrong_peer: messages with two sides that no correct library sends.
 */
#include "wrong_peer.h"

#include <aqueduct_msg.h>
#include <unistd.h>

enum { TAG = 7, RTS_TAG, OTHER_TAG, SHORT = 128, LONG_BYTES = 8 << 20 };

// ---- arrivals ----

static void eager(int number, int tag)
{
    gex_AM_RequestMedium4(tm, 0, H_MSG_EAGER, bytes, 64, GEX_EVENT_NOW, 0, number, tag, BOTH(TEAM));
}

static void rts_at(int number, int tag, uint64_t nbytes, uint64_t cookie, uint64_t address)
{
    gex_AM_RequestShort15(tm, !me, H_MSG_RTS, 0, number, tag, BOTH(TEAM), BOTH(nbytes),
                          BOTH(cookie), BOTH(address), 0, BOTH(0), BOTH(0));
}

static void rts(int number, int tag, uint64_t nbytes, uint64_t cookie)
{
    rts_at(number, tag, nbytes, cookie, 0);
}

static void msg_tag(void)
{
    eager(0, -1);
}

static void msg_rts_tag(void)
{
    rts(0, -1, sizeof bytes, FIRST);
}

static void msg_rts_none(void)
{
    rts(0, TAG, sizeof bytes, 0);
}

static void msg_passed(void)
{
    eager(0, TAG);
    eager(0, TAG);
}

static void msg_early_twice(void)
{
    eager(5, TAG);
    rts(5, TAG, sizeof bytes, FIRST);
}

static void msg_far_behind(void)
{
    eager((int)0x80000001, TAG);
}

static void msg_far_ahead(void)
{
    eager(0x7fffffff, TAG);
}

// ---- gets: rank 0 has announced a message, whose cookie is the first one ----

static void msg_send(void)
{
    static gasnetx_Request_t request;
    gasnetx_Msg_SendNB(tm, 1, TAG, bytes, sizeof bytes, &request);
}

static void get_to(uint64_t cookie, uint64_t offset, int size, uint64_t want, uint64_t dest)
{
    gex_AM_RequestShort11(tm, 0, H_MSG_RNDV_GET, 0, BOTH(cookie), BOTH(offset), size, BOTH(want),
                          BOTH(FIRST), BOTH(dest));
}

static void get(uint64_t cookie, uint64_t offset, int size, uint64_t want)
{
    get_to(cookie, offset, size, want, 0);
}

static void msg_get_none(void)
{
    get(FIRST + 1, 0, 64, 64);
}

static void msg_get_beyond(void)
{
    get(FIRST, sizeof bytes - 63, 64, sizeof bytes);
}

static void msg_get_want(void)
{
    get(FIRST, sizeof bytes, 64, sizeof bytes + 64);
}

static void msg_get_more(void)
{
    get(FIRST, 0, 64, 63);
}

static void msg_get_huge(void)
{
    get(FIRST, UINT64_MAX - 8, 64, UINT64_MAX);
}

static void msg_get_negative(void)
{
    get(FIRST, 0, -1, sizeof bytes);
}

static void done(uint64_t cookie)
{
    gex_AM_RequestShort2(tm, 0, H_MSG_DONE, 0, BOTH(cookie));
}

static void msg_done_none(void)
{
    done(FIRST + 1);
}

static void msg_done_twice(void)
{
    done(FIRST);
    done(FIRST);
}

// Rank 1 has announced a message, too, so that the pieces for its gets find a receive.
static void msg_exchange(void)
{
    static gasnetx_Request_t receive;
    static char dest[GUARD_BYTES];
    msg_send();
    gasnetx_Msg_RecvNB(tm, 1, RTS_TAG, dest, sizeof dest, &receive);
}

// An RTS whose bytes rank 0 can only get in pieces. It has asked when this rank goes on; no handler
// runs here before.
static void short_rts(void)
{
    static gasnetx_Request_t request;
    gasnetx_Msg_SendNB(tm, 0, TAG, bytes, sizeof bytes, &request);
    rts(1, RTS_TAG, SHORT, FIRST);
    sleep(1);
}

// The cookies of rank 0: first that of its send, then that of its receive.
static void piece(uint64_t cookie, uint64_t offset)
{
    gex_AM_RequestMedium4(tm, 0, H_LARGE_PIECE, bytes, 64, GEX_EVENT_NOW, 0, BOTH(cookie),
                          BOTH(offset));
}

static void msg_piece_none(void)
{
    piece(FIRST, 0);
}

static void msg_piece_of_send(void)
{
    short_rts();
    piece(FIRST, 0);
}

static void msg_piece_beyond(void)
{
    short_rts();
    piece(FIRST + 1, SHORT - 63);
}

static void msg_piece_twice(void)
{
    short_rts();
    for (int i = 0; i < 3; i++)
        piece(FIRST + 1, 0);
}

static void msg_get_of_receive(void)
{
    short_rts();
    get(FIRST + 1, 0, 64, 64);
}

// Rank 0 announces one message as two, so that the library of rank 1 gets it twice.
static char long_bytes[LONG_BYTES];

static void msg_receive_two(void)
{
    static gasnetx_Request_t receive, other;
    if (!me)
        return;
    gasnetx_Msg_RecvNB(tm, 0, RTS_TAG, long_bytes, sizeof long_bytes, &receive);
    gasnetx_Msg_RecvNB(tm, 0, OTHER_TAG, bytes, SHORT, &other);
}

static void msg_rts_as_two(void)
{
    static gasnetx_Request_t request;
    gasnetx_Msg_SendNB(tm, 1, TAG, long_bytes, sizeof long_bytes, &request);
    rts(1, RTS_TAG, sizeof long_bytes, FIRST);
    rts(2, OTHER_TAG, SHORT, FIRST);
}

// ---- memory of gasnetx_Msg_Alloc ----

// Returns where the memory of rank 1 ends: takes all of it, in halves.
static uint64_t shared_end(void)
{
    uint64_t end = 0;
    void *memory;
    gex_System_SetVerboseErrors(0);
    for (size_t size = (size_t)1 << 46; size; size /= 2)
        while (gasnetx_Msg_Alloc(size, &memory) == GASNET_OK)
            end = (uintptr_t)memory + size > end ? (uintptr_t)memory + size : end;
    return end;
}

static void alloc_receive(void)
{
    static gasnetx_Request_t receive;
    gasnetx_Msg_RecvNB(tm, 1, RTS_TAG, long_bytes, sizeof long_bytes, &receive);
}

static void alloc_rts_across(void)
{
    rts_at(0, RTS_TAG, sizeof long_bytes, FIRST, shared_end() - 64);
}

static void alloc_rts_huge(void)
{
    rts_at(0, RTS_TAG, UINT64_MAX, FIRST, shared_end() - 64);
}

static void alloc_get_across(void)
{
    get_to(FIRST, 0, 64, sizeof bytes, shared_end() - 63);
}

static void alloc_coop_copy_across(void)
{
    const uint64_t dest = shared_end() - 64;
    gex_AM_RequestShort15(tm, 0, H_MSG_COOP_COPY, 0, BOTH(FIRST), BOTH(sizeof bytes),
                          BOTH(sizeof bytes), 0, 1, BOTH(dest), 0, BOTH(0), BOTH(0));
}

static void alloc_placed(gex_Token_t to)
{
    gex_AM_ReplyShort5(to, H_MSG_PLACED, 0, BOTH(FIRST), BOTH(0), 64);
}

// Rank 0 has asked for pieces that are sent: its memory is not such that rank 1 could write it. It
// gets no further ones meanwhile.
static void alloc_placed_unasked(gex_Token_t to)
{
    alloc_placed(to);
    sleep(LINGER_SECONDS + 1);
}

static void alloc_exchange(void)
{
    static gasnetx_Request_t request;
    if (!me) {
        alloc_receive();
        return;
    }
    gasnetx_Msg_SendNB(tm, 0, TAG, long_bytes, sizeof long_bytes, &request);
    rts(1, RTS_TAG, sizeof long_bytes, FIRST);
}

// ---- cooperative copies ----

static void coop_copy(uint64_t want, uint64_t piece_bytes, int slot, int process)
{
    gex_AM_RequestShort15(tm, 0, H_MSG_COOP_COPY, 0, BOTH(FIRST), BOTH(want), BOTH(piece_bytes),
                          slot, 1, BOTH(bytes), process, BOTH(bytes), BOTH(1));
}

static void msg_coop_copy_slot(void)
{
    coop_copy(sizeof bytes, sizeof bytes, 1 << 20, 0);
}

static void msg_coop_copy_nothing(void)
{
    coop_copy(sizeof bytes, 0, 0, 0);
}

static void msg_coop_copy_long_piece(void)
{
    coop_copy(sizeof bytes, UINT64_MAX, 0, 0);
}

static void msg_coop_copy_many(void)
{
    coop_copy(sizeof bytes, 1, 0, 0);
}

static void msg_coop_copy_beyond(void)
{
    coop_copy(sizeof bytes + 1, sizeof bytes, 0, 0);
}

static void msg_coop_copy_process(void)
{
    coop_copy(sizeof bytes, sizeof bytes, 0, getppid());
}

// ---- credits: an RTS has used 256 bytes (AQ_MSG_COST) ----

static void credits(uint64_t given, int changes)
{
    gex_AM_RequestShort3(tm, 0, H_MSG_CREDITS, 0, BOTH(given), changes);
}

static void msg_credits_unused(void)
{
    credits(1, 0);
}

static void msg_credits_more(void)
{
    credits(257, 0);
}

static void msg_credits_twice(void)
{
    credits(256, 0);
    credits(256, 0);
}

static void msg_credits_huge(void)
{
    credits(UINT64_MAX, 0);
}

static void msg_credits_changes(void)
{
    credits(256, INT32_MAX);
    credits(0, INT32_MIN);
    credits(0, 0);
}

// More than half of the 64 MB of which two ranks have credits for equal parts.
static void msg_credits_beyond(void)
{
    const size_t most = gex_AM_LUBRequestMedium();
    const size_t nbytes = most < sizeof long_bytes ? most : sizeof long_bytes;
    for (size_t sent = 0, number = 0; sent < (size_t)36 << 20; sent += nbytes)
        gex_AM_RequestMedium4(tm, 0, H_MSG_EAGER, long_bytes, nbytes, GEX_EVENT_NOW, 0,
                              (int)number++, TAG, BOTH(TEAM));
}

#define NOT_OFFERED "rank 1 asks for a message that it was not offered"
#define NOT_THERE "rank 1 asks for bytes that a message to it does not have"
#define NO_RECEIVE "rank 1 has sent a piece of a message for which no receive waits"
#define WRONG_COOP_COPY "rank 1 asks to share the copy of a message in a wrong way"
#define NOT_SHOWN "rank 1 names [0-9]+ bytes at 0x[0-9a-f]+, of which only 6[34] are in the memory"
#define NOT_USED "rank 1 gives back more room for messages than this rank has used"

const wrong_mode_t wrong_two_sided_modes[] = {
    {"msg-tag", "a message of rank 1 is wrong: its tag is 0xffffffff", .request = msg_tag},
    {"msg-rts-tag", "a message of rank 1 is wrong: its tag is 0xffffffff", .request = msg_rts_tag},
    {"msg-rts-none", "a message of rank 1 is wrong: it offers nothing", .request = msg_rts_none},
    {"msg-passed", "a message of rank 1 is wrong: its number 0 was here before",
     .request = msg_passed},
    {"msg-early-twice", "a message of rank 1 is wrong: its number 5 was here before",
     .request = msg_early_twice},
    {"msg-far-behind", "a message of rank 1 is wrong: its number 2147483649 was here before",
     .request = msg_far_behind},
    {"msg-far-ahead", HARMLESS, .request = msg_far_ahead},
    {"msg-get-none", NOT_OFFERED, .before = msg_send, .request = msg_get_none},
    {"msg-get-of-receive", NOT_OFFERED, .before = msg_exchange, .request = msg_get_of_receive},
    {"msg-get-beyond", NOT_THERE, .before = msg_send, .request = msg_get_beyond},
    {"msg-get-want", NOT_THERE, .before = msg_send, .request = msg_get_want},
    {"msg-get-more", NOT_THERE, .before = msg_send, .request = msg_get_more},
    {"msg-get-huge", NOT_THERE, .before = msg_send, .request = msg_get_huge},
    {"msg-get-negative", NOT_THERE, .before = msg_send, .request = msg_get_negative},
    {"msg-get-twice", "rank 1 asks for bytes of a message twice", .both = msg_receive_two,
     .before = msg_rts_as_two},
    {"msg-done-none", NOT_OFFERED, .before = msg_send, .request = msg_done_none},
    {"msg-done-twice", NOT_OFFERED, .before = msg_send, .request = msg_done_twice},
    {"msg-piece-none", NO_RECEIVE, .request = msg_piece_none},
    {"msg-piece-of-send", NO_RECEIVE, .before = msg_exchange, .request = msg_piece_of_send},
    {"msg-piece-beyond", NO_RECEIVE, .before = msg_exchange, .request = msg_piece_beyond},
    {"msg-piece-twice", NO_RECEIVE, .before = msg_exchange, .request = msg_piece_twice},
    {"msg-coop-copy-slot", WRONG_COOP_COPY, .before = msg_send, .request = msg_coop_copy_slot},
    {"msg-coop-copy-nothing", WRONG_COOP_COPY, .before = msg_send,
     .request = msg_coop_copy_nothing},
    {"msg-coop-copy-long-piece", WRONG_COOP_COPY, .before = msg_send,
     .request = msg_coop_copy_long_piece},
    {"msg-coop-copy-many", WRONG_COOP_COPY, .before = msg_send, .request = msg_coop_copy_many},
    {"msg-coop-copy-beyond", WRONG_COOP_COPY, .before = msg_send, .request = msg_coop_copy_beyond},
    {"msg-coop-copy-process", HARMLESS "|" WRONG_COOP_COPY, .before = msg_send,
     .request = msg_coop_copy_process},
    {"alloc-rts-across", NOT_SHOWN, .before = alloc_receive, .request = alloc_rts_across},
    {"alloc-rts-huge", NOT_SHOWN, .before = alloc_receive, .request = alloc_rts_huge},
    {"alloc-get-across", NOT_SHOWN, .before = msg_send, .request = alloc_get_across},
    {"alloc-coop-copy-across", NOT_SHOWN, .before = msg_send, .request = alloc_coop_copy_across},
    {"alloc-placed-none", NO_RECEIVE, .reply = alloc_placed},
    {"alloc-placed-unasked", NO_RECEIVE, .both = alloc_exchange, .reply = alloc_placed_unasked},
    {"msg-credits-unused", NOT_USED, .request = msg_credits_unused},
    {"msg-credits-more", NOT_USED, .before = msg_send, .request = msg_credits_more},
    {"msg-credits-twice", NOT_USED, .before = msg_send, .request = msg_credits_twice},
    {"msg-credits-huge", NOT_USED, .before = msg_send, .request = msg_credits_huge},
    {"msg-credits-beyond", "rank 1 has sent more messages than there is room for",
     .request = msg_credits_beyond},
    {"msg-credits-changes", HARMLESS, .before = msg_send, .request = msg_credits_changes},
};
const size_t wrong_two_sided_mode_count =
    sizeof wrong_two_sided_modes / sizeof *wrong_two_sided_modes;
