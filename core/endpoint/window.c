// SPDX-License-Identifier: BSD-3-Clause
// Opens windows and their links, and polls them for progress.c. window_ask.c opens a window when
// its endpoint first communicates.
#include "window.h"

#include <stdlib.h>
#include <string.h>

#include "../ground/fatal.h"

_Atomic(aq_window_t *) aq_windows[GASNET_MAXEPS];
_Thread_local aq_window_t *aq_window_own;

// The open windows in the order of their opening. An entry is written before the count.
static aq_window_t *opened[GASNET_MAXEPS];
static atomic_uint opened_count;
static aq_lock_t window_lock;

bool aq_window_any(void)
{
    return atomic_load_explicit(&opened_count, memory_order_acquire);
}

static bool window_is_offered(void)
{
    bool any = false;
    for (unsigned i = 0; i < aq_job.conduit_count; i++)
        any |= aq_job.conduits[i]->ops->open_window != NULL;
    return any;
}

static void window_open_conduits(aq_window_t *window)
{
    window->whole = true;
    for (unsigned i = 0; i < aq_job.conduit_count; i++) {
        aq_conduit_t *conduit = aq_job.conduits[i];
        if (!conduit->ops->open_window ||
            conduit->ops->open_window(conduit, window->endpoint, &window->conduits[i]) != AQ_OK)
            window->conduits[i] = NULL;
        window->whole &= window->conduits[i] != NULL;
    }
}

// With the lock held. A window that no conduit could open stays, so that it is not tried again.
static aq_window_t *window_new(gex_EP_Index_t endpoint)
{
    aq_window_t *window = aligned_alloc(AQ_CACHE_LINE, sizeof *window);
    if (!window) {
        aq_log_error("out of memory for the window of endpoint %u (%zu bytes)", endpoint,
                     sizeof *window);
        return NULL;
    }
    memset(window, 0, sizeof *window);
    window->endpoint = endpoint;
    window_open_conduits(window);
    const unsigned count = atomic_load_explicit(&opened_count, memory_order_relaxed);
    opened[count] = window;
    atomic_store_explicit(&opened_count, count + 1, memory_order_release);
    atomic_store_explicit(&aq_windows[endpoint], window, memory_order_release);
    return window;
}

aq_window_t *aq_window_open(gex_EP_Index_t endpoint)
{
    aq_window_t *window = atomic_load_explicit(&aq_windows[endpoint], memory_order_acquire);
    if (window || !window_is_offered())
        return window;
    aq_lock_take(&window_lock);
    window = atomic_load_explicit(&aq_windows[endpoint], memory_order_relaxed);
    if (!window)
        window = window_new(endpoint);
    aq_lock_drop(&window_lock);
    return window;
}

aq_window_link_t *aq_window_link(aq_window_t *window, gex_EP_Index_t to, uint32_t jobrank)
{
    aq_lock_take(&window_lock);
    aq_window_link_t *links = atomic_load_explicit(&window->links[to], memory_order_relaxed);
    if (!links) {
        links = calloc(aq_job.size, sizeof *links);
        atomic_store_explicit(&window->links[to], links, memory_order_release);
    }
    aq_lock_drop(&window_lock);
    if (!links)
        aq_log_error("out of memory for the links of endpoint %u to %u ranks", window->endpoint,
                     aq_job.size);
    return links ? &links[jobrank] : NULL;
}

unsigned aq_window_poll(const aq_window_t *window, unsigned what)
{
    unsigned done = 0;
    for (unsigned i = 0; i < AQ_MAX_CONDUITS; i++) {
        aq_conduit_t *conduit = window->conduits[i];
        if (conduit)
            done += conduit->ops->am.poll(conduit, what);
    }
    return done;
}

// A thread that waits in a handler may wait for room that any window frees, so it polls all.
static unsigned poll_all_windows(unsigned what)
{
    const unsigned count = atomic_load_explicit(&opened_count, memory_order_acquire);
    unsigned done = 0;
    for (unsigned i = 0; i < count; i++)
        done += aq_window_poll(opened[i], what);
    return done;
}

// Whether a bound thread has polled the window since another thread last looked here.
static bool window_is_attended(aq_window_t *window)
{
    const unsigned count = atomic_load_explicit(&window->attended, memory_order_relaxed);
    if (count == atomic_load_explicit(&window->seen, memory_order_relaxed))
        return false;
    atomic_store_explicit(&window->seen, count, memory_order_relaxed);
    return true;
}

unsigned aq_window_poll_conduit(unsigned index, unsigned what)
{
    const unsigned count = atomic_load_explicit(&opened_count, memory_order_acquire);
    unsigned done = 0;
    for (unsigned i = 0; i < count; i++) {
        aq_conduit_t *conduit = opened[i]->conduits[index];
        if (conduit)
            done += conduit->ops->am.poll(conduit, what);
    }
    return done;
}

unsigned aq_window_poll_others(unsigned what)
{
    static _Thread_local unsigned turn __attribute__((tls_model("initial-exec")));
    const unsigned count = atomic_load_explicit(&opened_count, memory_order_acquire);
    if (!count)
        return 0;
    if (!(what & AQ_POLL_REQUESTS))
        return poll_all_windows(what);
    aq_window_t *window = opened[turn++ % count];
    return window == aq_window_own || window_is_attended(window) ? 0 : aq_window_poll(window, what);
}

size_t aq_window_memory_bytes(void)
{
    const unsigned count = atomic_load_explicit(&opened_count, memory_order_acquire);
    size_t sum = 0;
    for (unsigned i = 0; i < count * AQ_MAX_CONDUITS; i++) {
        aq_conduit_t *conduit = opened[i / AQ_MAX_CONDUITS]->conduits[i % AQ_MAX_CONDUITS];
        if (conduit && conduit->ops->report.memory_bytes)
            sum += conduit->ops->report.memory_bytes(conduit);
    }
    return sum;
}

void aq_window_dump_state(void)
{
    const unsigned count = atomic_load_explicit(&opened_count, memory_order_acquire);
    for (unsigned i = 0; i < count * AQ_MAX_CONDUITS; i++) {
        aq_conduit_t *conduit = opened[i / AQ_MAX_CONDUITS]->conduits[i % AQ_MAX_CONDUITS];
        if (!conduit || !conduit->ops->report.dump_state)
            continue;
        aq_log_notice("report: window of endpoint %u:", conduit->endpoint);
        conduit->ops->report.dump_state(conduit);
    }
}
