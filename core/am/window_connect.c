// SPDX-License-Identifier: BSD-3-Clause
// Connects two windows by a question and an answer between the receive sides of endpoint 0. The
// first request between two further endpoints starts it (aq_window_request_route).
#include "window_connect.h"

#include <string.h>

#include "../ground/fatal.h"
#include "../endpoint/peer_link.h"
#include "../progress/progress.h"
#include "am_send.h"

typedef enum verdict {
    VERDICT_NONE,      // of a question
    VERDICT_CONNECTED, // the description is that of the window
    VERDICT_ABSENT,    // there is no such endpoint: ask again later
    VERDICT_NEVER,     // that endpoint gets no window
} verdict_t;

// Question and answer, as they travel.
typedef struct hello {
    uint16_t from, to; // endpoints of the sender and of the receiver
    uint8_t conduit;   // index in aq_job.conduits
    uint8_t verdict;   // verdict_t
    uint8_t zero[2];
    char description[AQ_DESCRIPTION_BYTES];
} hello_t;

static aq_lock_t connect_lock;

aq_window_t *aq_window_use(gex_EP_Index_t endpoint)
{
    aq_window_t *window = aq_window_open(endpoint);
    if (window)
        aq_progress_serve_windows();
    return window;
}

static aq_am_t hello_message(const hello_t *hello)
{
    return (aq_am_t){.payload = hello,
                     .nbytes = sizeof *hello,
                     .category = AQ_AM_MEDIUM,
                     .handler = AQ_HANDLER_WINDOW,
                     .reply = hello->verdict != VERDICT_NONE};
}

void aq_window_ask(aq_route_t route, uint32_t jobrank)
{
    aq_window_t *window = aq_window_use(route.from);
    aq_window_link_t *link = window ? aq_window_link(window, route.to, jobrank) : NULL;
    const uint8_t index = (uint8_t)aq_link_index(aq_job_conduit_link(jobrank));
    if (!link || !window->conduits[index] ||
        atomic_exchange_explicit(&link->asked, 1, memory_order_relaxed))
        return;
    hello_t hello = {.from = route.from, .to = route.to, .conduit = index};
    window->conduits[index]->ops->describe(window->conduits[index], hello.description);
    const aq_am_t am = hello_message(&hello);
    if (aq_am_request(jobrank, &am, GEX_FLAG_IMMEDIATE))
        atomic_store_explicit(&link->asked, 0, memory_order_relaxed);
}

// Connects this window to the sender's, unless it is already. Returns the link, or 0 if the conduit
// cannot (logged).
static uintptr_t window_connect(aq_window_t *window, const hello_t *hello, uint32_t source)
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

static void check_hello(const hello_t *hello, uint32_t source, size_t nbytes, bool answer)
{
    const bool fits = nbytes == sizeof *hello && hello->from && hello->from < GASNET_MAXEPS &&
                      hello->to && hello->to < GASNET_MAXEPS &&
                      hello->conduit == aq_link_index(aq_job_conduit_link(source)) &&
                      hello->verdict <= VERDICT_NEVER && answer == (hello->verdict != VERDICT_NONE);
    if (!fits)
        aq_fatal("a message of rank %u about the window of endpoint %u is none: %zu bytes, "
                 "endpoint %u, conduit %u, verdict %u",
                 source, hello->from, nbytes, hello->to, hello->conduit, hello->verdict);
}

static verdict_t answer_hello(const hello_t *question, uint32_t source, char *description)
{
    const gex_EP_t ep = aq_endpoint_at(question->to);
    if (!ep || !ep->handlers)
        return VERDICT_ABSENT;
    aq_window_t *window = aq_window_use(question->to);
    if (!window || !window_connect(window, question, source))
        return VERDICT_NEVER;
    aq_conduit_t *conduit = window->conduits[question->conduit];
    conduit->ops->describe(conduit, description);
    return VERDICT_CONNECTED;
}

static void on_question(gex_Token_t token, const hello_t *question)
{
    hello_t answer = {.from = question->to, .to = question->from, .conduit = question->conduit};
    answer.verdict = (uint8_t)answer_hello(question, token->arrival->source, answer.description);
    aq_am_t am = hello_message(&answer);
    aq_am_reply(token, &am, 0);
}

static void on_answer(const hello_t *answer, uint32_t source)
{
    const aq_route_t route = {.from = answer->to, .to = answer->from};
    aq_window_link_t *between = aq_window_find_link(route, source);
    if (!between || !atomic_load_explicit(&between->asked, memory_order_relaxed))
        aq_fatal("rank %u has answered for the window of its endpoint %u, which endpoint %u did "
                 "not ask for",
                 source, answer->from, answer->to);
    if (answer->verdict == VERDICT_ABSENT)
        atomic_store_explicit(&between->asked, 0, memory_order_relaxed);
    if (answer->verdict != VERDICT_CONNECTED)
        return;
    aq_window_t *window = aq_window_open(route.from);
    const uintptr_t link = window_connect(window, answer, source);
    atomic_store_explicit(&between->ready, link, memory_order_release);
}

static void on_hello(gex_Token_t token, void *payload, size_t nbytes)
{
    const aq_arrival_t *arrival = token->arrival;
    hello_t hello = {0};
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
