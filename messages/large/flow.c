// SPDX-License-Identifier: BSD-3-Clause
// The client's calls for flow control: modes, and what this rank has counted.
#include "large_arrive.h"
#include "../two_sided/msg_credits.h"
#include "../two_sided/msg_check.h"
#include "../two_sided/msg_recv.h"

int gasnetx_Msg_Mode(unsigned mode)
{
    aq_job_need("gasnetx_Msg_Mode");
    if (mode & ~(GASNETX_MSG_STOPPED | GASNETX_MSG_DROPS))
        return aq_msg_refuse("gasnetx_Msg_Mode",
                             "the modes are GASNETX_MSG_STOPPED and GASNETX_MSG_DROPS");
    aq_lock_take(&aq_msg.lock);
    const bool changes = (mode ^ aq_msg.mode) & GASNETX_MSG_STOPPED;
    atomic_store_explicit(&aq_msg.mode, mode, memory_order_relaxed);
    if (changes) {
        aq_msg.changes++;
        aq_msg_credits_change();
    }
    aq_lock_drop(&aq_msg.lock);
    aq_msg_arrivals_go_on();
    aq_large_headers_go_on();
    return GASNET_OK;
}

int gasnetx_Msg_Counts(gasnetx_msg_counts_t *counts)
{
    aq_job_need("gasnetx_Msg_Counts");
    aq_lock_take(&aq_msg.lock);
    *counts = aq_msg.counts;
    aq_lock_drop(&aq_msg.lock);
    return GASNET_OK;
}
