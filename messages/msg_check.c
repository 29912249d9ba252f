// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments.
#include "../core/fatal.h"
#include "msg.h"

int aq_msg_refuse(const char *call, const char *why)
{
    if (gex_System_GetVerboseErrors())
        aq_log_error("%s: %s", call, why);
    return GASNET_ERR_BAD_ARG;
}

static bool rank_is_valid(gex_TM_t tm, gex_Rank_t rank, bool is_receive)
{
    const gex_Rank_t size = tm == GEX_TM_INVALID ? aq_job_present() : gex_TM_QuerySize(tm);
    return rank < size || (is_receive && rank == GASNETX_ANY_RANK);
}

int aq_msg_check(const char *call, gex_TM_t tm, gex_Rank_t rank, uint32_t tag, bool is_receive)
{
    aq_job_need(call);
    if (AQ_CHECKS)
        aq_thread_check_context(call, "");
    if (tm == GEX_TM_INVALID ? !is_receive : aq_team_of(tm)->pair)
        return aq_msg_refuse(call, "messages go to a rank of a team, and this is none");
    if (!rank_is_valid(tm, rank, is_receive))
        return aq_msg_refuse(call, "the team has no such rank");
    if (tag > GASNETX_TAG_MAX && !(is_receive && tag == GASNETX_ANY_TAG))
        return aq_msg_refuse(call, "tags are 0 to GASNETX_TAG_MAX");
    return GASNET_OK;
}
