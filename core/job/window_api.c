// SPDX-License-Identifier: BSD-3-Clause
// The calls of the client on windows, and the end of an endpoint.
#include "../aqueduct.h"
#include "../ground/errors.h"
#include "../progress/progress.h"
#include "../memory/segment_table.h"
#include "../expose/segment_revoke.h"
#include "../endpoint/team.h"
#include "../am/window_ask.h"

static int refuse_window(const char *call, gex_EP_t ep, const char *why)
{
    return aq_refuse(GASNET_ERR_BAD_ARG, "%s of endpoint %u: %s", call, ep->index, why);
}

int gasnetx_EP_Create(gex_EP_t *ep_p, gex_Client_t client, gex_EP_Capabilities_t capabilities,
                      gex_Flags_t flags, const gasnetx_identity_t *accepts)
{
    aq_job_need("gasnetx_EP_Create");
    const int result = aq_endpoint_create(ep_p, client, capabilities, flags, accepts);
    if (result == GASNET_OK && accepts)
        aq_team_forget_pairs((*ep_p)->index);
    return result;
}

// Destroying waits for nothing: a message that arrives later is dropped, with a notice. If the
// segment of the endpoint lives on, neighbours may still access it until they have read that it
// belongs to this endpoint no longer.
int gasnetx_EP_Destroy(gex_EP_t ep)
{
    aq_job_need("gasnetx_EP_Destroy");
    if (!ep->index)
        return refuse_window("gasnetx_EP_Destroy", ep,
                             "the primordial endpoint lives as long as the job");
    if (aq_endpoint_at(ep->index) != ep)
        return refuse_window("gasnetx_EP_Destroy", ep, "it is destroyed already");
    if (aq_team_has_endpoint(ep->index))
        return refuse_window("gasnetx_EP_Destroy", ep,
                             "it is a member of a team; destroy the team first");
    aq_segment_bind_bounds(ep->index, 0, 0);
    aq_segment_revoke(ep);
    if (ep->identity)
        aq_team_forget_pairs(ep->index);
    aq_endpoint_destroy(ep);
    return GASNET_OK;
}

static aq_window_t *whole_window(gex_EP_t ep)
{
    aq_window_t *window = ep->index && ep->handlers ? aq_window_use(ep->index) : NULL;
    return window && window->whole ? window : NULL;
}

int gasnetx_EP_HasWindow(gex_EP_t ep)
{
    aq_job_need("gasnetx_EP_HasWindow");
    return whole_window(ep) != NULL;
}

int gasnetx_EP_BindThread(gex_EP_t ep)
{
    aq_job_admit("gasnetx_EP_BindThread");
    if (ep == GEX_EP_INVALID || !ep->index) {
        aq_window_own = NULL;
        return GASNET_OK;
    }
    if (!ep->handlers)
        return refuse_window("gasnetx_EP_BindThread", ep,
                             "it was created without GEX_EP_CAPABILITY_AM");
    aq_window_own = whole_window(ep);
    return GASNET_OK;
}

int gasnetx_EP_Poll(gex_EP_t ep)
{
    aq_thread_check_call("gasnetx_EP_Poll");
    const aq_window_t *window = atomic_load_explicit(&aq_windows[ep->index], memory_order_acquire);
    if (!ep->index || (window && window->whole))
        aq_progress_poll_endpoint(window);
    else
        aq_progress_poll();
    return GASNET_OK;
}
