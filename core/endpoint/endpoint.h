// SPDX-License-Identifier: BSD-3-Clause
// The objects that a client holds: client, endpoint with its handlers, segment.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "../aqueduct.h"
#include "../ground/lock.h"
#include "segment_map.h"

#define AQ_HANDLERS 256
#define AQ_HANDLER_MAX_ARGS 16
#define AQ_ANY_NARGS ~0u // gex_nargs of a handler that was registered without this number

struct gex_client {
    char *name;
    gex_Flags_t flags;
    void *cdata;
};

struct gex_segment {
    gex_Client_t client;
    void *addr;
    uintptr_t size;
    void *cdata;
    bool attached;              // by gex_Segment_Attach: the segment lives as long as the job
    bool allocated;             // gex_Segment_Create has allocated `memory`
    aq_segment_memory_t memory; // if allocated
    bool reserved;              // by gasnetx_Segment_AttachReserved; attached too
};

// A handler and the one shape of message that it accepts, so that three comparisons check an
// arriving message.
typedef struct aq_dispatch {
    gex_AM_Fn_t fn;
    uint8_t category; // AQ_SHAPE_SEVERAL: the entry of the handler allows several shapes
    uint8_t nargs, reply;
    bool bare; // the handler has the token as its only parameter
} aq_dispatch_t;
enum {
    AQ_SHAPE_SEVERAL = 0xfe,
    AQ_SHAPE_NONE = 0xff // in all three fields of an index without a handler
};

// The handlers of an endpoint.
typedef struct aq_handlers {
    gex_AM_Entry_t entry[AQ_HANDLERS];   // gex_fnptr NULL: not registered; 1 to
                                         // GEX_AM_INDEX_BASE-1: the library's own
    aq_dispatch_t dispatch[AQ_HANDLERS]; // of the same handlers
} aq_handlers_t;

struct gex_ep {
    gex_Client_t client;
    gex_Segment_t segment;
    void *cdata;
    gex_EP_Index_t index;
    gex_Flags_t flags;
    gex_EP_Capabilities_t capabilities;
    uint64_t bound_serial;        // of the binding to its segment; see segment_map.h
    bool published;               // that binding was published
    aq_handlers_t *handlers;      // NULL: the endpoint has no active messages
    struct aq_identity *identity; // of all that it sends and accepts; NULL: none (identity.h)
};

// The primordial objects; there is one client for now.
extern struct gex_client aq_client;
extern struct gex_ep aq_endpoint;
extern aq_handlers_t aq_handlers; // of the primordial endpoint

// Protects the list of endpoints, the segment of each endpoint, and the registration of handlers.
// Calls of handlers do not take this lock: the client ensures that no message for a handler arrives
// before the handler is registered.
extern aq_lock_t aq_endpoint_lock;

// The endpoints of this process by index; NULL: there is none.
extern _Atomic(gex_EP_t) aq_endpoints[GASNET_MAXEPS];

// Returns the endpoint of this process with an index, or NULL if there is none. Any thread.
static inline gex_EP_t aq_endpoint_at(gex_EP_Index_t index)
{
    return index < GASNET_MAXEPS ? atomic_load_explicit(&aq_endpoints[index], memory_order_acquire)
                                 : NULL;
}

// The indices of the endpoints of this process are below this number. Any thread.
gex_EP_Index_t aq_endpoint_count(void);

// As gasnetx_EP_Create.
int aq_endpoint_create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities,
                       gex_Flags_t flags, const gasnetx_identity_t *accepts);

// Destroys a further endpoint. A later endpoint gets its index and its memory.
void aq_endpoint_destroy(gex_EP_t ep);

// Registers a handler of the library itself, at init, before any message can arrive.
void aq_endpoint_internal(gex_AM_Index_t index, gex_AM_Fn_t fn, gex_Flags_t flags, unsigned nargs,
                          const char *name);

// As aq_endpoint_internal, for a handler that reads payload and arguments from the arrival of its
// token.
void aq_endpoint_internal_bare(gex_AM_Index_t index, void (*fn)(gex_Token_t token),
                               gex_Flags_t flags, unsigned nargs, const char *name);
