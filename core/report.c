#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "../other/base/log.h"
#include "../other/base/probes.h"
#include "../other/base/settings.h"
#include "../other/base/settings_lists.h"
#include "event.h"
#include "job.h"
#include "thread_life.h"
#include "window.h"

enum {
    TELLERS = 8,
    WAITS = 64, // further threads share the places of the first ones
};

// What a thread waits for; each in a cache line of its own. Never freed: a handler of a signal
// reads it.
typedef struct report_wait {
    _Alignas(64) atomic_bool on;
    _Atomic(gex_Event_t) event;
    _Atomic int64_t room_to;
} report_wait_t;

static report_wait_t waits[WAITS];

static void (*tellers[TELLERS])(void);
static unsigned teller_count;

// Returns the place of this thread.
static report_wait_t *own_wait(void)
{
    static _Thread_local report_wait_t *own __attribute__((tls_model("initial-exec")));
    if (!own)
        own = &waits[aq_thread_number() % WAITS];
    return own;
}

void aq_report_wait(gex_Event_t event, int64_t room_to)
{
    report_wait_t *wait = own_wait();
    aq_probe_wait_start(aq_job.rank, room_to);
    atomic_store_explicit(&wait->event, event, memory_order_relaxed);
    atomic_store_explicit(&wait->room_to, room_to, memory_order_relaxed);
    atomic_store_explicit(&wait->on, true, memory_order_release);
}

void aq_report_go_on(void)
{
    aq_probe_wait_end();
    atomic_store_explicit(&own_wait()->on, false, memory_order_release);
}

void aq_report_add(void (*tell)(void))
{
    if (teller_count < TELLERS)
        tellers[teller_count++] = tell;
}

// "put 2, other 1": what is pending in the record of an event.
static void describe_event(gex_Event_t event, char *text, size_t room)
{
    static const char *const names[AQ_PART_COUNT] = {
        "", "get", "put", "AM", "local completion", "RMW", "barrier or other"};
    const struct gex_event_part *part = event - event->index;
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 1; i < AQ_PART_COUNT && used < room; i++) {
        const unsigned pending = atomic_load_explicit(&part[i].pending, memory_order_relaxed);
        if (pending)
            used += (size_t)snprintf(text + used, room - used, "%s%s: %u", used ? ", " : "",
                                     names[i], pending);
    }
}

// Returns whether the thread of this place waits.
static bool tell_wait(const report_wait_t *wait)
{
    const bool on = atomic_load_explicit(&wait->on, memory_order_acquire);
    const int64_t room_to = atomic_load_explicit(&wait->room_to, memory_order_relaxed);
    const gex_Event_t event = atomic_load_explicit(&wait->event, memory_order_relaxed);
    char text[256];
    if (on && room_to >= 0) {
        aq_log_notice("report: waits for room to send to rank %" PRId64, room_to);
    } else if (on) {
        describe_event(event, text, sizeof text);
        aq_log_notice("report: waits for an event (pending: %s)", text);
    }
    return on;
}

static void tell_waits(void)
{
    unsigned on = 0;
    for (unsigned i = 0; i < WAITS; i++)
        on += tell_wait(&waits[i]);
    if (!on)
        aq_log_notice("report: waits for nothing in the library, or for a condition of the client");
}

static void on_report_signal(int number)
{
    const int saved = errno;
    (void)number;
    tell_waits();
    for (unsigned i = 0; i < teller_count; i++)
        tellers[i]();
    for (unsigned i = 0; i < aq_job.conduit_count; i++)
        if (aq_job.conduits[i]->ops->dump_state)
            aq_job.conduits[i]->ops->dump_state(aq_job.conduits[i]);
    aq_window_dump_state();
    errno = saved;
}

void aq_report_start(void)
{
    const char *list = aq_settings_text(AQ_SET_REPORT_SIGNAL);
    const struct sigaction action = {.sa_handler = on_report_signal, .sa_flags = SA_RESTART};
    struct sigaction old;
    for (int number; (number = aq_settings_next_signal(&list)) > 0;)
        if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(number, &action, NULL);
}

bool aq_report_has_signal(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == on_report_signal;
}
