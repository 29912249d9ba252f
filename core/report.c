#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "../other/base/log.h"
#include "../other/base/settings.h"
#include "../other/base/settings_lists.h"
#include "event.h"
#include "job.h"
#include "window.h"

enum { TELLERS = 8 };

static struct {
    atomic_bool on;
    _Atomic(gex_Event_t) event;
    _Atomic int64_t room_to;
} waiting;

static void (*tellers[TELLERS])(void);
static unsigned teller_count;

void aq_report_wait(gex_Event_t event, int64_t room_to)
{
    atomic_store_explicit(&waiting.event, event, memory_order_relaxed);
    atomic_store_explicit(&waiting.room_to, room_to, memory_order_relaxed);
    atomic_store_explicit(&waiting.on, true, memory_order_release);
}

void aq_report_go_on(void)
{
    atomic_store_explicit(&waiting.on, false, memory_order_release);
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

static void tell_wait(void)
{
    const bool on = atomic_load_explicit(&waiting.on, memory_order_acquire);
    const int64_t room_to = atomic_load_explicit(&waiting.room_to, memory_order_relaxed);
    const gex_Event_t event = atomic_load_explicit(&waiting.event, memory_order_relaxed);
    char text[256];
    if (!on) {
        aq_log_notice("report: waits for nothing in the library, or for a condition of the client");
    } else if (room_to >= 0) {
        aq_log_notice("report: waits for room to send to rank %" PRId64, room_to);
    } else {
        describe_event(event, text, sizeof text);
        aq_log_notice("report: waits for an event (pending: %s)", text);
    }
}

static void on_report_signal(int number)
{
    const int saved = errno;
    (void)number;
    tell_wait();
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
