// SPDX-License-Identifier: BSD-3-Clause
// Samples the clock of rank 0 at init and later, and passes offset and drift to the other ranks of
// this host. client.c starts it; trace_output.c converts times with it.
#include "trace_clock.h"

#include <stdbool.h>

#include "../../other/base/minmax.h"
#include "../am/am_args.h"
#include "../am/am_send.h"
#include "../ground/arg64.h"
#include "../ground/lock.h"
#include "../progress/progress.h"
#include "../record/trace.h"
#include "../am/trace_message.h"
#include "../am/am_answer.h"

enum { SECOND = 1000000000 };

enum {
    FIRST_ASKS = 8,           // questions at init
    PAUSE_NS = 10000000,      // before the next question; doubles each time
    PAUSE_NS_MAX = 100000000, // limit of the pause, which grows by as much
    HOSTS_OF_PAUSE = 100,     // with so many further hosts
    OTHERS_NS = 1000000000,   // for which rank 0 waits for these questions of other hosts
};

static aq_samples_t samples;   // of the first rank of another host
static aq_trace_clock_t known; // offset 0: of the first host, and as long as nothing is known
static uint64_t told_at;       // when the first rank of this host told this one; 0: never
static aq_lock_t lock;         // of these
static atomic_uint answers;    // answers that have arrived
static atomic_uint first_asks; // first questions that rank 0 has answered
static bool asking;            // the answer has not arrived yet
static uint64_t best_error;    // of the answers to the first questions

static bool is_first_of_host(void)
{
    return aq_job.host.my_group != 0 && aq_job.host.my_index == 0;
}

aq_trace_clock_t aq_trace_clock_now(void)
{
    const uint64_t now = aq_trace_now();
    aq_lock_take(&lock);
    aq_trace_clock_t clock = known;
    if (samples.count)
        clock.error_ns = aq_samples_error(&samples, now);
    else if (told_at && now > told_at)
        clock.error_ns += (now - told_at) * AQ_SLEW_PPM / 1000000;
    aq_lock_drop(&lock);
    return clock;
}

// ---- messages ----

static bool ask(bool first, gex_Flags_t flags)
{
    const uint64_t now = aq_trace_now();
    const int32_t args[] = {first, aq_high(now), aq_low(now)};
    return aq_am_request_short(0, AQ_HANDLER_CLOCK_ASK, 3, args, flags) == 0;
}

static void on_ask(gex_Token_t token, int32_t first, int32_t high, int32_t low)
{
    const uint64_t now = aq_trace_now();
    aq_am_answer(token, AQ_HANDLER_CLOCK_ANSWER, 5,
                 (const int32_t[]){first, high, low, aq_high(now), aq_low(now)});
    atomic_fetch_add_explicit(&first_asks, first != 0, memory_order_relaxed);
}

// Tells the other ranks of this host. A rank without room for the message gets the next one.
static void tell_host(void)
{
    const aq_trace_clock_t clock = aq_trace_clock_now();
    const uint64_t offset = (uint64_t)clock.line.offset, drift = (uint64_t)clock.line.drift_ppb;
    const int32_t args[] = {
        aq_high(offset), aq_low(offset), aq_high(clock.line.since), aq_low(clock.line.since),
        aq_high(drift),  aq_low(drift),  aq_high(clock.error_ns),   aq_low(clock.error_ns)};
    aq_am_t am = {
        .args = args, .nargs = 8, .category = AQ_AM_SHORT, .handler = AQ_HANDLER_CLOCK_TELL};
    for (gex_Rank_t i = 1; i < aq_job.host.size; i++)
        if (aq_job.host.members[i].gex_jobrank < aq_job_present())
            (void)aq_am_request(aq_job.host.members[i].gex_jobrank, &am, GEX_FLAG_IMMEDIATE);
}

static void on_tell(gex_Token_t token)
{
    aq_args_t args = aq_args_of(token);
    aq_trace_clock_t told;
    told.line.offset = (int64_t)aq_args_64(&args);
    told.line.since = aq_args_64(&args);
    told.line.drift_ppb = (int64_t)aq_args_64(&args);
    told.error_ns = aq_args_64(&args);
    aq_lock_take(&lock);
    known = told;
    told_at = aq_trace_now();
    aq_lock_drop(&lock);
}

// With the lock held.
static void samples_take(const aq_sample_t *sample)
{
    aq_samples_add(&samples, sample);
    known.line = aq_samples_line(&samples);
}

// A later sample counts if its round trip is not much longer than the best one, or if the last one
// is a second old.
static bool sample_is_good(const aq_sample_t *sample)
{
    const aq_sample_t *last = &samples.sample[samples.count - 1];
    return samples.count && sample->time > last->time &&
           (sample->error <= 4 * best_error || sample->time - last->time > SECOND);
}

static void on_answer(gex_Token_t token, int32_t first, int32_t high, int32_t low,
                      int32_t there_high, int32_t there_low)
{
    const uint64_t sent = aq_join(high, low), now = aq_trace_now();
    const aq_sample_t sample = {
        .time = sent + (now - sent) / 2,
        .offset = (int64_t)(aq_join(there_high, there_low) - sent - (now - sent) / 2),
        .error = (now - sent + 1) / 2};
    (void)token;
    aq_lock_take(&lock);
    if (first && (!best_error || sample.error < best_error))
        best_error = sample.error;
    if (first || sample_is_good(&sample))
        samples_take(&sample);
    asking = false;
    aq_lock_drop(&lock);
    atomic_fetch_add_explicit(&answers, 1, memory_order_release);
}

void aq_trace_clock_register(void)
{
    aq_endpoint_internal(AQ_HANDLER_CLOCK_ASK, (gex_AM_Fn_t)on_ask,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 3, "time request");
    aq_endpoint_internal(AQ_HANDLER_CLOCK_ANSWER, (gex_AM_Fn_t)on_answer,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 5, "time of rank 0");
    aq_endpoint_internal_bare(AQ_HANDLER_CLOCK_TELL, on_tell,
                              GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 8, "time of the host");
}

// ---- init ----

static bool has_answer(void *before)
{
    return atomic_load_explicit(&answers, memory_order_acquire) > *(const unsigned *)before;
}

static void ask_first(void)
{
    for (unsigned i = 0; i < FIRST_ASKS; i++) {
        unsigned before = atomic_load_explicit(&answers, memory_order_relaxed);
        (void)ask(true, 0);
        aq_progress_wait_until(has_answer, &before, aq_wait_word(AQ_WAIT_RANK, 0), NULL);
    }
    tell_host();
}

// Whether the first ranks of all other hosts have asked, to whom rank 0 answers at once while it
// waits. After the time limit it waits no longer, since some hosts may not trace.
static bool others_have_asked(void *limit)
{
    return atomic_load_explicit(&first_asks, memory_order_relaxed) >=
               FIRST_ASKS * (aq_job.host.groups - 1) ||
           aq_trace_now() > *(const uint64_t *)limit;
}

// ---- now and then ----

static bool is_time(void)
{
    static uint64_t next, pause = PAUSE_NS;
    const uint64_t now = aq_trace_now();
    const uint64_t most = PAUSE_NS_MAX * (1 + (uint64_t)aq_job.host.groups / HOSTS_OF_PAUSE);
    if (now < next)
        return false;
    const bool first = !next;
    next = now + pause;
    pause = aq_min(2 * pause, most);
    return !first;
}

static bool ask_now_and_then(aq_task_t *unused)
{
    static unsigned told;
    (void)unused;
    if (aq_lock_leaving || !is_time())
        return false;
    const unsigned answered = atomic_load_explicit(&answers, memory_order_acquire);
    if (answered != told)
        tell_host();
    told = answered;
    aq_lock_take(&lock);
    const bool may_ask = !asking;
    asking = true;
    aq_lock_drop(&lock);
    if (may_ask && !ask(false, GEX_FLAG_IMMEDIATE)) {
        aq_lock_take(&lock);
        asking = false;
        aq_lock_drop(&lock);
    }
    return false;
}

void aq_trace_clock_start(void)
{
    static aq_task_t task = {.turn = ask_now_and_then};
    uint64_t limit = aq_trace_now() + OTHERS_NS;
    if (!aq_trace_wants(AQ_TRACE_ALL))
        return;
    if (aq_job.rank == 0 && aq_job.host.groups > 1)
        aq_progress_wait_until(others_have_asked, &limit,
                               aq_wait_word(AQ_WAIT_RANK, AQ_WAIT_NO_RANK), NULL);
    if (!is_first_of_host())
        return;
    ask_first();
    aq_progress_add(&task);
    aq_progress_busy(&task, 1);
}
