// SPDX-License-Identifier: BSD-3-Clause
// Messages from or to further endpoints.
//
// Conduits receive for endpoint 0. A message between other endpoints travels as a message to the
// library's handler AQ_HANDLER_HEADER of endpoint 0. Its first argument is the header: both
// endpoints and the handler of the client. The arguments of the client follow, and the payload is
// the same. Messages of the library itself (a put, a get) take a header, too, so that they travel
// between the windows of the endpoints; the handlers of the library serve all endpoints. A message
// from an endpoint with an identity goes to AQ_HANDLER_HEADER_TAGGED, and its tag (identity.h)
// stands between header and arguments.
//
//     client -> am_api.c -> aq_am_header_add -> conduit ~~~> conduit -> aq_am_deliver
//                        handler of the endpoint <---- aq_am_header_read <-----'
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../conduit.h"
#include "../endpoint/endpoint.h"
#include "../endpoint/identity.h"
#include "../ground/ep_pair.h"

enum { AQ_HANDLER_HEADER = GEX_AM_INDEX_BASE - 3, AQ_HANDLER_HEADER_TAGGED = 51 };

// Of long_fragment.c.
enum {
    AQ_HANDLER_LONG_PIECE = AQ_HANDLER_HEADER - 3,
    AQ_HANDLER_LONG_PIECE_DONE,
    AQ_HANDLER_LONG_FRAGMENTED,
    AQ_HANDLER_LONG_PIECE_TAGGED = AQ_HANDLER_HEADER_TAGGED - 1
};

enum { AQ_HEADER_TAGGED_ARGS = 3 }; // before those of the client: the header and the tag

// The first argument: to (12 bits), from (12 bits), handler (8 bits).
enum { AQ_HEADER_ENDPOINT_BITS = 12, AQ_HEADER_HANDLER_BITS = 8 };

static inline int32_t aq_am_header_pack(aq_ep_pair_t pair, unsigned handler)
{
    return (int32_t)(((uint32_t)pair.to << AQ_HEADER_ENDPOINT_BITS | pair.from)
                         << AQ_HEADER_HANDLER_BITS |
                     handler);
}

static inline aq_ep_pair_t aq_am_header_unpack(uint32_t word)
{
    const uint32_t mask = (1u << AQ_HEADER_ENDPOINT_BITS) - 1;
    const uint32_t endpoints = word >> AQ_HEADER_HANDLER_BITS;
    return (aq_ep_pair_t){.from = (gex_EP_Index_t)(endpoints & mask),
                          .to = (gex_EP_Index_t)(endpoints >> AQ_HEADER_ENDPOINT_BITS)};
}

// The bits of the first argument that are 0 unless an index is GASNET_MAXEPS or more.
enum {
    AQ_HEADER_BEYOND_ONE = (1u << AQ_HEADER_ENDPOINT_BITS) - GASNET_MAXEPS,
    AQ_HEADER_BEYOND = AQ_HEADER_BEYOND_ONE << AQ_HEADER_ENDPOINT_BITS | AQ_HEADER_BEYOND_ONE
};

// Whether the endpoint of this process that sends a message has an identity.
static inline bool aq_ep_pair_tagged(aq_ep_pair_t pair)
{
    return atomic_load_explicit(&aq_identity_any, memory_order_relaxed) && aq_identity_sends(pair);
}

// The arguments that aq_am_header_add adds; 0 if the message needs no header.
static inline unsigned aq_am_header_nargs(aq_ep_pair_t pair)
{
    if (!aq_ep_pair_needs_header(pair))
        return 0;
    return aq_ep_pair_tagged(pair) ? AQ_HEADER_TAGGED_ARGS : 1;
}

// As aq_am_header_add, for an endpoint with an identity.
void aq_am_header_add_tagged(aq_ep_pair_t pair, uint32_t jobrank, aq_am_t *am, int32_t *args)
    __attribute__((cold));

// Turns a message to a job rank, with the client's handler and arguments, into one with a header,
// and with a tag if the sending endpoint has an identity. args becomes the arguments of the message
// and has to live as long as the message.
static inline void aq_am_header_add(aq_ep_pair_t pair, uint32_t jobrank, aq_am_t *am,
                                    int32_t args[AQ_AM_MAX_ARGS])
{
    if (__builtin_expect(aq_ep_pair_tagged(pair), 0)) {
        aq_am_header_add_tagged(pair, jobrank, am, args);
        return;
    }
    args[0] = aq_am_header_pack(pair, am->handler);
    aq_am_copy_args(args + 1, am->args, am->nargs);
    am->args = args;
    am->nargs++;
    am->handler = AQ_HANDLER_HEADER;
}

// Ends the job with the reason why no correct peer sends this message, which should have `head`
// arguments before those of the client.
void aq_am_header_refuse(const aq_arrival_t *arrival, unsigned head)
    __attribute__((noreturn, cold));

static inline void aq_am_header_read_behind(const aq_arrival_t *arrival, unsigned head,
                                            aq_arrival_t *inner, aq_ep_pair_t *pair)
{
    if (__builtin_expect(arrival->nargs < head || arrival->category > AQ_AM_LONG, 0))
        aq_am_header_refuse(arrival, head);
    const uint32_t word = (uint32_t)arrival->args[0];
    const unsigned handler = word & ((1u << AQ_HEADER_HANDLER_BITS) - 1);
    if (__builtin_expect(word >> AQ_HEADER_HANDLER_BITS & AQ_HEADER_BEYOND, 0) ||
        __builtin_expect(handler == AQ_HANDLER_HEADER || handler == AQ_HANDLER_HEADER_TAGGED, 0))
        aq_am_header_refuse(arrival, head);
    *pair = aq_am_header_unpack(word);
    *inner = *arrival;
    inner->args = arrival->args + head;
    inner->nargs = (uint8_t)(arrival->nargs - head);
    inner->handler = (uint8_t)handler;
}

// Reads a message to AQ_HANDLER_HEADER: fills in *inner, the client's message, and *pair. Ends the
// job if no correct peer sends this message.
static inline void aq_am_header_read(const aq_arrival_t *arrival, aq_arrival_t *inner,
                                     aq_ep_pair_t *pair)
{
    aq_am_header_read_behind(arrival, 1, inner, pair);
}

// As aq_am_header_read, for a message to AQ_HANDLER_HEADER_TAGGED. Returns whether its tag is that
// of the endpoint that it leads to.
aq_tag_t aq_am_header_read_tagged(const aq_arrival_t *arrival, aq_arrival_t *inner,
                                  aq_ep_pair_t *pair);

// Drops a message that ep, the endpoint that it leads to or NULL, does not accept: counts, logs.
// Returns NULL.
gex_EP_t aq_am_drop(const aq_arrival_t *inner, aq_ep_pair_t pair, gex_EP_t ep)
    __attribute__((cold));

// Returns the endpoint of this process that the message leads to. NULL: the message is dropped,
// because there is no such endpoint, or none with active messages (logged), or the endpoint has an
// identity (counted).
static inline gex_EP_t aq_am_endpoint(const aq_arrival_t *inner, aq_ep_pair_t pair)
{
    const gex_EP_t ep = aq_endpoint_at(pair.to);
    const bool accepts = ep && ep->handlers && !ep->identity;
    return __builtin_expect(accepts, 1) ? ep : aq_am_drop(inner, pair, ep);
}

// As aq_am_endpoint, for a message with or without a tag.
gex_EP_t aq_am_endpoint_tagged(const aq_arrival_t *inner, aq_ep_pair_t pair, aq_tag_t tag);
