// SPDX-License-Identifier: BSD-3-Clause
// Payload limits. The limits of a conduit apply to any number of arguments. The smallest limit of
// all open conduits applies to every peer, so that the answer does not depend on the peer.
#include "../state/job.h"
#include "../thread/srcdesc.h"
#include "../../other/base/minmax.h"

static size_t long_limit(size_t most, gex_Flags_t flags)
{
    return flags & GEX_FLAG_AM_PREPARE_LEAST_ALLOC ? aq_min(AQ_PREPARE_LONG_ROOM, most) : most;
}

size_t gex_AM_MaxRequestLong(gex_TM_t tm, gex_Rank_t other, const gex_Event_t *lc_opt,
                             gex_Flags_t flags, unsigned int nargs)
{
    aq_job_need("gex_AM_MaxRequestLong");
    (void)tm, (void)other, (void)lc_opt, (void)nargs;
    return long_limit(aq_job.limits.long_request, flags);
}

size_t gex_AM_MaxReplyLong(gex_TM_t tm, gex_Rank_t other, const gex_Event_t *lc_opt,
                           gex_Flags_t flags, unsigned int nargs)
{
    aq_job_need("gex_AM_MaxReplyLong");
    (void)tm, (void)other, (void)lc_opt, (void)nargs;
    return long_limit(aq_job.limits.long_reply, flags);
}

size_t gex_AM_MaxRequestMedium(gex_TM_t tm, gex_Rank_t other, const gex_Event_t *lc_opt,
                               gex_Flags_t flags, unsigned int nargs)
{
    aq_job_need("gex_AM_MaxRequestMedium");
    (void)tm, (void)other, (void)lc_opt, (void)flags, (void)nargs;
    return aq_job.limits.medium;
}

size_t gex_AM_MaxReplyMedium(gex_TM_t tm, gex_Rank_t other, const gex_Event_t *lc_opt,
                             gex_Flags_t flags, unsigned int nargs)
{
    aq_job_need("gex_AM_MaxReplyMedium");
    (void)tm, (void)other, (void)lc_opt, (void)flags, (void)nargs;
    return aq_job.limits.medium;
}

size_t gex_Token_MaxReplyLong(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags,
                              unsigned int nargs)
{
    (void)token, (void)lc_opt, (void)nargs;
    return long_limit(aq_job.limits.long_reply, flags);
}

size_t gex_Token_MaxReplyMedium(gex_Token_t token, const gex_Event_t *lc_opt, gex_Flags_t flags,
                                unsigned int nargs)
{
    (void)token, (void)lc_opt, (void)flags, (void)nargs;
    return aq_job.limits.medium;
}

// A limit that every network supports, for clients that query limits before init.
enum { LEAST_LIMIT = 512 };

static size_t limit_of_all(const char *call, size_t limit)
{
    if (aq_job.size)
        return limit;
    if (aq_job.failed)
        aq_job_missing(call);
    return LEAST_LIMIT;
}

size_t gex_AM_LUBRequestLong(void)
{
    return limit_of_all("gex_AM_LUBRequestLong", long_limit(aq_job.limits.long_request, 0));
}

size_t gex_AM_LUBReplyLong(void)
{
    return limit_of_all("gex_AM_LUBReplyLong", long_limit(aq_job.limits.long_reply, 0));
}

size_t gex_AM_LUBRequestMedium(void)
{
    return limit_of_all("gex_AM_LUBRequestMedium", aq_job.limits.medium);
}

size_t gex_AM_LUBReplyMedium(void)
{
    return limit_of_all("gex_AM_LUBReplyMedium", aq_job.limits.medium);
}
