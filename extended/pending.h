// Operations over active messages that wait for the answer of a peer. What the request carries, and
// the answer brings back, is a cookie (core/cookie.h): no address of the initiator ever travels.
#ifndef AQ_PENDING_H
#define AQ_PENDING_H

#include "../core/cookie.h"
#include "../core/event.h"
#include "../core/gasnetex_core.h"

// What was begun; an answer to something else does not complete it.
typedef enum aq_pending_kind {
    AQ_PENDING_PUT, // contiguous or not
    AQ_PENDING_GET,
    AQ_PENDING_ATOMIC,
    AQ_PENDING_FETCH, // an atomic whose old value is wanted
    AQ_PENDING_VIS_GET,
    AQ_PENDING_MEMSET
} aq_pending_kind_t;

// Before a request is sent to a job rank: notes what its answer is for. context: the part of the
// event to end, or what the caller has. dest: where the nbytes of the answer go. Ends the job when
// there is no memory. Any thread; does not block.
aq_cookie_t aq_pending_add(aq_pending_kind_t kind, uint32_t rank, void *context, void *dest,
                           size_t nbytes);

// The request was not sent after all.
void aq_pending_cancel(aq_cookie_t cookie, uint32_t rank);

// In the handler of an answer: what it is for. Ends the job when the peer that has sent it has no
// such answer to give. Any thread; does not block.
aq_pending_op_t aq_pending_end(aq_pending_kind_t kind, gex_Token_t token, aq_cookie_t cookie);

// The same where an answer of nbytes is expected to bring as many as were asked for.
aq_pending_op_t aq_pending_end_sized(aq_pending_kind_t kind, gex_Token_t token, aq_cookie_t cookie,
                                     size_t nbytes);

// "a get", with the article.
const char *aq_pending_name(aq_pending_kind_t kind);

// At the target: ends the job, with the name of the peer, unless these bytes are in a segment of
// this process.
void aq_pending_check_target(aq_pending_kind_t kind, gex_Token_t token, const void *addr,
                             size_t nbytes);

#endif
