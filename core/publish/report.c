// SPDX-License-Identifier: BSD-3-Clause
// Prints the report in the handler of GASNET_REPORT_SIGNAL: the waits of all threads, then what
// upper layers and conduits add. client.c installs the handler at init.
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "../../other/base/log/log.h"
#include "../../other/base/system/own_process.h"
#include "../../other/base/settings/settings.h"
#include "../../other/base/settings/settings_lists.h"
#include "../state/job.h"
#include "../record/rank_head.h"
#include "../endpoint/window.h"

enum { TELLERS = 8 };

static void (*tellers[TELLERS])(void);
static unsigned teller_count;
static void no_stack(void) {}
static void (*tell_stack)(void) = no_stack;
static int report_signal;

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
static void pending_describe(uint64_t pending, char *text, size_t size)
{
    static const char *const names[AQ_PENDING_KINDS] = {
        "get", "put", "AM", "local completion", "RMW", "barrier or other"};
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < AQ_PENDING_KINDS && used < size; i++) {
        const unsigned count = pending >> AQ_PENDING_BITS * i & AQ_PENDING_MAX;
        if (count)
            used += (size_t)snprintf(text + used, size - used, "%s%s: %u", used ? ", " : "",
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
        if (aq_job.conduits[i]->ops->report.dump_state)
            aq_job.conduits[i]->ops->report.dump_state(aq_job.conduits[i]);
    aq_window_dump_state();
}

// Writes the stack if a reader of the memory file has asked for it; otherwise prints the report.
static void on_report_signal(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    (void)number;
    (void)context;
    if (!aq_own_process())
        return;
    if (info->si_code == SI_QUEUE && info->si_value.sival_int == AQ_STACK_REQUEST)
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
