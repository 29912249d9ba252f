// SPDX-License-Identifier: BSD-3-Clause
// Requests: their life, and the calls that wait for them.

#include "../../core/ground/fatal.h"
#include "../../core/progress/poll_loop.h"
#include "../../core/progress/progress.h"
#include "request.h"
#include "msg_check.h"

enum { BRIEF_POLLS = 4 }; // before a wait

gasnetx_Request_t aq_request_allocate(void)
{
    return aq_allocate(sizeof(struct gasnetx_request), "a request of a message");
}

void aq_request_free(gasnetx_Request_t request)
{
    aq_lock_take(&aq_msg.lock);
    request->next = aq_msg.free_requests;
    aq_msg.free_requests = request;
    aq_lock_drop(&aq_msg.lock);
}

aq_cookie_t aq_request_cookie(gasnetx_Request_t request, uint32_t jobrank)
{
    const aq_pending_op_t op = {.context = request, .rank = jobrank};
    aq_lock_take(&aq_msg.lock);
    const aq_cookie_t cookie = aq_cookies_add(&aq_msg.cookies, &op);
    aq_lock_drop(&aq_msg.lock);
    if (!cookie)
        aq_fatal("out of memory for a message between this rank and rank %u", jobrank);
    return cookie;
}

gasnetx_Request_t aq_request_of_cookie(uint32_t jobrank, aq_cookie_t cookie)
{
    aq_lock_take(&aq_msg.lock);
    const aq_pending_op_t *op = aq_cookies_find(&aq_msg.cookies, cookie, jobrank);
    gasnetx_Request_t request = op ? op->context : NULL;
    aq_lock_drop(&aq_msg.lock);
    return request;
}

bool aq_request_cookie_take(uint32_t jobrank, aq_cookie_t cookie)
{
    aq_pending_op_t op;
    aq_lock_take(&aq_msg.lock);
    const bool taken = aq_cookies_take(&aq_msg.cookies, cookie, jobrank, &op);
    aq_lock_drop(&aq_msg.lock);
    return taken;
}

void aq_request_complete(gasnetx_Request_t request)
{
    if (request->hooks) {
        request->hooks->complete(request);
        return;
    }
    atomic_store_explicit(&request->complete, true, memory_order_release);
    if (aq_threads)
        aq_progress_wake();
}

static bool is_complete(void *context)
{
    return aq_request_is_complete(context);
}

// The word that describes a wait for a request, for the observer.
static uint64_t wait_of(gasnetx_Request_t request)
{
    const aq_msg_call_t *call = &request->call;
    if (request->hooks || request->counts)
        return aq_wait_word(AQ_WAIT_RECEIVE, AQ_WAIT_NO_RANK);
    const uint32_t jobrank =
        call->rank == GASNETX_ANY_RANK ? AQ_WAIT_NO_RANK : aq_msg_jobrank(call->tm, call->rank);
    return aq_wait_word(call->is_send ? AQ_WAIT_SEND : AQ_WAIT_RECEIVE, jobrank);
}

// Polls a few times before it waits: most messages have arrived after a poll or two, which costs
// less than a turn of a wait.
void aq_request_await(gasnetx_Request_t request)
{
    for (unsigned i = 0; i < BRIEF_POLLS && !is_complete(request); i++)
        (void)aq_progress_poll();
    if (!is_complete(request))
        aq_progress_wait_until(is_complete, request, wait_of(request), NULL);
}

// Whether a request needs no wait: there is none, or it is a persistent one that has not begun.
static bool is_idle(gasnetx_Request_t request)
{
    return !request || !request->begun;
}

// Returns the outcome of a complete request, and ends the request unless it is persistent.
static void request_end(gasnetx_Request_t *request, gasnetx_msg_status_t *status)
{
    gasnetx_Request_t done = *request;
    if (status)
        *status = done->status;
    done->begun = false;
    if (done->call.persistent)
        return;
    *request = GASNETX_REQUEST_NULL;
    aq_request_free(done);
}

static int idle_end(gasnetx_msg_status_t *status)
{
    if (status)
        *status = (gasnetx_msg_status_t){0};
    return GASNET_OK;
}

int gasnetx_Request_Wait(gasnetx_Request_t *request, gasnetx_msg_status_t *status)
{
    aq_job_need("gasnetx_Request_Wait");
    if (is_idle(*request))
        return idle_end(status);
    aq_request_await(*request);
    request_end(request, status);
    return GASNET_OK;
}

int gasnetx_Request_Test(gasnetx_Request_t *request, gasnetx_msg_status_t *status)
{
    aq_job_need("gasnetx_Request_Test");
    if (is_idle(*request))
        return idle_end(status);
    if (!is_complete(*request))
        aq_poll_in_loop();
    if (!is_complete(*request))
        return GASNET_ERR_NOT_READY;
    request_end(request, status);
    return GASNET_OK;
}

// ---- requests of the client ----

int gasnetx_Request_Make(uint32_t count, gasnetx_Request_t *request)
{
    static const aq_msg_call_t none = {.tm = GEX_TM_INVALID};
    aq_job_need("gasnetx_Request_Make");
    *request = aq_request_new(&none);
    (*request)->begun = (*request)->counts = true;
    atomic_init(&(*request)->pending, count);
    if (!count)
        aq_request_complete(*request);
    return GASNET_OK;
}

// Changes the number of operations, unless the request is complete or has as many as `most`.
// Returns the number before, or 0: it is complete, or not one of the client's.
static uint32_t pending_change(gasnetx_Request_t request, int change, uint32_t most)
{
    if (!request || !request->counts)
        return 0;
    unsigned pending = atomic_load_explicit(&request->pending, memory_order_relaxed);
    while (pending && pending != most &&
           !atomic_compare_exchange_weak_explicit(&request->pending, &pending,
                                                  pending + (unsigned)change, memory_order_acq_rel,
                                                  memory_order_relaxed)) {
    }
    return pending;
}

static int pending_refuse(const char *call)
{
    return aq_msg_refuse(call, "the request is complete, or of another kind");
}

int gasnetx_Request_Add(gasnetx_Request_t request)
{
    static const char call[] = "gasnetx_Request_Add";
    const uint32_t before = pending_change(request, 1, UINT32_MAX);
    if (before == UINT32_MAX)
        return aq_msg_refuse(call, "the request has 4294967295 operations, and takes no more");
    return before ? GASNET_OK : pending_refuse(call);
}

int gasnetx_Request_Complete(gasnetx_Request_t request)
{
    const uint32_t before = pending_change(request, -1, 0);
    if (!before)
        return pending_refuse("gasnetx_Request_Complete");
    if (before == 1)
        aq_request_complete(request);
    return GASNET_OK;
}

// ---- several ----

int gasnetx_Request_WaitAll(gasnetx_Request_t *requests, size_t count, gasnetx_msg_status_t *status)
{
    const int code = aq_msg_check_requests("gasnetx_Request_WaitAll", count);
    if (code != GASNET_OK)
        return code;
    for (size_t i = 0; i < count; i++)
        gasnetx_Request_Wait(&requests[i], status ? &status[i] : NULL);
    return GASNET_OK;
}
