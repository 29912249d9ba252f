// SPDX-License-Identifier: BSD-3-Clause
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // gettid
#endif
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "../other/base/clock.h"
#include "../other/base/log.h"
#include "../other/base/minmax.h"
#include "../other/base/own_process.h"
#include "../other/base/probes.h"
#include "../other/base/settings.h"
#include "../other/base/settings_lists.h"
#include "counters.h"
#include "event.h"
#include "fault_stack.h"
#include "job.h"
#include "rank_head.h"
#include "thread_life.h"
#include "trace.h"
#include "window.h"

enum { TELLERS = 8 };

_Thread_local bool aq_report_unmarked;
_Thread_local gex_Event_t aq_report_event;
static _Thread_local aq_shown_thread_t *own __attribute__((tls_model("initial-exec")));
static _Thread_local gex_Event_t own_event __attribute__((tls_model("initial-exec")));

// For the trace: when the wait of this thread began; 0: it is not traced.
static _Thread_local uint64_t wait_begin __attribute__((tls_model("initial-exec")));

static void (*tellers[TELLERS])(void);
static unsigned teller_count;
static void no_stack(void) {}
static void (*tell_stack)(void) = no_stack;
static int report_signal;

// ---- what this thread shows ----

static inline void own_set_wait(uint64_t what)
{
    atomic_store_explicit(&own->wait, what, memory_order_relaxed);
}

// At its end, since another thread may use the place.
static void own_leave(void)
{
    if (own) {
        own_set_wait(AQ_WAIT_NOTHING);
        atomic_store_explicit(&own->tid, 0, memory_order_relaxed);
    }
    own = NULL;
}

static __attribute__((noinline, cold)) void own_find(void)
{
    static _Thread_local aq_thread_end_t end = {.run = own_leave};
    own = &aq_rank_head()->thread[(aq_thread_number() - 1) % AQ_SHOWN_THREADS];
    atomic_store_explicit(&own->tid, (uint32_t)gettid(), memory_order_relaxed);
    aq_thread_at_end(&end);
    aq_fault_stack_give();
}

static uint64_t pending_of(const struct gex_event_part *part)
{
    uint64_t all = 0;
    for (unsigned i = AQ_PART_GET; i < AQ_PART_COUNT; i++) {
        const unsigned pending = atomic_load_explicit(&part[i].pending, memory_order_relaxed);
        all |= (uint64_t)aq_min(pending, (unsigned)AQ_PENDING_MOST)
               << AQ_PENDING_BITS * (i - AQ_PART_GET);
    }
    return all;
}
_Static_assert(AQ_PART_COUNT - AQ_PART_GET == (int)AQ_PENDING_KINDS, "each kind has its bits");

static void event_show(void)
{
    const struct gex_event_part *part = own_event - own_event->index;
    const unsigned other = atomic_load_explicit(&part[AQ_PART_OTHER].pending, memory_order_relaxed);
    atomic_store_explicit(&own->pending, pending_of(part), memory_order_relaxed);
    atomic_store_explicit(&own->team, other ? aq_event_note_team(part) : 0, memory_order_relaxed);
    atomic_store_explicit(&own->call, other ? aq_event_note_call(part) : 0, memory_order_relaxed);
    if (other)
        own_set_wait(aq_wait_word(AQ_WAIT_COLLECTIVE, 0));
}

void aq_report_wait(uint64_t what, gex_Event_t event)
{
    if (__builtin_expect(!own, 0))
        own_find();
    aq_probe_wait_start(aq_job.rank, (uint32_t)(what >> 32), (uint32_t)what);
    wait_begin = aq_trace_in_wait ? 0 : aq_trace_begin(AQ_TRACE_WAIT);
    own_event = event;
    own_set_wait(what);
    if (__builtin_expect(aq_report_unmarked, 0) && event) // the first turn has lasted
        event_show();
}

static __attribute__((noinline, cold)) void trace_wait_end(void)
{
    const uint64_t what = atomic_load_explicit(&own->wait, memory_order_relaxed);
    const bool room = what >> 32 == AQ_WAIT_ROOM;
    aq_trace_waited(wait_begin, room ? (uint32_t)what : AQ_OBSERVED_NO_PEER);
    wait_begin = 0;
}

// A wait that has lasted is over. What follows is no longer shown as a part of it.
static __attribute__((noinline, cold)) void count_wait(aq_shown_thread_t *mine, uint64_t since)
{
    const uint64_t what = atomic_load_explicit(&mine->wait, memory_order_relaxed);
    atomic_store_explicit(&mine->since, 0, memory_order_relaxed);
    aq_count_own_add(AQ_OWN_WAIT_NS + (unsigned)(what >> 32), aq_clock_ns() - since);
}

void aq_report_go_on(void)
{
    aq_shown_thread_t *mine = own;
    const uint64_t since = atomic_load_explicit(&mine->since, memory_order_relaxed);
    if (__builtin_expect(wait_begin != 0, 0))
        trace_wait_end();
    aq_probe_wait_end();
    if (__builtin_expect(since != 0, 0))
        count_wait(mine, since);
    atomic_store_explicit(&mine->wait, AQ_WAIT_NOTHING, memory_order_relaxed);
    aq_report_unmarked = false;
}

void aq_report_loops(void)
{
    if (__builtin_expect(!own, 0))
        own_find();
    const uint32_t loops = atomic_load_explicit(&own->loops, memory_order_relaxed);
    atomic_store_explicit(&own->loops, loops + 1, memory_order_relaxed);
}

// ---- a wait that lasts ----

// The event of a wait for several may be another one than before, and of another kind. A wait for
// room inside of that wait stays what it is.
static void unmarked_update(void)
{
    const uint64_t what = atomic_load_explicit(&own->wait, memory_order_relaxed);
    if (what >> 32 != AQ_WAIT_EVENT && what >> 32 != AQ_WAIT_COLLECTIVE)
        return;
    own_event = aq_report_event;
    own_set_wait(aq_wait_word(AQ_WAIT_EVENT, 0));
}

void aq_report_lasts(uint64_t now)
{
    if (__builtin_expect(!own, 0))
        own_find();
    if (atomic_load_explicit(&own->wait, memory_order_relaxed) == AQ_WAIT_NOTHING) {
        aq_report_wait(aq_wait_word(aq_report_event ? AQ_WAIT_EVENT : AQ_WAIT_CONDITION, 0), NULL);
        aq_report_unmarked = true;
    }
    if (aq_report_event)
        unmarked_update();
    if (own_event)
        event_show();
    else
        atomic_store_explicit(&own->pending, 0, memory_order_relaxed);
    atomic_store_explicit(&own->polled, now, memory_order_relaxed);
    if (!atomic_load_explicit(&own->since, memory_order_relaxed))
        atomic_store_explicit(&own->since, now, memory_order_release);
}

// ---- the report ----

void aq_report_add(void (*tell)(void))
{
    if (teller_count < TELLERS)
        tellers[teller_count++] = tell;
}

void aq_report_set_stack(void (*tell)(void))
{
    tell_stack = tell;
}

// "put: 2, AM: 1": what is pending.
static void pending_describe(uint64_t pending, char *text, size_t room)
{
    static const char *const names[AQ_PENDING_KINDS] = {
        "get", "put", "AM", "local completion", "RMW", "barrier or other"};
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < AQ_PENDING_KINDS && used < room; i++) {
        const unsigned count = pending >> AQ_PENDING_BITS * i & AQ_PENDING_MOST;
        if (count)
            used += (size_t)snprintf(text + used, room - used, "%s%s: %u", used ? ", " : "",
                                     names[i], count);
    }
}

static void tell_wait(unsigned kind, uint32_t number, uint64_t pending)
{
    char text[256];
    pending_describe(pending, text, sizeof text);
    if (kind == AQ_WAIT_ROOM)
        aq_log_notice("report: waits for room to send to rank %" PRIu32, number);
    else if ((kind == AQ_WAIT_RECEIVE || kind == AQ_WAIT_SEND) && number != AQ_WAIT_NO_RANK)
        aq_log_notice("report: waits for a message %s rank %" PRIu32 " (two sides)",
                      kind == AQ_WAIT_SEND ? "to" : "from", number);
    else if (kind == AQ_WAIT_RANK)
        aq_log_notice("report: waits for an answer of rank %" PRIu32, number);
    else if (kind == AQ_WAIT_CONDITION)
        aq_log_notice("report: waits for a condition of the client");
    else
        aq_log_notice("report: waits for an event (pending: %s)", text);
}

// Returns whether the thread of this place waits.
static bool tell_thread(const aq_shown_thread_t *thread)
{
    const uint64_t wait = atomic_load_explicit(&thread->wait, memory_order_relaxed);
    if (wait != AQ_WAIT_NOTHING)
        tell_wait((unsigned)(wait >> 32), (uint32_t)wait,
                  atomic_load_explicit(&thread->pending, memory_order_relaxed));
    return wait != AQ_WAIT_NOTHING;
}

static void tell_waits(void)
{
    const aq_rank_head_t *head = aq_rank_head();
    unsigned on = 0;
    for (unsigned i = 0; i < AQ_SHOWN_THREADS; i++)
        on += tell_thread(&head->thread[i]);
    if (!on)
        aq_log_notice("report: waits for nothing in the library, or for a condition of the client");
}

static void report_print(void)
{
    tell_waits();
    for (unsigned i = 0; i < teller_count; i++)
        tellers[i]();
    for (unsigned i = 0; i < aq_job.conduit_count; i++)
        if (aq_job.conduits[i]->ops->dump_state)
            aq_job.conduits[i]->ops->dump_state(aq_job.conduits[i]);
    aq_window_dump_state();
}

// A reader of the memory file asks for a stack there.
static void on_report_signal(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    (void)number;
    (void)context;
    if (!aq_own_process())
        return;
    if (info->si_code == SI_QUEUE && info->si_value.sival_int == AQ_STACK_ASKED)
        tell_stack();
    else
        report_print();
    errno = saved;
}

void aq_report_start(void)
{
    const char *list = aq_settings_text(AQ_SET_REPORT_SIGNAL);
    const struct sigaction action = {.sa_sigaction = on_report_signal,
                                     .sa_flags = SA_RESTART | SA_SIGINFO};
    struct sigaction old;
    for (int number; (number = aq_settings_next_signal(&list)) > 0;)
        if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL &&
            sigaction(number, &action, NULL) == 0 && !report_signal)
            report_signal = number;
}

int aq_report_signal(void)
{
    return report_signal;
}

bool aq_report_has_signal(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_sigaction == on_report_signal;
}
