// SPDX-License-Identifier: BSD-3-Clause
// The sender and the receiver of a flow, step by step with a manual clock. test_udp_network.c tests
// them together over a bad network.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <string.h>

#include "../../../../conduits/udp/wire/udp_flow.h"
#include "../../../unit/assert_between.h"

enum { WINDOW = 128, BYTES = 1000, PLENTY = 1 << 30 };

#define US ((uint64_t)1000)
#define MS (1000 * US)

static udp_sender_t sender;
static udp_receiver_t receiver;
static uint64_t now;
static char datagrams[1024]; // datagram s is &datagrams[s]
static bool released[1024];
static unsigned released_count;

static void record_release(void *context, void *datagram)
{
    assert_ptr_equal(context, &sender);
    ptrdiff_t s = (char *)datagram - datagrams;
    assert_between(s, 0, 1023);
    assert_false(released[s]);
    released[s] = true;
    released_count++;
}

static void start_flow(uint32_t first_bytes, uint32_t credit)
{
    const udp_sender_setup_t setup = {
        .window = WINDOW,
        .datagram_bytes = BYTES,
        .first_bytes = first_bytes,
        .credit = credit,
        .rto_first = 10 * MS,
        .rto_least = 1 * MS,
        .rto_most = 1000 * MS,
        .release = record_release,
        .context = &sender,
    };
    if (sender.slots)
        udp_sender_stop(&sender);
    assert_int_equal(udp_sender_start(&sender, &setup), AQ_OK);
    memset(released, 0, sizeof released);
    released_count = 0;
    udp_receiver_start(&receiver);
    now = 1000 * MS;
}

static int set_up(void **state)
{
    (void)state;
    start_flow(PLENTY, PLENTY);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    udp_sender_stop(&sender);
    return 0;
}

static void add_datagrams(unsigned count)
{
    for (; count > 0; count--) {
        assert_true(udp_sender_room(&sender, BYTES));
        uint64_t s = sender.next;
        assert_int_equal(udp_sender_sequence(&sender), s);
        udp_sender_add(&sender, &datagrams[s], BYTES, now);
    }
}

// Adds datagrams as long as there is room.
static unsigned fill_window(void)
{
    unsigned count = 0;
    for (; udp_sender_room(&sender, BYTES); count++)
        add_datagrams(1);
    return count;
}

static unsigned acknowledge(uint32_t epoch, uint64_t cumulative, uint64_t selective)
{
    const udp_ack_t news = {epoch, PLENTY, 0, cumulative, selective};
    return udp_sender_ack(&sender, &news, now);
}

static void expect_nothing(void)
{
    assert_int_equal(udp_sender_next(&sender, now).todo, UDP_TODO_NOTHING);
}

static void expect_resend(uint32_t epoch, uint64_t sequence)
{
    udp_action_t action = udp_sender_next(&sender, now);
    assert_int_equal(action.todo, UDP_TODO_RESEND);
    assert_int_equal(action.epoch, epoch);
    assert_int_equal(action.sequence, sequence);
    assert_ptr_equal(action.datagram, &datagrams[sequence]);
    assert_int_equal(action.bytes, BYTES);
}

static void expect_request(uint32_t epoch)
{
    udp_action_t action = udp_sender_next(&sender, now);
    assert_int_equal(action.todo, UDP_TODO_REQUEST);
    assert_int_equal(action.epoch, epoch);
}

// Advances the clock to the deadline.
static void time_out(void)
{
    uint64_t deadline = udp_sender_deadline(&sender);
    assert_between(deadline, now, UDP_NEVER - 1);
    now = deadline - 1;
    expect_nothing();
    now = deadline;
}

// ---- acknowledgements and loss inside an epoch ----

static void acknowledged_datagrams_are_released(void **state)
{
    (void)state;
    add_datagrams(6);
    assert_int_equal(acknowledge(1, 2, 0), 2);
    assert_int_equal(acknowledge(1, 2, 0), 0);      // a duplicate
    assert_int_equal(acknowledge(1, 2, 1 << 1), 1); // acknowledges 4 too
    assert_int_equal(acknowledge(1, 1, 1 << 2), 0); // an old acknowledgement that arrives late
    assert_true(released[0] && released[1] && released[4]);
    assert_int_equal(released_count, 3);
    assert_int_equal(sender.base, 2);
    assert_int_equal(acknowledge(1, 6, 0), 3);
    assert_int_equal(sender.counts.released, 6);
    assert_int_equal(sender.congestion.flight, 0);
    assert_int_equal(udp_sender_deadline(&sender), UDP_NEVER);
}

static void a_datagram_overtaken_by_three_is_retransmitted(void **state)
{
    (void)state;
    add_datagrams(5);
    acknowledge(1, 0, 1 << 0 | 1 << 1); // 0 is missing, 1 and 2 have arrived
    expect_nothing();
    acknowledge(1, 0, 1 << 0 | 1 << 1 | 1 << 2);
    assert_int_equal(udp_sender_deadline(&sender), 0);
    assert_false(udp_sender_room(&sender, BYTES)); // the lost datagram goes first
    expect_resend(1, 0);
    expect_nothing();
    assert_int_equal(sender.counts.lost, 1);
    assert_int_equal(sender.counts.resent, 1);
    assert_int_equal(sender.counts.requests, 0);
    acknowledge(1, 5, 0);
    assert_int_equal(released_count, 5);
}

static void a_retransmission_can_be_lost(void **state)
{
    (void)state;
    add_datagrams(4);
    acknowledge(1, 0, 7);
    expect_resend(1, 0);
    add_datagrams(3); // 4 to 6, sent after 0 was retransmitted
    acknowledge(1, 0, 0x3f);
    expect_resend(1, 0);
    expect_nothing();
}

static void a_higher_number_may_have_been_sent_earlier(void **state)
{
    (void)state;
    add_datagrams(6);
    acknowledge(1, 0, 7);
    expect_resend(1, 0); // sent after 4 and 5
    add_datagrams(1);    // 6
    acknowledge(1, 0, 0x27);
    expect_resend(1, 4);
    expect_nothing();
}

static void a_late_acknowledgement_saves_a_retransmission(void **state)
{
    (void)state;
    add_datagrams(4);
    acknowledge(1, 0, 7);
    assert_int_equal(sender.lost, 1);
    acknowledge(1, 4, 0);
    assert_int_equal(sender.lost, 0);
    expect_nothing();
    assert_int_equal(sender.counts.resent, 0);
    assert_int_equal(sender.congestion.flight, 0);
}

// Datagram 0 is retransmitted as the sixth transmission. Its acknowledgement may belong to the
// first one, so it says nothing about the transmissions in between.
static void a_retransmitted_datagram_overtakes_nothing(void **state)
{
    (void)state;
    add_datagrams(5);
    acknowledge(1, 0, 7);
    expect_resend(1, 0);
    add_datagrams(1);
    acknowledge(1, 4, 0);
    assert_int_equal(sender.counts.lost, 1);
    expect_nothing();
}

static void acknowledgements_that_cannot_be_true_are_ignored(void **state)
{
    (void)state;
    add_datagrams(10);
    assert_int_equal(acknowledge(1, 11, 0), 0);
    assert_int_equal(acknowledge(1, UINT64_MAX, 1), 0);
    assert_int_equal(acknowledge(1, 9, 1), 0); // 10 was not sent
    assert_int_equal(acknowledge(1, 0, (uint64_t)1 << 63), 0);
    assert_int_equal(acknowledge(2, 5, 0), 0); // epoch 2 was not requested
    assert_int_equal(acknowledge(3, 5, 0), 0);
    assert_int_equal(sender.counts.bad_acks, 6);
    assert_int_equal(sender.kept, 10);
    assert_int_equal(sender.epoch, 1);
    assert_int_equal(acknowledge(1, 8, 1), 9); // all but 8
}

static void stop_releases_all_datagrams(void **state)
{
    (void)state;
    add_datagrams(7);
    acknowledge(1, 1, 1 << 2);
    udp_sender_stop(&sender);
    assert_int_equal(released_count, 7);
    assert_null(sender.slots);
}

// ---- epochs ----

static void a_time_out_requests_an_epoch_and_sends_nothing_else(void **state)
{
    (void)state;
    add_datagrams(3);
    time_out();
    expect_request(2);
    expect_nothing();
    assert_false(udp_sender_room(&sender, BYTES));
    // An acknowledgement of the old epoch releases datagrams and confirms nothing.
    acknowledge(1, 0, 2);
    assert_true(released[2]);
    assert_int_equal(sender.rtt, 10 * MS); // it also shows that the time-out was too short
    expect_nothing();
    assert_int_equal(udp_sender_epoch(&sender), 1);
    acknowledge(2, 1, 1);
    assert_int_equal(udp_sender_epoch(&sender), 2);
    expect_resend(2, 1);
    expect_nothing();
    assert_true(udp_sender_room(&sender, BYTES));
    assert_int_equal(sender.counts.resent, 1);
    assert_int_equal(sender.counts.epochs, 1);
}

static void a_request_goes_before_retransmissions(void **state)
{
    (void)state;
    add_datagrams(4);
    acknowledge(1, 0, 7);
    now = sender.timer;
    expect_request(2);
    expect_nothing();
    assert_int_equal(udp_sender_deadline(&sender), sender.timer);
    acknowledge(2, 0, 7);
    expect_resend(2, 0);
}

static void a_request_is_repeated_with_growing_pauses(void **state)
{
    (void)state;
    add_datagrams(1);
    uint64_t before = now, pause = 0;
    for (unsigned i = 0; i < 100; i++) {
        time_out();
        assert_true(now - before >= pause);
        assert_true(now - before <= 1000 * MS);
        pause = now - before;
        before = now;
        expect_request(2);
        expect_nothing();
    }
    assert_int_equal(pause, 1000 * MS);
    assert_int_equal(sender.counts.epochs, 1);
    assert_int_equal(sender.counts.requests, 100);
    acknowledge(2, 0, 0);
    expect_resend(2, 0);
    time_out();
    expect_request(3);
}

static void epochs_without_progress_back_off(void **state)
{
    (void)state;
    add_datagrams(2);
    sender.setup.rto_least = 10 * MS;
    for (uint32_t i = 0; i < 30; i++) {
        uint32_t doublings = i < 4 ? 0 : i - 4; // the first few time-outs do not double
        uint64_t before = now, pause = 10 * MS << (doublings < 7 ? doublings : 7);
        time_out();
        assert_int_equal(now - before, pause < 1000 * MS ? pause : 1000 * MS);
        expect_request(2 + i);
        acknowledge(2 + i, 0, 0);
        expect_resend(2 + i, 0);
        expect_resend(2 + i, 1);
    }
    acknowledge(31, 1, 0);
    assert_int_equal(udp_sender_deadline(&sender), now + sender.rto);
}

static void a_confirmation_comes_even_when_all_was_acknowledged(void **state)
{
    (void)state;
    add_datagrams(2);
    time_out();
    expect_request(2);
    acknowledge(1, 2, 0);
    assert_int_equal(sender.kept, 0);
    assert_false(udp_sender_room(&sender, BYTES)); // the receiver's epoch is not known
    time_out();
    expect_request(2);
    acknowledge(2, 2, 0);
    assert_true(udp_sender_room(&sender, BYTES));
    assert_int_equal(udp_sender_deadline(&sender), UDP_NEVER);
    assert_int_equal(sender.counts.idle, 1);
}

static void an_idle_epoch_costs_no_window(void **state)
{
    (void)state;
    start_flow(20 * BYTES, PLENTY);
    add_datagrams(10);
    time_out();
    expect_request(2);
    acknowledge(2, 10, 0);
    assert_int_equal(sender.congestion.window, 20 * BYTES);
    add_datagrams(10);
    time_out();
    expect_request(3);
    acknowledge(3, 19, 0);
    assert_int_equal(sender.congestion.window, 8 * BYTES);
    assert_int_equal(sender.congestion.threshold, 10 * BYTES);
    expect_resend(3, 19);
}

static void old_confirmations_are_acknowledgements(void **state)
{
    (void)state;
    add_datagrams(8);
    time_out();
    expect_request(2);
    acknowledge(2, 2, 0);
    while (udp_sender_next(&sender, now).todo == UDP_TODO_RESEND)
        ;
    time_out();
    expect_request(3);
    assert_int_equal(acknowledge(2, 3, 0), 1);
    assert_true(sender.requesting);
    assert_int_equal(acknowledge(3, 3, 0), 0);
    assert_false(sender.requesting);
    assert_int_equal(acknowledge(2, 4, 0), 1); // arrives after the confirmation, and is still valid
    assert_int_equal(sender.counts.bad_acks, 0);
}

// The receiver accepts no copy of an old epoch, so that transmissions of the new epoch overtake
// such a copy.
static void overtaking_starts_again_in_a_new_epoch(void **state)
{
    (void)state;
    start_flow(8 * BYTES, PLENTY);
    add_datagrams(8);
    time_out();
    expect_request(2);
    acknowledge(2, 0, 0);
    sender.congestion.window = PLENTY;
    for (uint64_t s = 0; s < 8; s++)
        expect_resend(2, s);
    acknowledge(2, 0, 7);
    expect_resend(2, 0);
    expect_nothing();
    assert_int_equal(sender.counts.lost, 1);
}

// An acknowledgement covers 64 numbers. Of a number beyond them, a copy of the old epoch may have
// arrived.
static void a_number_outside_of_the_confirmation_overtakes_nothing(void **state)
{
    (void)state;
    add_datagrams(80);
    time_out();
    expect_request(2);
    acknowledge(2, 0, 0); // 0 to 64 are missing; 65 to 79 may have been received
    sender.congestion.window = PLENTY;
    for (uint64_t s = 0; s < 80; s++)
        expect_resend(2, s);
    acknowledge(2, 10, UINT64_MAX << 55); // 66 to 74, possibly from the old epoch
    expect_nothing();
    assert_int_equal(sender.counts.lost, 0);
    acknowledge(2, 10, (uint64_t)1 << 53);    // 64 arrived in the new epoch
    assert_int_equal(sender.counts.lost, 52); // 10 to 61
}

static void the_receiver_follows_one_epoch_at_a_time(void **state)
{
    (void)state;
    assert_true(udp_receiver_request(&receiver, 2));
    assert_true(udp_receiver_request(&receiver, 2)); // the confirmation was lost
    assert_int_equal(receiver.epochs, 1);
    assert_true(udp_receiver_request(&receiver, 3));
    assert_false(udp_receiver_request(&receiver, 2)); // arrives late
    assert_false(udp_receiver_request(&receiver, 5)); // was never requested
    assert_int_equal(receiver.epoch, 3);
    assert_int_equal(receiver.requests[0], 2);
    assert_int_equal(receiver.requests[1], 3);
}

static void epochs_wrap_around(void **state)
{
    (void)state;
    sender.epoch = receiver.epoch = UINT32_MAX;
    assert_int_equal(udp_receiver_take(&receiver, UINT32_MAX, 0), UDP_NEW);
    add_datagrams(2);
    time_out();
    expect_request(0);
    assert_true(udp_receiver_request(&receiver, 0));
    assert_int_equal(udp_receiver_take(&receiver, UINT32_MAX, 1), UDP_OLD_EPOCH);
    assert_int_equal(udp_receiver_take(&receiver, 1, 1), UDP_FUTURE_EPOCH);
    assert_false(udp_receiver_request(&receiver, UINT32_MAX));
    acknowledge(0, 1, 0);
    expect_resend(0, 1);
    assert_int_equal(udp_receiver_take(&receiver, 0, 1), UDP_NEW);
    acknowledge(UINT32_MAX, 1, 1);
    assert_int_equal(sender.counts.bad_acks, 1); // number 2 was not sent
    acknowledge(UINT32_MAX, 2, 0);
    assert_int_equal(sender.kept, 0);
}

static void a_confirmation_of_an_earlier_wrap_around_is_ignored(void **state)
{
    (void)state;
    add_datagrams(3);
    acknowledge(1, 1, 0);
    time_out();
    expect_request(2);
    acknowledge(2, 0, 2); // was sent when only 2 had arrived
    assert_true(sender.requesting);
    assert_int_equal(sender.counts.bad_acks, 1);
    acknowledge(2, 1, 1);
    assert_false(sender.requesting);
}

// A request from 2^32 epochs ago, or a forged one, moves the receiver ahead.
static void a_sender_catches_up_with_a_receiver_that_is_ahead(void **state)
{
    (void)state;
    udp_ack_t news;
    assert_true(udp_receiver_request(&receiver, 2));
    add_datagrams(1);
    assert_int_equal(udp_receiver_take(&receiver, 1, 0), UDP_OLD_EPOCH);
    udp_receiver_ack(&receiver, PLENTY, &news);
    assert_int_equal(udp_sender_ack(&sender, &news, now), 0);
    assert_int_equal(sender.counts.bad_acks, 1);
    time_out();
    expect_request(2);
    assert_true(udp_receiver_request(&receiver, 2));
    udp_receiver_ack(&receiver, PLENTY, &news);
    udp_sender_ack(&sender, &news, now);
    expect_resend(2, 0);
    assert_int_equal(udp_receiver_take(&receiver, 2, 0), UDP_NEW);
}

// ---- window, credit, congestion ----

static void the_window_is_kept(void **state)
{
    (void)state;
    assert_int_equal(fill_window(), WINDOW);
    acknowledge(1, 0, UINT64_MAX); // 64 are released, but not the oldest
    while (udp_sender_next(&sender, now).todo == UDP_TODO_RESEND)
        ;
    assert_int_equal(fill_window(), 0);
    acknowledge(1, 1, 0);
    assert_int_equal(fill_window(), 65);
    assert_int_equal(sender.next, 65 + WINDOW);
}

static void the_credit_is_kept(void **state)
{
    (void)state;
    start_flow(PLENTY, 5 * BYTES + BYTES / 2);
    assert_int_equal(fill_window(), 5);
    udp_ack_t news = {.epoch = 1, .credit = 3 * BYTES, .cumulative = 4};
    udp_sender_ack(&sender, &news, now);
    assert_int_equal(fill_window(), 2);
    // This acknowledgement arrives late, so that its credit is ignored.
    news = (udp_ack_t){.epoch = 1, .credit = PLENTY, .cumulative = 3};
    udp_sender_ack(&sender, &news, now);
    assert_int_equal(fill_window(), 0);
    news = (udp_ack_t){.epoch = 1, .credit = 0, .cumulative = 7};
    udp_sender_ack(&sender, &news, now);
    assert_int_equal(fill_window(), 1); // with nothing in flight one is always allowed
    news = (udp_ack_t){.epoch = 1, .credit = 4 * BYTES, .cumulative = 7};
    udp_sender_ack(&sender, &news, now);
    assert_int_equal(fill_window(), 3);
}

static void the_credit_limits_retransmissions(void **state)
{
    (void)state;
    add_datagrams(6);
    time_out();
    expect_request(2);
    udp_ack_t news = {.epoch = 2, .credit = 2 * BYTES};
    udp_sender_ack(&sender, &news, now);
    sender.congestion.window = PLENTY;
    expect_resend(2, 0);
    expect_resend(2, 1);
    expect_nothing();
    assert_int_equal(udp_sender_deadline(&sender), sender.timer);
    assert_false(udp_sender_room(&sender, BYTES)); // retransmissions go first
    news.cumulative = 1;
    udp_sender_ack(&sender, &news, now);
    expect_resend(2, 2);
    expect_nothing();
}

static void the_congestion_window_opens_when_it_is_used(void **state)
{
    (void)state;
    start_flow(4 * BYTES, PLENTY);
    assert_int_equal(fill_window(), 4);
    acknowledge(1, 4, 0);
    assert_int_equal(sender.congestion.window, 8 * BYTES); // doubles
    add_datagrams(1);
    acknowledge(1, 5, 0);
    assert_int_equal(sender.congestion.window, 8 * BYTES); // an unused window does not grow
    sender.congestion.threshold = 8 * BYTES;
    assert_int_equal(fill_window(), 8);
    acknowledge(1, 13, 0);
    // Above the threshold the window grows by one datagram in a round trip.
    assert_int_equal(sender.congestion.window, 9 * BYTES);
    sender.congestion.threshold = UDP_NEVER;
    for (unsigned i = 0; i < 6; i++) {
        fill_window();
        acknowledge(1, sender.next, 0);
    }
    assert_int_equal(sender.congestion.window, WINDOW * BYTES); // the limit: all slots in flight
}

static void a_burst_of_losses_shrinks_the_window_once(void **state)
{
    (void)state;
    start_flow(20 * BYTES, PLENTY);
    fill_window();
    acknowledge(1, 0, 7 << 2); // 0, 1, 2 are missing
    while (udp_sender_next(&sender, now).todo == UDP_TODO_RESEND)
        ;
    assert_int_equal(sender.counts.lost, 3);
    assert_int_equal(sender.congestion.window, 14 * BYTES);
    assert_int_equal(sender.congestion.threshold, 14 * BYTES);
    // 6 to 9 arrive: nothing new is lost, and old transmissions do not grow the window.
    acknowledge(1, 0, 0xfe << 2);
    assert_int_equal(sender.congestion.window, 14 * BYTES);
}

static void losses_leave_a_minimum_window(void **state)
{
    (void)state;
    static const unsigned first[] = {4, 20}, least[] = {4, 8};
    for (unsigned i = 0; i < 2; i++) {
        start_flow(first[i] * BYTES, PLENTY);
        add_datagrams(4);
        for (unsigned k = 0; k < 10; k++) {
            time_out();
            expect_request(2 + k);
            acknowledge(2 + k, 0, 0);
            assert_int_equal(sender.congestion.window, least[i] * BYTES);
            for (unsigned s = 0; s < 4; s++)
                expect_resend(2 + k, s);
        }
        acknowledge(11, 0, 7);
        assert_int_equal(sender.congestion.window, least[i] * BYTES);
    }
}

static void a_queue_shrinks_the_window_to_the_first_window_at_least(void **state)
{
    (void)state;
    start_flow(10 * BYTES, PLENTY);
    fill_window();
    now += 100 * US;
    acknowledge(1, 10, 0);
    assert_int_equal(sender.congestion.window, 20 * BYTES);
    uint64_t before = sender.congestion.window;
    for (unsigned i = 0; i < 100; i++) {
        add_datagrams(1);
        now += 2 * MS;
        acknowledge(1, sender.next, 0);
        assert_true(sender.congestion.window <= before);
        before = sender.congestion.window;
    }
    assert_int_equal(sender.congestion.window, 10 * BYTES);
    sender.congestion.window = 5 * BYTES; // a loss may shrink the window so far
    add_datagrams(1);
    now += 2 * MS;
    acknowledge(1, sender.next, 0);
    assert_int_equal(sender.congestion.window, 5 * BYTES);
}

// ---- the round trip ----

static void the_time_out_follows_the_round_trip(void **state)
{
    (void)state;
    add_datagrams(1);
    assert_int_equal(udp_sender_deadline(&sender), now + 10 * MS);
    now += 4 * MS;
    acknowledge(1, 1, 0);
    assert_int_equal(sender.rtt, 4 * MS);
    assert_int_equal(sender.rto, 12 * MS); // RFC 6298: R + 4 * R / 2
    for (unsigned i = 0; i < 100; i++) {
        add_datagrams(1);
        now += 10 * US;
        acknowledge(1, sender.next, 0);
    }
    assert_between(sender.rtt, 9 * US, 12 * US);
    assert_int_equal(sender.rto, 1 * MS);
}

// One late answer changes the time-out little; the time-out follows a path that has become slower.
static void one_late_answer_is_no_slow_path(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        add_datagrams(1);
        now += 10 * US;
        acknowledge(1, sender.next, 0);
    }
    add_datagrams(1);
    now += 4000 * MS;
    acknowledge(1, sender.next, 0);
    assert_between(sender.rto, 2 * MS, 3 * MS);
    for (unsigned i = 0; i < 100; i++) {
        add_datagrams(1);
        now += 200 * MS;
        acknowledge(1, sender.next, 0);
    }
    assert_between(sender.rtt, 195 * MS, 200 * MS);
    assert_between(sender.rto, 195 * MS, 300 * MS);
}

static void the_minimum_round_trip_expires(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        static const uint64_t pauses[] = {0, 5000 * MS, 11000 * MS}, least[] = {1, 1, 5};
        now += pauses[i];
        add_datagrams(1);
        now += (i ? 5 : 1) * MS;
        acknowledge(1, sender.next, 0);
        assert_int_equal(sender.congestion.least_rtt, least[i] * MS);
    }
}

// The round trip does not include the time that the receiver held the acknowledgement, during which
// earlier acknowledgements may have been lost.
static void the_time_at_the_receiver_is_subtracted(void **state)
{
    (void)state;
    add_datagrams(1);
    now += 5 * MS;
    const udp_ack_t news = {.epoch = 1, .credit = PLENTY, .cumulative = 1, .held_us = 4000};
    assert_int_equal(udp_sender_ack(&sender, &news, now), 1);
    assert_int_equal(sender.rtt, MS);
}

static void a_retransmitted_datagram_is_not_measured(void **state)
{
    (void)state;
    add_datagrams(4);
    acknowledge(1, 0, 7);
    uint64_t rtt = sender.rtt, rto = sender.rto;
    expect_resend(1, 0);
    now += 500 * US;
    acknowledge(1, 4, 0);
    assert_int_equal(sender.rtt, rtt);
    assert_int_equal(sender.rto, rto);
}

static void a_new_epoch_is_measured(void **state)
{
    (void)state;
    add_datagrams(1);
    time_out();
    expect_request(2);
    time_out();
    expect_request(2);
    acknowledge(2, 0, 0); // ambiguous: the request was sent twice
    assert_int_equal(sender.rtt, 0);
    expect_resend(2, 0);
    now += 3 * MS;
    acknowledge(2, 1, 0);
    assert_int_equal(sender.rtt, 3 * MS);
    add_datagrams(1);
    time_out();
    expect_request(3);
    now += 5 * MS;
    acknowledge(3, 1, 0); // the request was sent once
    assert_int_equal(sender.rtt, 3 * MS + 5 * MS / 8 - 3 * MS / 8);
}

static void an_acknowledgement_restarts_the_timer(void **state)
{
    (void)state;
    add_datagrams(2);
    now += 9 * MS;
    acknowledge(1, 1, 0);
    uint64_t deadline = udp_sender_deadline(&sender);
    assert_int_equal(deadline, now + sender.rto);
    now += 1 * MS;
    acknowledge(1, 1, 0); // an acknowledgement without news does not restart the timer
    assert_int_equal(udp_sender_deadline(&sender), deadline);
    add_datagrams(1);
    assert_int_equal(udp_sender_deadline(&sender), deadline);
}

// ---- receiver ----

static void a_number_is_new_once(void **state)
{
    (void)state;
    assert_int_equal(udp_receiver_take(&receiver, 1, 0), UDP_NEW);
    assert_int_equal(udp_receiver_take(&receiver, 1, 0), UDP_DUPLICATE);
    assert_int_equal(udp_receiver_take(&receiver, 1, 2), UDP_NEW);
    assert_int_equal(udp_receiver_take(&receiver, 1, 2), UDP_DUPLICATE);
    assert_int_equal(udp_receiver_take(&receiver, 1, UDP_WINDOW_MAX), UDP_NEW);
    assert_int_equal(udp_receiver_take(&receiver, 1, UDP_WINDOW_MAX + 1), UDP_BEYOND);
    assert_int_equal(udp_receiver_take(&receiver, 1, UINT64_MAX), UDP_BEYOND);
    assert_int_equal(udp_receiver_take(&receiver, 2, 1), UDP_FUTURE_EPOCH);
    assert_int_equal(udp_receiver_take(&receiver, 0, 1), UDP_OLD_EPOCH);
    const uint64_t counts[UDP_VERDICTS] = {3, 2, 1, 1, 2};
    assert_memory_equal(receiver.counts, counts, sizeof counts);
}

static void a_peek_changes_nothing(void **state)
{
    (void)state;
    udp_receiver_take(&receiver, 1, 1);
    udp_receiver_t before = receiver;
    for (uint64_t s = 0; s < 3; s++)
        assert_int_equal(udp_receiver_peek(&receiver, 1, s), s == 1 ? UDP_DUPLICATE : UDP_NEW);
    assert_memory_equal(&receiver, &before, sizeof before);
}

static void owed_acknowledgements_are_counted(void **state)
{
    (void)state;
    udp_ack_t news;
    udp_receiver_take(&receiver, 1, 0);
    udp_receiver_take(&receiver, 1, 0); // its acknowledgement may be lost
    udp_receiver_take(&receiver, 9, 1);
    assert_int_equal(udp_receiver_owed(&receiver), 2);
    assert_false(udp_receiver_gap(&receiver));
    udp_receiver_take(&receiver, 1, 200);
    assert_true(udp_receiver_gap(&receiver));
    udp_receiver_ack(&receiver, 77, &news);
    assert_int_equal(udp_receiver_owed(&receiver), 0);
    assert_int_equal(news.epoch, 1);
    assert_int_equal(news.credit, 77);
    assert_int_equal(news.cumulative, 1);
}

// News is reported three times, because acknowledgements may be lost.
static void news_is_reported_three_times(void **state)
{
    (void)state;
    udp_ack_t news;
    assert_false(udp_receiver_has_news(&receiver));
    udp_receiver_take(&receiver, 1, 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(udp_receiver_has_news(&receiver));
        udp_receiver_ack(&receiver, 77, &news);
    }
    assert_false(udp_receiver_has_news(&receiver));
    udp_receiver_take(&receiver, 1, 0); // its acknowledgements were lost
    assert_true(udp_receiver_has_news(&receiver));
    while (udp_receiver_has_news(&receiver))
        udp_receiver_ack(&receiver, 77, &news);
    udp_receiver_take(&receiver, 0, 1); // a datagram of an old epoch
    assert_false(udp_receiver_has_news(&receiver));
    assert_true(udp_receiver_request(&receiver, 2));
    assert_true(udp_receiver_has_news(&receiver));
}

// Compares the receiver with a plain array, in random order, with an acknowledgement after each
// datagram.
static void the_acknowledgement_names_what_has_arrived(void **state)
{
    (void)state;
    enum { NUMBERS = 4000 };
    static bool arrived[NUMBERS + UDP_WINDOW_MAX];
    memset(arrived, 0, sizeof arrived);
    uint64_t random = 12345, cumulative = 0;
    while (cumulative < NUMBERS) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t s = cumulative + (random >> 33) % ((random >> 20) % UDP_WINDOW_MAX + 1);
        assert_int_equal(udp_receiver_take(&receiver, 1, s), arrived[s] ? UDP_DUPLICATE : UDP_NEW);
        arrived[s] = true;
        while (arrived[cumulative])
            cumulative++;
        udp_ack_t news;
        udp_receiver_ack(&receiver, 0, &news);
        assert_int_equal(news.cumulative, cumulative);
        for (unsigned i = 0; i < UDP_SELECTIVE; i++)
            assert_int_equal(news.selective >> i & 1, arrived[cumulative + 1 + i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(acknowledged_datagrams_are_released, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_datagram_overtaken_by_three_is_retransmitted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_retransmission_can_be_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_higher_number_may_have_been_sent_earlier, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_late_acknowledgement_saves_a_retransmission, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_retransmitted_datagram_overtakes_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(acknowledgements_that_cannot_be_true_are_ignored, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(stop_releases_all_datagrams, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_time_out_requests_an_epoch_and_sends_nothing_else, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_request_goes_before_retransmissions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_request_is_repeated_with_growing_pauses, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(epochs_without_progress_back_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_confirmation_comes_even_when_all_was_acknowledged, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_idle_epoch_costs_no_window, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_confirmations_are_acknowledgements, set_up, tear_down),
        cmocka_unit_test_setup_teardown(overtaking_starts_again_in_a_new_epoch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_number_outside_of_the_confirmation_overtakes_nothing,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_receiver_follows_one_epoch_at_a_time, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(epochs_wrap_around, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_confirmation_of_an_earlier_wrap_around_is_ignored, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_sender_catches_up_with_a_receiver_that_is_ahead, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_window_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_credit_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_credit_limits_retransmissions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_congestion_window_opens_when_it_is_used, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_burst_of_losses_shrinks_the_window_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(losses_leave_a_minimum_window, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_queue_shrinks_the_window_to_the_first_window_at_least,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_time_out_follows_the_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_late_answer_is_no_slow_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_minimum_round_trip_expires, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_time_at_the_receiver_is_subtracted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_retransmitted_datagram_is_not_measured, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_new_epoch_is_measured, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_acknowledgement_restarts_the_timer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_number_is_new_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_peek_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(owed_acknowledgements_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(news_is_reported_three_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_acknowledgement_names_what_has_arrived, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
