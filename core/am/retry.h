// SPDX-License-Identifier: BSD-3-Clause
// Operations of a conduit that may find no room: one loop for all of them waits and tries again.
#pragma once

#include <stdbool.h>

#include "../conduit.h"
#include "../gasnetex_core.h"
#include "../ground/path.h"

// What the calling thread may do until there is room.
typedef enum aq_retry_mode {
    AQ_RETRY_NEVER,   // nothing: return AQ_AGAIN to the caller
    AQ_RETRY_POLL,    // run handlers of requests and replies
    AQ_RETRY_REPLIES, // run handlers of replies only: the caller is the handler of a request
} aq_retry_mode_t;

// The mode of a call of the client with these flags.
static inline aq_retry_mode_t aq_retry_mode(gex_Flags_t flags, bool in_handler)
{
    if (flags & GEX_FLAG_IMMEDIATE)
        return AQ_RETRY_NEVER;
    return in_handler ? AQ_RETRY_REPLIES : AQ_RETRY_POLL;
}

// Calls an operation of a conduit and returns its status.
typedef aq_status_t aq_attempt_t(void *context);

// After a first attempt that returned AQ_AGAIN: polls and tries again until the result is not
// AQ_AGAIN, and returns that result. With AQ_RETRY_NEVER returns AQ_AGAIN at once. Counts for this
// process's endpoint that there was no room. jobrank is the peer, for the report of
// GASNET_REPORT_SIGNAL.
aq_status_t aq_retry(aq_attempt_t *attempt, void *context, aq_retry_mode_t mode,
                     gex_EP_Index_t endpoint, uint32_t jobrank) __attribute__((cold));

// Calls an operation, and retries it as aq_retry does.
static inline aq_status_t aq_try(aq_attempt_t *attempt, void *context, aq_retry_mode_t mode,
                                 gex_EP_Index_t endpoint, uint32_t jobrank)
{
    const aq_status_t status = attempt(context);
    return __builtin_expect(status != AQ_AGAIN, 1)
               ? status
               : aq_retry(attempt, context, mode, endpoint, jobrank);
}

// The rest of aq_native_rma, after a first attempt with this status.
aq_status_t aq_native_rma_rest(aq_path_t path, uint32_t jobrank, aq_rma_t *rma,
                               aq_retry_mode_t mode, aq_status_t status);

// Starts all pieces of a put or get with a job rank over a path whose conduit has the operation
// rma; *rma->pending counts the pieces that are not complete. Returns AQ_AGAIN if there is no room
// and mode is AQ_RETRY_NEVER, or AQ_ERR_ABSENT if the conduit does not reach this memory; then
// nothing was started. Otherwise nothing is left of *rma. Ends the job on any other failure.
static inline aq_status_t aq_native_rma(aq_path_t path, uint32_t jobrank, aq_rma_t *rma,
                                        aq_retry_mode_t mode)
{
    const aq_status_t status =
        rma->nbytes ? path.conduit->ops->rma.begin(path.conduit, path.link, rma) : AQ_OK;
    return __builtin_expect(status == AQ_OK && !rma->nbytes, 1)
               ? AQ_OK
               : aq_native_rma_rest(path, jobrank, rma, mode, status);
}
