// SPDX-License-Identifier: BSD-3-Clause
// The endpoints of this process, their tables of handlers, and the client's calls on both. am.c
// looks up the handler of each arrival in the tables; layers register theirs with
// aq_endpoint_internal.
#include "endpoint.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../conduit.h"
#include "../ground/errors.h"
#include "identity.h"
#include "../state/job.h"
#include "../thread/thread.h"
#include "../record/trace.h"
#include "../record/traffic.h"

aq_handlers_t aq_handlers;
struct gex_ep aq_endpoint = {.capabilities = GEX_EP_CAPABILITY_ALL, .handlers = &aq_handlers};

// An object is never freed: a message to a destroyed endpoint may be on its way.
static gex_EP_t objects[GASNET_MAXEPS] = {&aq_endpoint};
_Atomic(gex_EP_t) aq_endpoints[GASNET_MAXEPS] = {&aq_endpoint};
static atomic_uint endpoint_count = 1;
aq_lock_t aq_endpoint_lock;

gex_EP_Index_t aq_endpoint_count(void)
{
    return (gex_EP_Index_t)atomic_load_explicit(&endpoint_count, memory_order_acquire);
}

static void clear_dispatch(aq_handlers_t *handlers)
{
    for (unsigned i = 0; i < AQ_HANDLERS; i++)
        handlers->dispatch[i] = (aq_dispatch_t){
            .category = AQ_SHAPE_NONE, .nargs = AQ_SHAPE_NONE, .reply = AQ_SHAPE_NONE};
}

static void clear_handlers(aq_handlers_t *handlers)
{
    memset(handlers->entry, 0, sizeof handlers->entry);
    clear_dispatch(handlers);
}

// Returns the object of an index, without capabilities; NULL when memory is out. With the lock
// held.
static gex_EP_t endpoint_object(gex_EP_Index_t index)
{
    if (!objects[index])
        objects[index] = calloc(1, sizeof *objects[index]);
    return objects[index];
}

// Gives an endpoint its identity, and a table of handlers if it has active messages. Returns false
// when memory is out.
static bool endpoint_equip(gex_EP_t ep, gex_EP_Capabilities_t capabilities,
                           const gasnetx_identity_t *accepts)
{
    static aq_handlers_t *tables[GASNET_MAXEPS]; // by index, kept as the objects are
    ep->handlers = NULL;
    if (!aq_identity_set(ep->index, accepts, &ep->identity))
        return false;
    if (!(capabilities & GEX_EP_CAPABILITY_AM))
        return true;
    if (!tables[ep->index])
        tables[ep->index] = malloc(sizeof *tables[ep->index]);
    ep->handlers = tables[ep->index];
    if (ep->handlers)
        clear_handlers(ep->handlers);
    return ep->handlers;
}

// The lowest index without an endpoint; GASNET_MAXEPS: there is none. With the lock held.
static unsigned free_index(void)
{
    unsigned index = 1;
    while (index < GASNET_MAXEPS && aq_endpoint_at((gex_EP_Index_t)index))
        index++;
    return index;
}

// With the lock held.
static int create_endpoint(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities,
                           gex_Flags_t flags, const gasnetx_identity_t *accepts)
{
    const unsigned index = free_index();
    if (index == GASNET_MAXEPS)
        return aq_refuse(GASNET_ERR_RESOURCE,
                         "gex_EP_Create: this process has all of its %u endpoints (GASNET_MAXEPS)",
                         GASNET_MAXEPS);
    gex_EP_t ep = endpoint_object((gex_EP_Index_t)index);
    if (ep)
        *ep = (struct gex_ep){.client = client,
                              .flags = flags,
                              .index = (gex_EP_Index_t)index,
                              .capabilities = capabilities};
    if (!ep || !endpoint_equip(ep, capabilities, accepts))
        return aq_refuse(GASNET_ERR_RESOURCE, "gex_EP_Create: out of memory for endpoint %u",
                         index);
    atomic_store_explicit(&aq_endpoints[index], ep, memory_order_release);
    if (index >= aq_endpoint_count())
        atomic_store_explicit(&endpoint_count, index + 1, memory_order_release);
    *ep_p = ep;
    return GASNET_OK;
}

void aq_endpoint_destroy(gex_EP_t ep)
{
    aq_lock_take(&aq_endpoint_lock);
    atomic_store_explicit(&aq_endpoints[ep->index], NULL, memory_order_release);
    ep->segment = NULL;
    aq_lock_drop(&aq_endpoint_lock);
}

int aq_endpoint_create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities,
                       gex_Flags_t flags, const gasnetx_identity_t *accepts)
{
    if (!capabilities || (capabilities & ~GEX_EP_CAPABILITY_ALL))
        return aq_refuse(
            GASNET_ERR_BAD_ARG,
            "gex_EP_Create: capabilities 0x%x: give one or more of GEX_EP_CAPABILITY_RMA, "
            "_AM, _VIS, _COLL and _AD, or GEX_EP_CAPABILITY_ALL",
            capabilities);
    aq_lock_take(&aq_endpoint_lock);
    int result = create_endpoint(ep_p, client, capabilities, flags, accepts);
    aq_lock_drop(&aq_endpoint_lock);
    return result;
}

int gex_EP_Create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities,
                  gex_Flags_t flags)
{
    aq_job_need("gex_EP_Create");
    return aq_endpoint_create(ep_p, client, capabilities, flags, NULL);
}

gex_Client_t gex_EP_QueryClient(gex_EP_t ep)
{
    aq_job_need("gex_EP_QueryClient");
    return ep->client;
}

gex_Flags_t gex_EP_QueryFlags(gex_EP_t ep)
{
    aq_job_need("gex_EP_QueryFlags");
    return ep->flags;
}

gex_Segment_t gex_EP_QuerySegment(gex_EP_t ep)
{
    aq_job_need("gex_EP_QuerySegment");
    return ep->segment;
}

gex_EP_Index_t gex_EP_QueryIndex(gex_EP_t ep)
{
    aq_job_need("gex_EP_QueryIndex");
    return ep->index;
}

void gex_EP_SetCData(gex_EP_t ep, const void *val)
{
    aq_job_need("gex_EP_SetCData");
    ep->cdata = (void *)(uintptr_t)val;
}

void *gex_EP_QueryCData(gex_EP_t ep)
{
    aq_job_need("gex_EP_QueryCData");
    return ep->cdata;
}

static aq_dispatch_t dispatch_of(const gex_AM_Entry_t *entry)
{
    const gex_Flags_t category = entry->gex_flags & (GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG);
    const gex_Flags_t direction = entry->gex_flags & GEX_FLAG_AM_REQREP;
    if (aq_traffic_on || aq_tracing.numbers || (category & (category - 1)) ||
        (direction & (direction - 1)) || entry->gex_nargs > AQ_HANDLER_MAX_ARGS)
        return (aq_dispatch_t){entry->gex_fnptr, .category = AQ_SHAPE_SEVERAL};
    return (aq_dispatch_t){entry->gex_fnptr, .category = (uint8_t)__builtin_ctz(category),
                           .nargs = (uint8_t)entry->gex_nargs,
                           .reply = direction == GEX_FLAG_AM_REPLY,
                           .bare = category == GEX_FLAG_AM_SHORT && entry->gex_nargs == 0};
}

// Makes an entry the handler of its index. No message for that index may be in flight.
static void set_handler(gex_EP_t ep, const gex_AM_Entry_t *entry)
{
    ep->handlers->entry[entry->gex_index] = *entry;
    ep->handlers->dispatch[entry->gex_index] = dispatch_of(entry);
}

void aq_endpoint_internal(gex_AM_Index_t index, gex_AM_Fn_t fn, gex_Flags_t flags, unsigned nargs,
                          const char *name)
{
    const gex_AM_Entry_t entry = {index, fn, flags, nargs, NULL, name};
    set_handler(&aq_endpoint, &entry);
}

void aq_endpoint_internal_bare(gex_AM_Index_t index, void (*fn)(gex_Token_t token),
                               gex_Flags_t flags, unsigned nargs, const char *name)
{
    aq_endpoint_internal(index, (gex_AM_Fn_t)fn, flags, nargs, name);
    aq_handlers.dispatch[index].bare = true;
}

static __attribute__((constructor)) void clear_primordial_dispatch(void)
{
    clear_dispatch(&aq_handlers);
}

static int complain_of_entry(const gex_AM_Entry_t *entry, size_t place, const char *what)
{
    const char *name = entry->gex_name ? entry->gex_name : "(no name)";
    return aq_refuse(GASNET_ERR_BAD_ARG, "gex_EP_RegisterHandlers: entry %zu, handler %u %s: %s",
                     place, entry->gex_index, name, what);
}

// Checks what the specification requires of an entry. Messages are checked against the entry in
// every build.
static int check_entry(const gex_AM_Entry_t *entry, size_t place)
{
    gex_Flags_t category = entry->gex_flags & (GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG);
    if (!entry->gex_fnptr)
        return complain_of_entry(entry, place, "gex_fnptr is NULL");
    if (entry->gex_nargs > AQ_HANDLER_MAX_ARGS)
        return complain_of_entry(entry, place,
                                 "gex_nargs is more than gex_AM_MaxArgs(), which is 16");
    if (!category || ((category & GEX_FLAG_AM_SHORT) && category != GEX_FLAG_AM_SHORT))
        return complain_of_entry(
            entry, place, "gex_flags has to hold one of GEX_FLAG_AM_SHORT, MEDIUM, LONG, MEDLONG");
    if (!(entry->gex_flags & GEX_FLAG_AM_REQREP))
        return complain_of_entry(entry, place,
                                 "gex_flags has to hold one of GEX_FLAG_AM_REQUEST, REPLY, REQREP");
    return GASNET_OK;
}

static int register_fixed(gex_EP_t ep, const gex_AM_Entry_t *entry, size_t place)
{
    if (entry->gex_index < GEX_AM_INDEX_BASE)
        return complain_of_entry(
            entry, place, "the index is below GEX_AM_INDEX_BASE (64); give 0 to have one chosen");
    if (ep->handlers->entry[entry->gex_index].gex_fnptr)
        return complain_of_entry(entry, place, "the index is registered already");
    set_handler(ep, entry);
    return GASNET_OK;
}

static int register_anywhere(gex_EP_t ep, gex_AM_Entry_t *entry, size_t place)
{
    for (unsigned index = AQ_HANDLERS - 1; index >= GEX_AM_INDEX_BASE; index--) {
        if (!ep->handlers->entry[index].gex_fnptr) {
            entry->gex_index = (gex_AM_Index_t)index;
            set_handler(ep, entry);
            return GASNET_OK;
        }
    }
    return complain_of_entry(entry, place, "no index is free: 192 handlers are registered");
}

static int register_table(gex_EP_t ep, gex_AM_Entry_t *table, size_t count)
{
    int result = GASNET_OK;
    for (size_t i = 0; i < count && result == GASNET_OK; i++)
        if (table[i].gex_index)
            result = register_fixed(ep, &table[i], i);
    for (size_t i = 0; i < count && result == GASNET_OK; i++)
        if (!table[i].gex_index)
            result = register_anywhere(ep, &table[i], i);
    return result;
}

int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t count)
{
    aq_job_need("gex_EP_RegisterHandlers");
    int result = GASNET_OK;
    if (!ep->handlers)
        return aq_refuse(
            GASNET_ERR_BAD_ARG,
            "gex_EP_RegisterHandlers: endpoint %u has no capability for active messages",
            ep->index);
    if (count > AQ_HANDLERS - GEX_AM_INDEX_BASE)
        return aq_refuse(GASNET_ERR_BAD_ARG,
                         "gex_EP_RegisterHandlers: a table of more than %u entries, which an "
                         "endpoint does not have",
                         AQ_HANDLERS - GEX_AM_INDEX_BASE);
    for (size_t i = 0; i < count && result == GASNET_OK; i++)
        result = check_entry(&table[i], i);
    if (result != GASNET_OK)
        return result;
    aq_lock_take(&aq_endpoint_lock);
    result = register_table(ep, table, count);
    aq_lock_drop(&aq_endpoint_lock);
    return result;
}
