// SPDX-License-Identifier: BSD-3-Clause
// GASNet-1: the functions of extended/gasnet.h that are not inline. Init, tables of nodes, memset
// over active messages, and outstanding gets of values.
//
//     memset:  Medium request with its arguments --> [target sets the bytes] --> Medium reply: done
#include "../gasnet.h"

#include <stdlib.h>
#include <string.h>

#include "../../core/memory/access.h"
#include "../../core/am/am_send.h"
#include "../../core/ground/bounds.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/thread/event.h"
#include "../../core/ground/errors.h"
#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../../core/state/job_groups.h"
#include "../../core/expose/segment.h"
#include "../../core/endpoint/team.h"
#include "../rma/layer_table.h"
#include "../rma/pending.h"
#include "../rma/rma_probe.h"

enum { FIRST_INDEX = 128, INDICES = AQ_HANDLERS - FIRST_INDEX };

// The stage of init, which determines whether GASNet-1 calls are allowed.
static enum { NOT_STARTED, NOT_ENABLED, NOT_ATTACHED, READY } stage;

gex_TM_t aq_api_gasnet1_team;

// ---- start ----

int aq_api_gasnet1_init(int *argc, char ***argv, const aq_api_build_t *build)
{
    if (aq_job_running()) {
        aq_log_error("gasnet_init: this process has joined the job before; it may do so once, by "
                     "gasnet_init or by gex_Client_Init");
        return GASNET_ERR_NOT_INIT;
    }
    int result =
        aq_api_client_init(NULL, NULL, NULL, "GASNET1", argc, argv, GEX_FLAG_USES_GASNET1, build);
    if (result == GASNET_OK)
        stage = NOT_ATTACHED;
    return result;
}

static int complain_of_call(int place, gasnet_handler_t index, const char *what)
{
    return aq_refuse(GASNET_ERR_BAD_ARG, "gasnet_attach: entry %d, handler %u: %s", place, index,
                     what);
}

static int choose_fixed(const gasnet_handlerentry_t *table, int count, bool *taken)
{
    for (int i = 0; i < count; i++) {
        gasnet_handler_t index = table[i].index;
        if (!table[i].fnptr)
            return complain_of_call(i, index, "fnptr is NULL");
        if (index && index < FIRST_INDEX)
            return complain_of_call(i, index,
                                    "indices of clients are 128 to 255; give 0 to have one chosen");
        if (index && taken[index])
            return complain_of_call(i, index, "the index is registered already");
        taken[index] = index != 0;
    }
    return GASNET_OK;
}

// Chooses the index of each entry; registers nothing yet.
static int choose_index(const gasnet_handlerentry_t *table, int count, gasnet_handler_t *chosen)
{
    bool taken[AQ_HANDLERS];
    unsigned free_index = AQ_HANDLERS - 1;
    for (int i = 0; i < AQ_HANDLERS; i++)
        taken[i] = aq_handlers.entry[i].gex_fnptr != NULL;
    int result = choose_fixed(table, count, taken);
    for (int i = 0; i < count && result == GASNET_OK; i++) {
        while (!table[i].index && taken[free_index] && free_index >= FIRST_INDEX)
            free_index--;
        if (!table[i].index && free_index < FIRST_INDEX)
            return complain_of_call(i, 0, "no index is free");
        chosen[i] = table[i].index ? table[i].index : (gasnet_handler_t)free_index--;
    }
    return result;
}

// Registers each handler for every category and number of arguments, since GASNet-1 states neither.
static void register_handlers(gasnet_handlerentry_t *table, int count,
                              const gasnet_handler_t *chosen)
{
    const gex_Flags_t any = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQREP;
    for (int i = 0; i < count; i++) {
        table[i].index = chosen[i];
        aq_endpoint_internal(chosen[i], table[i].fnptr, any, AQ_ANY_NARGS, NULL);
    }
}

// Other threads may call gex_EP_RegisterHandlers meanwhile.
static int register_table(gasnet_handlerentry_t *table, int count)
{
    gasnet_handler_t chosen[INDICES];
    aq_lock_take(&aq_endpoint_lock);
    int result = choose_index(table, count, chosen);
    if (result == GASNET_OK)
        register_handlers(table, count, chosen);
    aq_lock_drop(&aq_endpoint_lock);
    return result;
}

static uintptr_t whole_size(uintptr_t segsize)
{
    if (segsize == (uintptr_t)-1)
        return gasnet_getMaxLocalSegmentSize();
    return segsize ? segsize : GASNET_PAGESIZE;
}

static int check_attach(int numentries, uintptr_t size)
{
    if (stage != NOT_ATTACHED) {
        aq_log_error("gasnet_attach: it has to be called once, after gasnet_init (after "
                     "gex_Client_Init, the call is gex_Segment_Attach)");
        return GASNET_ERR_NOT_INIT;
    }
    if (numentries < 0 || numentries > INDICES) {
        aq_log_error("gasnet_attach: a table of %d handlers; there can be 0 to %d", numentries,
                     INDICES);
        return GASNET_ERR_BAD_ARG;
    }
    return aq_segment_check_limit("gasnet_attach", size);
}

// Registers handlers before the segment is attached: a node that returns from that attach may send
// at once.
int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                  uintptr_t minheapoffset)
{
    (void)minheapoffset;
    uintptr_t size = whole_size(segsize);
    int result = check_attach(numentries, size);
    if (result == GASNET_OK)
        result = register_table(table, numentries);
    if (result != GASNET_OK)
        return result;
    result = gex_Segment_Attach(NULL, &aq_team.head, size);
    if (result == GASNET_OK)
        stage = READY;
    return result;
}

AQ_API int aq_api_attach_aligned(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                                 uintptr_t minheapoffset);

// gasnet_attach of a program that was compiled with GASNET_ALIGNED_SEGMENTS=1.
int aq_api_attach_aligned(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize,
                          uintptr_t minheapoffset)
{
    aq_segment_require_aligned();
    return gasnet_attach(table, numentries, segsize, minheapoffset);
}

void gasnet_QueryGexObjects(gex_Client_t *client_p, gex_EP_t *endpoint_p, gex_TM_t *tm_p,
                            gex_Segment_t *segment_p)
{
    aq_job_need("gasnet_QueryGexObjects");
    if (client_p)
        *client_p = &aq_client;
    if (endpoint_p)
        *endpoint_p = &aq_endpoint;
    if (tm_p)
        *tm_p = &aq_team.head;
    if (segment_p)
        *segment_p = aq_endpoint.segment;
}

gex_TM_t aq_api_gasnet1_check(const char *call, gasnet_node_t node)
{
    aq_job_need(call);
    AQ_CHECK(stage != NOT_ENABLED,
             "%s is a call of GASNet-1: start with gasnet_init, or pass GEX_FLAG_USES_GASNET1 to "
             "gex_Client_Init",
             call);
    AQ_CHECK(stage != NOT_ATTACHED, "%s was called before gasnet_attach", call);
    AQ_CHECK(node < aq_job.size, "%s: node %u is not below the number of nodes, %u", call, node,
             aq_job.size);
    return aq_api_gasnet1_team;
}

// ---- nodes ----

// Returns the number of entries to fill in, or -1 after a message.
static int convert_entries(const char *call, int numentries)
{
    if (numentries >= 0)
        return numentries < (int)aq_job.size ? numentries : (int)aq_job.size;
    aq_log_error("%s: a table of %d entries", call, numentries);
    return -1;
}

int gasnet_getSegmentInfo(gasnet_seginfo_t *seginfo_table, int numentries)
{
    if (stage == NOT_STARTED || stage == NOT_ATTACHED) {
        aq_log_error("gasnet_getSegmentInfo was called before gasnet_attach");
        return GASNET_ERR_NOT_INIT;
    }
    int count = convert_entries("gasnet_getSegmentInfo", numentries);
    for (int i = 0; i < count; i++)
        seginfo_table[i] =
            (gasnet_seginfo_t){(void *)aq_job.segment_addr[i], aq_job.segment_size[i]};
    return count < 0 ? GASNET_ERR_BAD_ARG : GASNET_OK;
}

int gasnet_getNodeInfo(gasnet_nodeinfo_t *nodeinfo_table, int numentries)
{
    if (stage == NOT_STARTED) {
        aq_log_error("gasnet_getNodeInfo was called before gasnet_init");
        return GASNET_ERR_NOT_INIT;
    }
    int count = convert_entries("gasnet_getNodeInfo", numentries);
    if (count < 0)
        return GASNET_ERR_BAD_ARG;
    aq_group_numbers_t *numbers = aq_job_group_numbers();
    if (!numbers)
        return GASNET_ERR_RESOURCE;
    for (int i = 0; i < count; i++) {
        intptr_t shift = aq_job.shift[i];
        nodeinfo_table[i] =
            (gasnet_nodeinfo_t){numbers[i].host, numbers[i].nbrhd, shift & 1 ? 0 : shift};
    }
    free(numbers);
    return GASNET_OK;
}

// ---- memset ----

typedef struct memset_request {
    void *dest;
    size_t nbytes;
    aq_cookie_t cookie; // the sender's
    int val;
} memset_request_t;

static void on_memset(gex_Token_t token, const memset_request_t *request, size_t nbytes)
{
    if (nbytes != sizeof *request)
        aq_fatal("a memset of rank %u has %zu bytes of arguments in place of %zu",
                 token->arrival->source, nbytes, sizeof *request);
    aq_pending_check_target(AQ_PENDING_MEMSET, token, request->dest, request->nbytes);
    memset(request->dest, request->val, request->nbytes);
    gex_AM_ReplyMedium0(token, AQ_HANDLER_MEMSET_DONE, &request->cookie, sizeof request->cookie,
                        GEX_EVENT_NOW, 0);
}

static void on_memset_done(gex_Token_t token, const aq_cookie_t *cookie, size_t nbytes)
{
    if (nbytes != sizeof *cookie)
        aq_fatal("the answer of rank %u to a memset has %zu bytes in place of %zu",
                 token->arrival->source, nbytes, sizeof *cookie);
    aq_event_end(aq_pending_end(AQ_PENDING_MEMSET, token, *cookie).context);
}

static void start_memset(gex_TM_t tm, gasnet_node_t node, memset_request_t *request,
                         gex_Event_t part)
{
    aq_thread_check_call("gasnet_memset");
    aq_bounds_rank("gasnet_memset", "node", node, tm->size);
    uint32_t jobrank = aq_tm_jobrank(tm, node);
    aq_access_t access = {"gasnet_memset", request->dest, request->nbytes, jobrank, 0, 0};
    if (!aq_access_fits(jobrank, 0, request->dest, request->nbytes) ||
        (aq_probe_needed(0) && !aq_probe(&access, true))) {
        aq_access_refuse(&access, 0, part);
        return;
    }
    void *here = aq_am_map_local(jobrank, 0, request->dest);
    if (here) {
        memset(here, request->val, request->nbytes);
        atomic_thread_fence(memory_order_release);
        return;
    }
    aq_am_t am = {.payload = request,
                  .nbytes = sizeof *request,
                  .category = AQ_AM_MEDIUM,
                  .handler = AQ_HANDLER_MEMSET};
    request->cookie = aq_pending_add(AQ_PENDING_MEMSET, jobrank, part, NULL, 0);
    aq_event_begin(part);
    aq_am_request(jobrank, &am, 0);
}

gasnet_handle_t aq_api_memset_nb(gex_TM_t tm, gasnet_node_t node, void *dest, int val,
                                 size_t nbytes)
{
    aq_event_t *event = aq_event_new();
    memset_request_t request = {dest, nbytes, 0, val};
    start_memset(tm, node, &request, aq_event_part(event, AQ_PART_PUT));
    aq_outstanding_add(aq_thread_self()->outstanding, event, 0, 0);
    return aq_event_part(event, AQ_PART_ROOT);
}

void aq_api_memset_nbi(gex_TM_t tm, gasnet_node_t node, void *dest, int val, size_t nbytes)
{
    memset_request_t request = {dest, nbytes, 0, val};
    aq_outstanding_implicit(aq_thread_self()->outstanding, 0, 0);
    start_memset(tm, node, &request, aq_event_part(aq_thread_nbi(), AQ_PART_PUT));
}

// ---- values ----

struct aq_api_valget {
    gex_Event_t event;
    gex_RMA_Value_t value;
};

struct aq_api_valget *aq_api_valget_start(gex_TM_t tm, gasnet_node_t node, void *src, size_t nbytes)
{
    struct aq_api_valget *pending = aq_allocate(sizeof *pending, "a get of a value");
    pending->value = 0;
    void *dest =
        (void *)(uintptr_t)aq_api_value_bytes("gasnet_get_nb_val", &pending->value, nbytes);
    pending->event = gex_RMA_GetNB(tm, dest, node, src, nbytes, 0);
    return pending;
}

gasnet_register_value_t aq_api_valget_wait(struct aq_api_valget *pending)
{
    gex_Event_Wait(pending->event);
    gasnet_register_value_t value = pending->value;
    free(pending);
    return value;
}

// ---- start of the layer ----

void aq_gasnet1_start(void)
{
    aq_endpoint_internal(AQ_HANDLER_MEMSET, (gex_AM_Fn_t)on_memset,
                         GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, "memset");
    aq_endpoint_internal(AQ_HANDLER_MEMSET_DONE, (gex_AM_Fn_t)on_memset_done,
                         GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 0, "memset done");
    aq_api_gasnet1_team = &aq_team.head;
    stage = aq_client.flags & GEX_FLAG_USES_GASNET1 ? READY : NOT_ENABLED;
}
