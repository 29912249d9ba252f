// SPDX-License-Identifier: BSD-3-Clause
// The thread modes, the state of each client thread, and checks of the context of a call. client.c
// sets the mode at init; calls that start or await operations ask for the state.
#include "thread.h"

#include <stdlib.h>
#include <string.h>

#include "../../other/base/settings/settings.h"
#include "../ground/fatal.h"
#include "fault_stack.h"
#include "thread_life.h"

_Thread_local unsigned aq_thread_handler_depth;
_Thread_local unsigned aq_thread_held_locks;

static _Thread_local aq_thread_t *self __attribute__((tls_model("initial-exec")));
static atomic_ulong live_threads;
static void (*on_second)(void);
static bool one_thread = true;

bool aq_thread_mode(const char *word)
{
    static const char *const words[] = {"seq", "parsync", "par"};
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(word, words[i]) == 0) {
            aq_threads = i == 2;
            one_thread = i == 0;
            return true;
        }
    }
    return false;
}

void aq_thread_expect_helpers(void)
{
    const bool helpers = aq_settings_bool(AQ_SET_RCV_THREAD) || aq_settings_bool(AQ_SET_SND_THREAD);
    aq_threads = aq_threads || (!one_thread && helpers);
}

uint64_t aq_thread_limit(void)
{
    return one_thread ? 1 : (uint64_t)aq_settings_int(AQ_SET_MAX_THREADS);
}

static void end_thread(void)
{
    aq_thread_t *thread = self;
    aq_outstanding_leave(thread->outstanding);
    // Implicit operations that the thread did not wait for may still complete into the record. Then
    // the record stays out of the pool.
    if (aq_event_idle(thread->nbi, ~0u))
        aq_event_free(thread->nbi);
    aq_srcdesc_free(thread->descriptor);
    free(thread);
    self = NULL;
    atomic_fetch_sub_explicit(&live_threads, 1, memory_order_relaxed);
}

static aq_thread_t *make_thread(void)
{
    static _Thread_local aq_thread_end_t end = {.run = end_thread};
    unsigned long live = atomic_fetch_add_explicit(&live_threads, 1, memory_order_relaxed) + 1;
    if (live > aq_thread_limit() && !one_thread)
        aq_fatal(
            "%lu client threads are in use, GASNET_MAX_THREADS allows %lu: raise it or end threads",
            live, (unsigned long)aq_thread_limit());
    if (live > 1 && on_second)
        on_second();
    aq_thread_t *thread = aq_allocate_zeroed(1, sizeof *thread, "the state of a thread");
    thread->nbi = aq_event_new();
    thread->outstanding = aq_outstanding_take(thread->nbi);
    aq_thread_at_end(&end);
    aq_fault_stack_give();
    self = thread;
    return thread;
}

void aq_thread_on_second(void (*second)(void))
{
    on_second = second;
}

unsigned long aq_thread_live(void)
{
    return atomic_load_explicit(&live_threads, memory_order_relaxed);
}

aq_thread_t *aq_thread_self(void)
{
    return self ? self : make_thread();
}

aq_event_t *aq_thread_nbi(void)
{
    aq_thread_t *thread = aq_thread_self();
    return thread->region ? thread->region : thread->nbi;
}

static void check_locks_and_prepared(const char *call, const char *kind)
{
    AQ_CHECK(!aq_thread_held_locks,
             "%s%s is not allowed with a handler-safe lock held (this thread holds %u)", call, kind,
             aq_thread_held_locks);
    AQ_CHECK(!self || !self->prepared,
             "%s%s is not allowed between a Prepare and its Commit or Cancel", call, kind);
}

void aq_thread_check_context(const char *call, const char *kind)
{
    AQ_CHECK(!aq_thread_handler_depth, "%s%s is not allowed in a handler", call, kind);
    check_locks_and_prepared(call, kind);
}

void aq_thread_check_reply_context(const char *call, const char *kind)
{
    AQ_CHECK(aq_thread_handler_depth,
             "%s%s outside of a handler: only the handler of a request may reply", call, kind);
    check_locks_and_prepared(call, kind);
}
