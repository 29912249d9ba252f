// SPDX-License-Identifier: BSD-3-Clause
// Checks of the arguments of calls.
#pragma once

#include "msg_state.h"

// Checks the arguments of a call. Returns GASNET_OK, or GASNET_ERR_BAD_ARG, which is logged if the
// client has asked for verbose errors.
int aq_msg_check(const char *call, gex_TM_t tm, gex_Rank_t rank, uint32_t tag, bool is_receive);
int aq_msg_check_requests(const char *call, size_t count); // of an array of requests
int aq_msg_refuse_bytes(const char *call, size_t nbytes);
// As aq_msg_check, for the length of a send.
static inline int aq_msg_check_bytes(const char *call, size_t nbytes)
{
    return __builtin_expect(nbytes > AQ_ADDRESS_SPACE, 0) ? aq_msg_refuse_bytes(call, nbytes)
                                                          : GASNET_OK;
}

// Returns GASNET_ERR_BAD_ARG, and logs the reason if the client has asked for verbose errors.
int aq_msg_refuse(const char *call, const char *why);
