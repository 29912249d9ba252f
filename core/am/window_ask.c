// SPDX-License-Identifier: BSD-3-Clause
// The question of window_connect.h: the first request between two further endpoints asks
// (aq_path_between).
#include "window_ask.h"

#include "../endpoint/peer_link.h"
#include "../ground/fatal.h"
#include "../progress/progress.h"

aq_window_t *aq_window_use(gex_EP_Index_t endpoint)
{
    aq_window_t *window = aq_window_open(endpoint);
    if (window)
        aq_progress_serve_windows();
    return window;
}

aq_am_t aq_window_message(const aq_window_hello_t *hello)
{
    return (aq_am_t){.payload = hello,
                     .nbytes = sizeof *hello,
                     .category = AQ_AM_MEDIUM,
                     .handler = AQ_HANDLER_WINDOW,
                     .reply = hello->verdict != AQ_WINDOW_ASKS};
}

// Sends the question over endpoint 0. Returns false if there is no room now.
static bool send_question(uint32_t jobrank, const aq_window_hello_t *hello)
{
    const uintptr_t link = aq_job_link(jobrank);
    aq_conduit_t *conduit = aq_link_conduit(link);
    const aq_am_t am = aq_window_message(hello);
    const aq_status_t status = conduit->ops->am.send(conduit, aq_link_pointer(link), &am);
    if (status != AQ_OK && status != AQ_HANDLED && status != AQ_AGAIN)
        aq_fatal("sending to rank %u failed: %s", jobrank, aq_status_name(status));
    return status != AQ_AGAIN;
}

void aq_window_ask(aq_ep_pair_t pair, uint32_t jobrank)
{
    aq_window_t *window = aq_window_use(pair.from);
    aq_window_link_t *link = window ? aq_window_link(window, pair.to, jobrank) : NULL;
    const uint8_t index = (uint8_t)aq_link_index(aq_job_conduit_link(jobrank));
    if (!link || !window->conduits[index] ||
        atomic_exchange_explicit(&link->requested, 1, memory_order_relaxed))
        return;
    aq_window_hello_t hello = {.from = pair.from, .to = pair.to, .conduit = index};
    window->conduits[index]->ops->describe(window->conduits[index], hello.description);
    if (!send_question(jobrank, &hello))
        atomic_store_explicit(&link->requested, 0, memory_order_relaxed);
}
