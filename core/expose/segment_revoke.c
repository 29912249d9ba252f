// SPDX-License-Identifier: BSD-3-Clause
// Sends the notices that a published segment is gone, first in the call that destroys
// (segment_create.c, window_api.c), then by a task of polls; and handles those of neighbours.
#include "segment_revoke.h"

#include "../am/am_send.h"
#include "../ground/arg64.h"
#include "../progress/progress.h"

// What is still to be sent about an endpoint index: a later notice takes the place of an earlier
// one, since it ends all earlier bindings, too.
typedef struct due {
    uint64_t serial; // 0: nothing
    uint32_t next;   // index in the neighbourhood
} due_t;

static due_t due[GASNET_MAXEPS];
static unsigned due_count; // entries that are not 0
static aq_lock_t due_lock;

static bool revoke_turn(aq_task_t *task);
static aq_task_t revoke_task = {.turn = revoke_turn};

// Returns false if there is no room now.
static bool notice_send(uint32_t jobrank, gex_EP_Index_t ep, uint64_t serial)
{
    const int32_t args[] = {ep, aq_high(serial), aq_low(serial)};
    return jobrank == aq_job.rank || aq_am_request_short(jobrank, AQ_HANDLER_SEGMENT_REVOKED, 3,
                                                         args, GEX_FLAG_IMMEDIATE) == 0;
}

// Sends what finds room. Returns whether anything was sent.
static bool due_send(gex_EP_Index_t ep)
{
    due_t *entry = &due[ep];
    const uint32_t first = entry->next;
    while (entry->next < aq_job.env.nbrhd_size &&
           notice_send(aq_job.env.nbrhd[entry->next], ep, entry->serial))
        entry->next++;
    const bool sent = entry->next != first;
    if (entry->next == aq_job.env.nbrhd_size) {
        *entry = (due_t){0};
        due_count--;
        aq_progress_busy(&revoke_task, -1);
    }
    return sent;
}

// Threads that poll at the same time leave the work to one of them.
static bool revoke_turn(aq_task_t *task)
{
    bool sent = false;
    (void)task;
    if (!aq_lock_try(&due_lock))
        return false;
    for (unsigned ep = 1; due_count && ep < GASNET_MAXEPS; ep++)
        if (due[ep].serial)
            sent |= due_send((gex_EP_Index_t)ep);
    aq_lock_drop(&due_lock);
    return sent;
}

void aq_segment_revoke(gex_EP_t ep)
{
    if (!ep->index || !ep->published)
        return;
    ep->published = false;
    aq_segment_unmap(aq_job.rank, ep->index, ep->bound_serial);
    aq_lock_take(&due_lock);
    if (!due[ep->index].serial) {
        due_count++;
        aq_progress_busy(&revoke_task, 1);
    }
    due[ep->index] = (due_t){.serial = ep->bound_serial};
    (void)due_send(ep->index);
    aq_lock_drop(&due_lock);
}

static void on_revoked(gex_Token_t token, int32_t ep, int32_t serial_high, int32_t serial_low)
{
    if (ep > 0 && ep < GASNET_MAXEPS)
        aq_segment_unmap(token->arrival->source, (gex_EP_Index_t)ep,
                         aq_join(serial_high, serial_low));
}

void aq_segment_revoke_start(void)
{
    aq_endpoint_internal(AQ_HANDLER_SEGMENT_REVOKED, (gex_AM_Fn_t)on_revoked,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 3, "ends a mapping");
    aq_progress_add(&revoke_task);
}
