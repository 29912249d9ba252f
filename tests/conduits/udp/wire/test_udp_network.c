// SPDX-License-Identifier: BSD-3-Clause
// A flow of udp over a network that loses, duplicates, delays and reorders datagrams, with a
// simulated clock: many short schedules, each from its own seed. AQ_UDP_SCHEDULES is the number of
// schedules, and AQ_UDP_FIRST the first seed, to repeat one.
//
// What must hold in each schedule: every datagram is delivered exactly once, and released after
// that; datagrams that leave the network at the end change nothing; window and credit are
// respected; requests and data are never ahead of the receiver.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/udp/wire/udp_flow.h"
#include "../../../unit/assert_between.h"

enum { DATAGRAMS_MAX = 300, EVENTS_MAX = 8192, STEPS_MAX = 400000 };

#define US ((uint64_t)1000)
#define MS (1000 * US)

typedef enum kind { DATA, REQUEST, ACK } kind_t;

// The arrival of a datagram.
typedef struct event {
    uint64_t at;
    kind_t kind;
    uint32_t epoch;
    uint64_t sequence;
    udp_ack_t ack;
} event_t;

typedef struct schedule {
    // Drawn from the seed: percentages, times, limits.
    uint64_t random;
    unsigned loss, duplication, far, refusal;
    uint64_t delay, jitter, far_delay, ack_delay;
    unsigned ack_every, total;
    uint32_t bytes, credit;
    bool absent; // the receiver is sometimes absent

    uint64_t now, away_until, ack_due;
    udp_sender_t sender;
    udp_receiver_t receiver;
    bool delivered[DATAGRAMS_MAX], released[DATAGRAMS_MAX];
    unsigned delivered_count, released_count;
    event_t heap[EVENTS_MAX]; // ordered by time
    unsigned events;
} schedule_t;

static schedule_t run;
static char datagrams[DATAGRAMS_MAX];

// Totals over all schedules, which show whether the schedules are as bad as intended.
static struct {
    uint64_t datagrams, resent, lost, epochs, idle, old, duplicates, ignored, stale_acks;
} seen;

// ---- chance ----

static uint64_t random_below(uint64_t limit)
{
    run.random ^= run.random >> 12;
    run.random ^= run.random << 25;
    run.random ^= run.random >> 27;
    return ((run.random * 0x2545f4914f6cdd1du) >> 20) % limit;
}

static bool random_chance(unsigned percent)
{
    return random_below(100) < percent;
}

static unsigned random_one_of(const unsigned *values, unsigned count_totals)
{
    return values[random_below(count_totals)];
}

// ---- the events to come: a binary heap ----

static bool event_is_earlier(unsigned i, unsigned j)
{
    return run.heap[i].at < run.heap[j].at;
}

static void swap_events(unsigned i, unsigned j)
{
    event_t kept = run.heap[i];
    run.heap[i] = run.heap[j];
    run.heap[j] = kept;
}

static void push_event(const event_t *event)
{
    if (run.events == EVENTS_MAX) // the network loses the datagram
        return;
    unsigned i = run.events++;
    run.heap[i] = *event;
    for (; i > 0 && event_is_earlier(i, (i - 1) / 2); i = (i - 1) / 2)
        swap_events(i, (i - 1) / 2);
}

static event_t pop_event(void)
{
    event_t first = run.heap[0];
    run.heap[0] = run.heap[--run.events];
    for (unsigned i = 0, child; (child = 2 * i + 1) < run.events; i = child) {
        if (child + 1 < run.events && event_is_earlier(child + 1, child))
            child++;
        if (!event_is_earlier(child, i))
            break;
        swap_events(i, child);
    }
    return first;
}

// ---- the network ----

static void carry_datagram(event_t event)
{
    for (unsigned copies = 1 + random_chance(run.duplication); copies > 0; copies--) {
        if (random_chance(run.loss))
            continue;
        event.at = run.now + run.delay + random_below(run.jitter + 1);
        if (random_chance(run.far))
            event.at += random_below(run.far_delay);
        push_event(&event);
    }
}

// ---- the sender's side ----

static void record_release(void *context, void *datagram)
{
    assert_ptr_equal(context, &run);
    ptrdiff_t s = (char *)datagram - datagrams;
    assert_between(s, 0, run.total - 1);
    assert_true(run.delivered[s]);
    assert_false(run.released[s]);
    run.released[s] = true;
    run.released_count++;
}

// Checks window and credit. All datagrams of a schedule have the same size, so that their number
// gives the bytes in flight.
static void check_limits(void)
{
    const udp_sender_t *sender = &run.sender;
    assert_true(sender->next - sender->base <= sender->setup.window);
    assert_int_equal(sender->kept, sender->next - run.released_count);
    assert_int_equal(sender->congestion.flight,
                     (uint64_t)(sender->kept - sender->lost) * run.bytes);
    assert_true(sender->congestion.flight <= run.credit || sender->congestion.flight == run.bytes);
}

static void send_data(uint64_t sequence)
{
    check_limits();
    assert_false(run.released[sequence]);
    carry_datagram(
        (event_t){.kind = DATA, .epoch = udp_sender_epoch(&run.sender), .sequence = sequence});
}

// Performs everything that the sender may do now.
static void serve_sender(void)
{
    udp_action_t action;
    while ((action = udp_sender_next(&run.sender, run.now)).todo != UDP_TODO_NOTHING) {
        if (action.todo == UDP_TODO_RESEND) {
            assert_ptr_equal(action.datagram, &datagrams[action.sequence]);
            assert_int_equal(action.bytes, run.bytes);
            assert_int_equal(action.epoch, udp_sender_epoch(&run.sender));
            send_data(action.sequence);
        } else {
            carry_datagram((event_t){.kind = REQUEST, .epoch = action.epoch});
        }
    }
    while (run.sender.next < run.total && udp_sender_room(&run.sender, run.bytes)) {
        send_data(udp_sender_sequence(&run.sender));
        udp_sender_add(&run.sender, &datagrams[run.sender.next], run.bytes, run.now);
    }
    assert_true(udp_sender_deadline(&run.sender) > run.now);
}

// ---- the receiver's side ----

static void send_acknowledgement(void)
{
    event_t event = {.kind = ACK};
    if (udp_receiver_has_news(&run.receiver)) {
        udp_receiver_ack(&run.receiver, run.credit, &event.ack);
        carry_datagram(event);
    }
    run.ack_due = UDP_NEVER;
}

static void receive_data(const event_t *event)
{
    udp_verdict_t look = udp_receiver_peek(&run.receiver, event->epoch, event->sequence);
    if (look == UDP_NEW && random_chance(run.refusal)) // simulates a lack of memory
        return;
    udp_verdict_t verdict = udp_receiver_take(&run.receiver, event->epoch, event->sequence);
    assert_int_equal(verdict, look);
    assert_true(verdict != UDP_FUTURE_EPOCH && verdict != UDP_BEYOND);
    if (verdict == UDP_NEW) {
        assert_false(run.delivered[event->sequence]);
        assert_false(run.released[event->sequence]);
        run.delivered[event->sequence] = true;
        run.delivered_count++;
    }
    if (udp_receiver_owed(&run.receiver) >= run.ack_every) {
        send_acknowledgement();
    } else if (udp_receiver_owed(&run.receiver) && run.ack_due == UDP_NEVER) {
        run.ack_due = run.now + run.ack_delay;
    }
}

static void receive_datagram(const event_t *event)
{
    if (run.absent && random_chance(1))
        run.away_until = run.now + random_below(20 * MS);
    if (event->kind == DATA)
        receive_data(event);
    else if (udp_receiver_request(&run.receiver, event->epoch))
        send_acknowledgement();
}

// ---- one schedule ----

static void draw_parameters(uint64_t seed)
{
    static const unsigned losses[] = {0, 1, 5, 20, 30, 50}, doubles[] = {0, 5, 50},
                          fars[] = {0, 0, 1, 10}, refusals[] = {0, 0, 10}, everies[] = {1, 2, 16};
    run.random = seed * 0x9e3779b97f4a7c15u + 1;
    run.loss = random_one_of(losses, 6);
    run.duplication = random_one_of(doubles, 3);
    run.far = random_one_of(fars, 4);
    run.refusal = random_one_of(refusals, 3);
    run.ack_every = random_one_of(everies, 3);
    run.delay = 5 * US + random_below(500 * US);
    run.jitter = random_chance(50) ? random_below(50 * US) : random_below(5 * MS);
    run.far_delay = random_chance(50) ? 10 * MS : 5000 * MS; // the minimum time-out is 1 ms
    run.ack_delay = random_below(500 * US);
    run.total = 1 + (unsigned)random_below(random_chance(10) ? DATAGRAMS_MAX : 60);
    run.bytes = 8 + (uint32_t)random_below(1500);
    run.credit = random_chance(30) ? (uint32_t)random_below(8) * run.bytes : UINT32_MAX;
    run.absent = random_chance(30);
}

static void start_schedule(uint64_t seed)
{
    memset(&run, 0, offsetof(schedule_t, heap));
    run.events = 0;
    run.now = 1;
    run.ack_due = UDP_NEVER;
    draw_parameters(seed);
    const udp_sender_setup_t setup = {
        .window = 1u << random_below(9),
        .datagram_bytes = run.bytes,
        .first_bytes = (1 + (uint32_t)random_below(20)) * run.bytes,
        .credit = run.credit,
        .rto_first = 10 * MS,
        .rto_least = 1 * MS,
        .rto_most = 100 * MS,
        .release = record_release,
        .context = &run,
    };
    assert_int_equal(udp_sender_start(&run.sender, &setup), AQ_OK);
    udp_receiver_start(&run.receiver);
    if (random_chance(20)) // the epochs wrap around soon
        run.sender.epoch = run.receiver.epoch = UINT32_MAX - (uint32_t)random_below(3);
}

static void arrive_next(void)
{
    event_t event = pop_event();
    if (event.kind == ACK) {
        seen.stale_acks += event.ack.epoch != udp_sender_epoch(&run.sender);
        udp_sender_ack(&run.sender, &event.ack, run.now);
    } else if (run.now < run.away_until) { // the datagram waits in the receiver's socket
        event.at = run.away_until;
        push_event(&event);
    } else {
        receive_datagram(&event);
    }
}

// Advances to the next event; false: there is none.
static bool run_step(void)
{
    uint64_t next = udp_sender_deadline(&run.sender);
    if (run.ack_due < next)
        next = run.ack_due;
    if (run.events && run.heap[0].at < next)
        next = run.heap[0].at;
    if (next == UDP_NEVER)
        return false;
    assert_true(next >= run.now);
    run.now = next;
    if (run.events && run.heap[0].at == next)
        arrive_next();
    if (run.now >= run.ack_due)
        send_acknowledgement();
    serve_sender();
    return true;
}

static void count_totals(void)
{
    seen.datagrams += run.total;
    seen.resent += run.sender.counts.resent;
    seen.lost += run.sender.counts.lost;
    seen.epochs += run.sender.counts.epochs;
    seen.idle += run.sender.counts.idle;
    seen.old += run.receiver.counts[UDP_OLD_EPOCH];
    seen.duplicates += run.receiver.counts[UDP_DUPLICATE];
    seen.ignored += run.receiver.requests[0];
}

static void run_schedule(uint64_t seed)
{
    unsigned steps = 0;
    start_schedule(seed);
    serve_sender();
    // Continues until the network is empty, long after the last release.
    while (run_step())
        assert_true(++steps < STEPS_MAX);
    assert_int_equal(run.delivered_count, run.total);
    assert_int_equal(run.released_count, run.total);
    assert_int_equal(run.sender.counts.sent, run.total);
    assert_int_equal(run.sender.counts.released, run.total);
    assert_int_equal(run.receiver.counts[UDP_NEW], run.total);
    assert_int_equal(run.sender.counts.bad_acks, 0);
    assert_int_equal(run.sender.counts.epochs, run.receiver.epochs);
    count_totals();
    udp_sender_stop(&run.sender);
}

// ---- all schedules ----

static uint64_t number_of_variable(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static uint64_t seed; // of the current schedule

static int print_seed(void **state)
{
    (void)state;
    print_message("last seed %llu: %llu datagrams, %llu sent again (%llu overtaken), %llu epochs "
                  "(%llu idle); dropped: %llu of an old epoch, %llu duplicates, %llu requests; "
                  "%llu acknowledgements of another epoch\n",
                  (unsigned long long)seed, (unsigned long long)seen.datagrams,
                  (unsigned long long)seen.resent, (unsigned long long)seen.lost,
                  (unsigned long long)seen.epochs, (unsigned long long)seen.idle,
                  (unsigned long long)seen.old, (unsigned long long)seen.duplicates,
                  (unsigned long long)seen.ignored, (unsigned long long)seen.stale_acks);
    return 0;
}

static void every_datagram_is_delivered_exactly_once(void **state)
{
    (void)state;
    uint64_t first = number_of_variable("AQ_UDP_FIRST", 1),
             schedules = number_of_variable("AQ_UDP_SCHEDULES", 80000);
    for (seed = first; seed < first + schedules; seed++)
        run_schedule(seed);
    if (schedules < 1000)
        return;
    // The schedules must have caused each kind of trouble.
    assert_true(seen.resent > seen.datagrams / 100 && seen.lost > 0);
    assert_true(seen.epochs > schedules / 10 && seen.idle > 0);
    assert_true(seen.old > 0 && seen.duplicates > 0 && seen.ignored > 0 && seen.stale_acks > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_datagram_is_delivered_exactly_once, print_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
