// SPDX-License-Identifier: BSD-3-Clause
// Answers the question of window_ask.c, and connects the windows at both ends.
#include "window_connect.h"

#include <string.h>

#include "../ground/fatal.h"
#include "am_send.h"
#include "window_ask.h"

static aq_lock_t connect_lock;

// Connects this window to the sender's, unless it is already. Returns the link, or 0 if the conduit
// cannot (logged).
static uintptr_t window_connect(aq_window_t *window, const aq_window_hello_t *hello,
                                uint32_t source)
{
    aq_window_link_t *between = aq_window_link(window, hello->from, source);
    aq_conduit_t *conduit = window->conduits[hello->conduit];
    if (!between || !conduit)
        return 0;
    aq_lock_take(&connect_lock);
    uintptr_t link = atomic_load_explicit(&between->connected, memory_order_relaxed);
    const aq_peer_t peer = {
        .rank = source, .endpoint = hello->from, .description = hello->description};
    void *pointer;
    if (!link && conduit->ops->connect(conduit, &peer, &pointer) == AQ_OK) {
        link = (uintptr_t)pointer | hello->conduit;
        atomic_store_explicit(&between->connected, link, memory_order_release);
        if (!aq_conduit_can(conduit, AQ_NEEDS_SAME_PATH))
            atomic_store_explicit(&between->replies, link, memory_order_release);
    }
    aq_lock_drop(&connect_lock);
    return link;
}

static void check_hello(const aq_window_hello_t *hello, uint32_t source, size_t nbytes, bool answer)
{
    const bool fits =
        nbytes == sizeof *hello && hello->from && hello->from < GASNET_MAXEPS && hello->to &&
        hello->to < GASNET_MAXEPS && hello->conduit == aq_link_index(aq_job_conduit_link(source)) &&
        hello->verdict <= AQ_WINDOW_NEVER && answer == (hello->verdict != AQ_WINDOW_ASKS);
    if (!fits)
        aq_fatal("a message of rank %u about the window of endpoint %u is none: %zu bytes, "
                 "endpoint %u, conduit %u, verdict %u",
                 source, hello->from, nbytes, hello->to, hello->conduit, hello->verdict);
}

static aq_window_verdict_t answer_hello(const aq_window_hello_t *question, uint32_t source,
                                        char *description)
{
    const gex_EP_t ep = aq_endpoint_at(question->to);
    if (!ep || !ep->handlers)
        return AQ_WINDOW_ABSENT;
    aq_window_t *window = aq_window_use(question->to);
    if (!window || !window_connect(window, question, source))
        return AQ_WINDOW_NEVER;
    aq_conduit_t *conduit = window->conduits[question->conduit];
    conduit->ops->describe(conduit, description);
    return AQ_WINDOW_CONNECTED;
}

static void on_question(gex_Token_t token, const aq_window_hello_t *question)
{
    aq_window_hello_t answer = {
        .from = question->to, .to = question->from, .conduit = question->conduit};
    answer.verdict = (uint8_t)answer_hello(question, token->arrival->source, answer.description);
    aq_am_t am = aq_window_message(&answer);
    aq_am_reply(token, &am, 0);
}

static void on_answer(const aq_window_hello_t *answer, uint32_t source)
{
    const aq_ep_pair_t pair = {.from = answer->to, .to = answer->from};
    aq_window_link_t *between = aq_window_find_link(pair, source);
    if (!between || !atomic_load_explicit(&between->requested, memory_order_relaxed))
        aq_fatal("rank %u has answered for the window of its endpoint %u, which endpoint %u did "
                 "not ask for",
                 source, answer->from, answer->to);
    if (answer->verdict == AQ_WINDOW_ABSENT)
        atomic_store_explicit(&between->requested, 0, memory_order_relaxed);
    if (answer->verdict != AQ_WINDOW_CONNECTED)
        return;
    aq_window_t *window = aq_window_open(pair.from);
    const uintptr_t link = window_connect(window, answer, source);
    atomic_store_explicit(&between->ready, link, memory_order_release);
}

static void on_hello(gex_Token_t token, void *payload, size_t nbytes)
{
    const aq_arrival_t *arrival = token->arrival;
    aq_window_hello_t hello = {0};
    memcpy(&hello, payload, nbytes < sizeof hello ? nbytes : sizeof hello);
    check_hello(&hello, arrival->source, nbytes, arrival->reply);
    if (arrival->reply)
        on_answer(&hello, arrival->source);
    else
        on_question(token, &hello);
}

void aq_window_connect_start(void)
{
    aq_endpoint_internal(AQ_HANDLER_WINDOW, (gex_AM_Fn_t)on_hello,
                         GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQREP, 0, "connects windows");
}
