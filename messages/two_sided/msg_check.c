// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments.
#include "../../core/ground/errors.h"
#include "msg_check.h"

int aq_msg_refuse(const char *call, const char *why)
{
    return aq_refuse(GASNET_ERR_BAD_ARG, "%s: %s", call, why);
}

static int check_rank(const char *call, gex_TM_t tm, gex_Rank_t rank, bool is_receive)
{
    const gex_Rank_t size = tm == GEX_TM_INVALID ? aq_job_present() : gex_TM_QuerySize(tm);
    const bool is_valid = rank < size || (is_receive && rank == GASNETX_ANY_RANK);
    return is_valid ? GASNET_OK
                    : aq_refuse(GASNET_ERR_BAD_ARG, "%s: rank %u is not below the %s's size %u",
                                call, rank, tm == GEX_TM_INVALID ? "job" : "team", size);
}

int aq_msg_check(const char *call, gex_TM_t tm, gex_Rank_t rank, uint32_t tag, bool is_receive)
{
    aq_job_admit(call);
    if (tm == GEX_TM_INVALID ? !is_receive : aq_team_of(tm)->pair)
        return aq_msg_refuse(call, "messages go to a rank of a team, and this is none");
    if (tag > GASNETX_TAG_MAX && !(is_receive && tag == GASNETX_ANY_TAG))
        return aq_msg_refuse(call, "tags are 0 to GASNETX_TAG_MAX");
    return check_rank(call, tm, rank, is_receive);
}

int aq_msg_refuse_bytes(const char *call, size_t nbytes)
{
    return aq_refuse(GASNET_ERR_BAD_ARG,
                     "%s: a message of %zu bytes is more than memory can hold (%lu bytes)", call,
                     nbytes, AQ_ADDRESS_SPACE);
}

int aq_msg_check_requests(const char *call, size_t count)
{
    return aq_bounds_product_fits(count, sizeof(gasnetx_Request_t))
               ? GASNET_OK
               : aq_msg_refuse(call, "memory cannot hold an array of so many requests");
}
