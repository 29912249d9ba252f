#include "endpoint.h"

#include "fatal.h"
#include "thread.h"

struct gex_ep aq_endpoint;

gex_Client_t gex_EP_QueryClient(gex_EP_t ep)
{
    return ep->client;
}

gex_Flags_t gex_EP_QueryFlags(gex_EP_t ep)
{
    (void)ep;
    return 0;
}

gex_Segment_t gex_EP_QuerySegment(gex_EP_t ep)
{
    return ep->segment;
}

gex_EP_Index_t gex_EP_QueryIndex(gex_EP_t ep)
{
    (void)ep;
    return 0;
}

void gex_EP_SetCData(gex_EP_t ep, const void *val)
{
    ep->cdata = (void *)(uintptr_t)val;
}

void *gex_EP_QueryCData(gex_EP_t ep)
{
    return ep->cdata;
}

void aq_endpoint_internal(gex_AM_Index_t index, gex_AM_Fn_t fn, gex_Flags_t flags, unsigned nargs,
                          const char *name)
{
    aq_endpoint.handlers[index] = (gex_AM_Entry_t){index, fn, flags, nargs, NULL, name};
}

static const char *entry_name(const gex_AM_Entry_t *entry)
{
    return entry->gex_name ? entry->gex_name : "(no name)";
}

static int complain(const gex_AM_Entry_t *entry, size_t place, const char *what)
{
    if (gex_System_GetVerboseErrors())
        aq_log_error("gex_EP_RegisterHandlers: entry %zu, handler %u %s: %s", place,
                     entry->gex_index, entry_name(entry), what);
    return GASNET_ERR_BAD_ARG;
}

// A debug build insists on what the specification requires of an entry; other builds trust it.
static int check_entry(const gex_AM_Entry_t *entry, size_t place)
{
    gex_Flags_t category = entry->gex_flags & (GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG);
    if (!entry->gex_fnptr)
        return complain(entry, place, "gex_fnptr is NULL");
    if (entry->gex_nargs > gex_AM_MaxArgs())
        return complain(entry, place, "gex_nargs is more than gex_AM_MaxArgs(), which is 16");
    if (!category || ((category & GEX_FLAG_AM_SHORT) && category != GEX_FLAG_AM_SHORT))
        return complain(entry, place,
                        "gex_flags has to hold one of GEX_FLAG_AM_SHORT, MEDIUM, LONG, MEDLONG");
    if (!(entry->gex_flags & GEX_FLAG_AM_REQREP))
        return complain(entry, place,
                        "gex_flags has to hold one of GEX_FLAG_AM_REQUEST, REPLY, REQREP");
    return GASNET_OK;
}

static int register_fixed(gex_EP_t ep, const gex_AM_Entry_t *entry, size_t place)
{
    if (entry->gex_index < GEX_AM_INDEX_BASE)
        return complain(entry, place,
                        "the index is below GEX_AM_INDEX_BASE (64); give 0 to have one chosen");
    if (ep->handlers[entry->gex_index].gex_fnptr)
        return complain(entry, place, "the index is registered already");
    ep->handlers[entry->gex_index] = *entry;
    return GASNET_OK;
}

static int register_anywhere(gex_EP_t ep, gex_AM_Entry_t *entry, size_t place)
{
    for (unsigned index = AQ_HANDLERS - 1; index >= GEX_AM_INDEX_BASE; index--) {
        if (!ep->handlers[index].gex_fnptr) {
            entry->gex_index = (gex_AM_Index_t)index;
            ep->handlers[index] = *entry;
            return GASNET_OK;
        }
    }
    return complain(entry, place, "no index is free: 192 handlers are registered");
}

int gex_EP_RegisterHandlers(gex_EP_t ep, gex_AM_Entry_t *table, size_t count)
{
    int result = GASNET_OK;
    for (size_t i = 0; AQ_CHECKS && i < count && result == GASNET_OK; i++)
        result = check_entry(&table[i], i);
    for (size_t i = 0; i < count && result == GASNET_OK; i++)
        if (table[i].gex_index)
            result = register_fixed(ep, &table[i], i);
    for (size_t i = 0; i < count && result == GASNET_OK; i++)
        if (!table[i].gex_index)
            result = register_anywhere(ep, &table[i], i);
    return result;
}
