// SPDX-License-Identifier: BSD-3-Clause
// The sender and the receiver of a flow. udp_send.c adds datagrams to the sender and takes
// acknowledgements from the receiver, udp_receive.c passes received datagrams and acknowledgements,
// and udp_link.c asks the sender what is due.
#include "udp_flow.h"

#include <stdlib.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"

enum { FREE, UNDER_WAY, LOST }; // states of a slot

enum {
    LEAST_DATAGRAMS = 8, // the smallest congestion window: with fewer, overtaking shows no losses
    // Time-outs in a row before the time-out doubles: only requests are sent then, and mere losses
    // can explain that many.
    PATIENCE = 4,
    ACK_REPEATS = 3,     // acknowledgements that repeat the same news
    MOST_DOUBLINGS = 20, // of the time-out; rto_most is reached long before
    DELAY_FACTOR = 4,    // a round trip this many times the shortest one, and
    DELAY_NS = 1000000,  // this much longer, waits in a queue
};

#define LEAST_RTT_AGE 10000000000u // a shortest round trip older than this (ns) is measured again

// ---- the ring of slots ----

static inline udp_slot_t *slot_of(const udp_sender_t *sender, uint64_t sequence)
{
    return &sender->slots[sequence & (sender->setup.window - 1)];
}

aq_status_t udp_sender_start(udp_sender_t *sender, const udp_sender_setup_t *setup)
{
    *sender = (udp_sender_t){
        .setup = *setup,
        .slots = calloc(setup->window, sizeof *sender->slots),
        .epoch = UDP_FIRST_EPOCH,
        .timer = UDP_NEVER,
        .rto = setup->rto_first,
        .credit = setup->credit,
        .congestion = {.window = setup->first_bytes,
                       .threshold = UINT64_MAX,
                       .round_rtt = UDP_NEVER,
                       .least_rtt = UDP_NEVER},
    };
    if (sender->slots)
        return AQ_OK;
    aq_log_error("no memory to send to a peer; run fewer ranks on this host");
    return AQ_ERR_RESOURCE;
}

static void slot_release(udp_sender_t *sender, udp_slot_t *slot)
{
    void *datagram = slot->datagram;
    if (slot->state == UNDER_WAY)
        sender->congestion.flight -= slot->bytes;
    else
        sender->lost--;
    slot->state = FREE;
    slot->datagram = NULL;
    sender->kept--;
    sender->setup.release(sender->setup.context, datagram);
}

void udp_sender_stop(udp_sender_t *sender)
{
    for (; sender->base < sender->next; sender->base++)
        if (slot_of(sender, sender->base)->state != FREE)
            slot_release(sender, slot_of(sender, sender->base));
    free(sender->slots);
    sender->slots = NULL;
}

// ---- the round trip and the time-out (RFC 6298) ----

static uint64_t clamp_to(uint64_t value, uint64_t least, uint64_t most)
{
    return aq_min(aq_max(value, least), most);
}

// The time-out doubles for each repeated request, and for each epoch without progress.
static void timer_start(udp_sender_t *sender, uint64_t now)
{
    uint64_t doublings = sender->fruitless;
    if (sender->requesting)
        doublings += sender->request_count - 1;
    doublings = doublings > PATIENCE ? doublings - PATIENCE : 0;
    sender->timer = now + clamp_to(sender->rto << clamp_to(doublings, 0, MOST_DOUBLINGS), 0,
                                   sender->setup.rto_most);
}

// Limits a sample, because a peer that did not poll for long says nothing about the path. If the
// path has really become that slow, the next samples show it again, each with a longer time-out.
static void take_sample(udp_sender_t *sender, uint64_t sample, uint64_t now)
{
    udp_congestion_t *congestion = &sender->congestion;
    sample = clamp_to(sample, 0, 2 * sender->rto);
    if (sender->rtt == 0) {
        sender->rtt = sample;
        sender->rtt_deviation = sample / 2;
    } else {
        uint64_t off = sample > sender->rtt ? sample - sender->rtt : sender->rtt - sample;
        sender->rtt_deviation += off / 4 - sender->rtt_deviation / 4;
        sender->rtt += sample / 8 - sender->rtt / 8;
    }
    sender->rto = clamp_to(sender->rtt + 4 * sender->rtt_deviation, sender->setup.rto_least,
                           sender->setup.rto_most);
    if (sample < congestion->round_rtt)
        congestion->round_rtt = sample;
    if (sample < congestion->least_rtt || now - congestion->least_rtt_at > LEAST_RTT_AGE) {
        congestion->least_rtt = sample;
        congestion->least_rtt_at = now;
    }
}

// ---- congestion ----

static uint64_t at_least(uint64_t value, uint64_t least)
{
    return aq_max(value, least);
}

static uint64_t window_minimum(const udp_sender_t *sender)
{
    uint64_t least = LEAST_DATAGRAMS * (uint64_t)sender->setup.datagram_bytes;
    return clamp_to(sender->setup.first_bytes, 0, least);
}

// Grows the window only if it was in use: below the threshold it doubles in a round trip, above it
// grows by one datagram.
static void window_grow(udp_sender_t *sender, uint64_t bytes, uint64_t flight_before)
{
    udp_congestion_t *congestion = &sender->congestion;
    uint64_t most = (uint64_t)sender->setup.window * sender->setup.datagram_bytes;
    if (flight_before < congestion->window / 2)
        return;
    if (congestion->window >= congestion->threshold)
        bytes = bytes * sender->setup.datagram_bytes / congestion->window;
    if (congestion->window < most)
        congestion->window = clamp_to(congestion->window + bytes, 0, most);
}

// Shrinks the window after a loss, once for all transmissions before the last reaction (to 0.7, as
// CUBIC does).
static void window_shrink_by_loss(udp_sender_t *sender, uint64_t order)
{
    udp_congestion_t *congestion = &sender->congestion;
    if (order <= congestion->recovery)
        return;
    congestion->recovery = sender->orders;
    congestion->window = at_least(congestion->window / 10 * 7, window_minimum(sender));
    congestion->threshold = congestion->window;
}

// After a time-out the path is assumed to have carried nothing: the window starts again.
static void window_shrink_by_timeout(udp_sender_t *sender)
{
    udp_congestion_t *congestion = &sender->congestion;
    congestion->recovery = sender->orders;
    congestion->threshold = at_least(congestion->window / 2, window_minimum(sender));
    congestion->window = window_minimum(sender);
}

// Called once in a round trip: if even the fastest acknowledgement was slow, a queue has built up.
// The window shrinks, but not below the initial one, because a peer that computes is slow as well.
static void round_end(udp_sender_t *sender)
{
    udp_congestion_t *congestion = &sender->congestion;
    if (congestion->round_rtt != UDP_NEVER &&
        congestion->round_rtt > DELAY_FACTOR * congestion->least_rtt + DELAY_NS &&
        congestion->window > sender->setup.first_bytes) {
        congestion->window =
            at_least(congestion->window - congestion->window / 8, sender->setup.first_bytes);
        congestion->threshold = congestion->window;
    }
    congestion->round = sender->orders;
    congestion->round_rtt = UDP_NEVER;
}

static bool may_send(const udp_sender_t *sender, uint32_t bytes)
{
    uint64_t limit = aq_min(sender->congestion.window, sender->credit);
    return sender->congestion.flight == 0 || sender->congestion.flight + bytes <= limit;
}

// ---- transmissions ----

static void slot_transmit(udp_sender_t *sender, udp_slot_t *slot, uint64_t now)
{
    slot->state = UNDER_WAY;
    slot->sent_at = now;
    slot->order = ++sender->orders;
    if (slot->proof == 0)
        slot->proof = slot->order;
    sender->congestion.flight += slot->bytes;
}

bool udp_sender_room(const udp_sender_t *sender, uint32_t bytes)
{
    return !sender->requesting && sender->lost == 0 &&
           sender->next - sender->base < sender->setup.window && may_send(sender, bytes);
}

void udp_sender_add(udp_sender_t *sender, void *datagram, uint32_t bytes, uint64_t now)
{
    udp_slot_t *slot = slot_of(sender, sender->next++);
    slot->datagram = datagram;
    slot->bytes = bytes;
    slot->proof = 0;
    slot_transmit(sender, slot, now);
    if (sender->kept++ == 0)
        timer_start(sender, now);
    sender->counts.sent++;
}

static udp_action_t epoch_request(udp_sender_t *sender, uint64_t now)
{
    if (!sender->requesting) {
        sender->requesting = true;
        sender->requested_at = now;
        sender->request_count = 0;
        sender->counts.epochs++;
    }
    sender->request_count++;
    sender->counts.requests++;
    timer_start(sender, now);
    return (udp_action_t){.todo = UDP_TODO_REQUEST, .epoch = sender->epoch + 1};
}

static uint64_t first_lost(const udp_sender_t *sender)
{
    uint64_t sequence = sender->base;
    while (slot_of(sender, sequence)->state != LOST)
        sequence++;
    return sequence;
}

static udp_action_t lost_resend(udp_sender_t *sender, uint64_t now)
{
    uint64_t sequence = first_lost(sender);
    udp_slot_t *slot = slot_of(sender, sequence);
    if (!may_send(sender, slot->bytes))
        return (udp_action_t){.todo = UDP_TODO_NOTHING};
    slot_transmit(sender, slot, now);
    sender->lost--;
    sender->mixed = sender->next;
    sender->counts.resent++;
    return (udp_action_t){UDP_TODO_RESEND, sender->epoch, sequence, slot->datagram, slot->bytes};
}

udp_action_t udp_sender_next(udp_sender_t *sender, uint64_t now)
{
    if (now >= sender->timer)
        return epoch_request(sender, now);
    if (sender->lost && !sender->requesting)
        return lost_resend(sender, now);
    return (udp_action_t){.todo = UDP_TODO_NOTHING};
}

uint64_t udp_sender_deadline(const udp_sender_t *sender)
{
    if (sender->lost && !sender->requesting &&
        may_send(sender, slot_of(sender, first_lost(sender))->bytes))
        return 0;
    return sender->timer;
}

// ---- acknowledgements ----

// The effect of one acknowledgement.
typedef struct news {
    unsigned released;
    uint64_t bytes;   // of the released datagrams
    uint64_t sent_at; // time of the latest transmission that is known to have arrived; 0: none
    uint64_t order;   // the latest transmission of all released datagrams
} news_t;

// A proof beyond all arrived transmissions belongs to the only transmission of its datagram. A
// retransmitted datagram was either overtaken by one that has arrived, or it stood behind the
// oldest one at the change of the epoch, which has arrived by a transmission of the new epoch.
static void slot_acknowledge(udp_sender_t *sender, uint64_t sequence, news_t *news)
{
    udp_slot_t *slot = slot_of(sender, sequence);
    if (slot->state == FREE)
        return;
    if (slot->proof > sender->arrived) {
        sender->arrived = slot->proof;
        news->sent_at = slot->sent_at;
    }
    if (slot->order > news->order)
        news->order = slot->order;
    news->bytes += slot->bytes;
    news->released++;
    slot_release(sender, slot);
}

static void acknowledge_all(udp_sender_t *sender, const udp_ack_t *ack, news_t *news)
{
    for (uint64_t s = sender->base; s < ack->cumulative; s++)
        slot_acknowledge(sender, s, news);
    for (uint64_t bits = ack->selective; bits; bits &= bits - 1) {
        uint64_t s = ack->cumulative + 1 + (uint64_t)__builtin_ctzll(bits);
        if (s >= sender->base)
            slot_acknowledge(sender, s, news);
    }
    while (sender->base < sender->next && slot_of(sender, sender->base)->state == FREE)
        sender->base++;
}

// As long as no kept datagram was retransmitted, later numbers were sent later, and the first one
// that is not overtaken ends the search.
static void slots_find_overtaken(udp_sender_t *sender)
{
    for (uint64_t s = sender->base; s < sender->next; s++) {
        udp_slot_t *slot = slot_of(sender, s);
        if (slot->state == UNDER_WAY && slot->order + UDP_OVERTAKEN <= sender->arrived) {
            slot->state = LOST;
            sender->congestion.flight -= slot->bytes;
            sender->lost++;
            sender->counts.lost++;
            window_shrink_by_loss(sender, slot->order);
        } else if (slot->state == UNDER_WAY && sender->base >= sender->mixed) {
            break;
        }
    }
}

// The requested epoch is confirmed: all kept datagrams are lost, and those that the acknowledgement
// reports missing can arrive only by a new transmission.
static void epoch_confirm(udp_sender_t *sender, const udp_ack_t *ack, uint64_t now)
{
    sender->requesting = false;
    sender->epoch = ack->epoch;
    sender->congestion.flight = 0;
    sender->lost = sender->kept;
    for (uint64_t s = sender->base; s < sender->next; s++) {
        udp_slot_t *slot = slot_of(sender, s);
        if (slot->state != FREE)
            slot->state = LOST;
        if (s <= ack->cumulative + UDP_SELECTIVE)
            slot->proof = 0;
    }
    if (sender->kept) {
        window_shrink_by_timeout(sender);
        sender->fruitless++;
    } else {
        sender->counts.idle++;
    }
    if (sender->request_count == 1)
        take_sample(sender, now - sender->requested_at, now);
}

// Whether the epoch is plausible: the current one, an older one, or the requested one. An
// acknowledgement of the requested epoch is later than all news so far and cannot report less; so
// an acknowledgement from 2^32 epochs ago confirms nothing if a single datagram got through since.
static bool ack_epoch_is_plausible(const udp_sender_t *sender, const udp_ack_t *ack)
{
    uint32_t ahead = ack->epoch - sender->epoch;
    return ahead == 0 || ahead >= 1u << 31 ||
           (ahead == 1 && sender->requesting && ack->cumulative >= sender->base);
}

// Whether the acknowledgement covers only datagrams that were sent.
static bool ack_range_is_plausible(const udp_sender_t *sender, const udp_ack_t *ack)
{
    uint64_t reach = ack->cumulative;
    if (ack->selective)
        reach += 1 + 64 - (uint64_t)__builtin_clzll(ack->selective);
    return ack->cumulative <= sender->next && reach <= sender->next;
}

// Adopts the credit of the latest acknowledgement, as far as the numbers show which one that is.
static void take_credit(udp_sender_t *sender, const udp_ack_t *ack)
{
    if (ack->cumulative < sender->credit_from)
        return;
    sender->credit = ack->credit;
    sender->credit_from = ack->cumulative;
}

// Updates round-trip time and congestion after the release. The time for which the receiver delayed
// the acknowledgement, or in which earlier ones were lost, is not part of the round trip.
static void sender_progress(udp_sender_t *sender, const news_t *news, uint64_t flight_before,
                            uint32_t held_us, uint64_t now)
{
    if (news->sent_at) {
        uint64_t took = now - news->sent_at, held = (uint64_t)held_us * 1000;
        take_sample(sender, took > held ? took - held : took, now);
    }
    if (sender->arrived >= sender->congestion.round)
        round_end(sender);
    slots_find_overtaken(sender);
    if (news->order > sender->congestion.recovery)
        window_grow(sender, news->bytes, flight_before);
}

unsigned udp_sender_ack(udp_sender_t *sender, const udp_ack_t *ack, uint64_t now)
{
    if (!ack_epoch_is_plausible(sender, ack) || !ack_range_is_plausible(sender, ack)) {
        sender->counts.bad_acks++;
        return 0;
    }
    news_t news = {0};
    uint64_t flight_before = sender->congestion.flight;
    take_credit(sender, ack);
    acknowledge_all(sender, ack, &news);
    sender->counts.released += news.released;
    bool confirmed = sender->requesting && ack->epoch == sender->epoch + 1;
    if (confirmed)
        epoch_confirm(sender, ack, now);
    else if (news.released)
        sender_progress(sender, &news, flight_before, ack->held_us, now);
    if (news.released)
        sender->fruitless = 0;
    if (!sender->requesting && (confirmed || news.released)) {
        if (sender->kept)
            timer_start(sender, now);
        else
            sender->timer = UDP_NEVER;
    }
    return news.released;
}

// ---- receiver ----

static inline uint64_t *word_of(udp_receiver_t *receiver, uint64_t sequence)
{
    return &receiver->here[sequence / 64 % (UDP_WINDOW_MAX / 64)];
}

static inline uint64_t bit_of(uint64_t sequence)
{
    return (uint64_t)1 << sequence % 64;
}

void udp_receiver_start(udp_receiver_t *receiver)
{
    *receiver = (udp_receiver_t){.epoch = UDP_FIRST_EPOCH};
}

udp_verdict_t udp_receiver_peek(const udp_receiver_t *receiver, uint32_t epoch, uint64_t sequence)
{
    if (epoch != receiver->epoch)
        return epoch - receiver->epoch < 1u << 31 ? UDP_FUTURE_EPOCH : UDP_OLD_EPOCH;
    if (sequence < receiver->cumulative)
        return UDP_DUPLICATE;
    if (sequence - receiver->cumulative >= UDP_WINDOW_MAX)
        return UDP_BEYOND;
    uint64_t word = receiver->here[sequence / 64 % (UDP_WINDOW_MAX / 64)];
    return word & bit_of(sequence) ? UDP_DUPLICATE : UDP_NEW;
}

static void receiver_mark(udp_receiver_t *receiver, uint64_t sequence)
{
    *word_of(receiver, sequence) |= bit_of(sequence);
    while (*word_of(receiver, receiver->cumulative) & bit_of(receiver->cumulative)) {
        *word_of(receiver, receiver->cumulative) &= ~bit_of(receiver->cumulative);
        receiver->cumulative++;
    }
}

udp_verdict_t udp_receiver_take(udp_receiver_t *receiver, uint32_t epoch, uint64_t sequence)
{
    udp_verdict_t verdict = udp_receiver_peek(receiver, epoch, sequence);
    receiver->counts[verdict]++;
    if (verdict == UDP_NEW)
        receiver_mark(receiver, sequence);
    if (verdict == UDP_NEW || verdict == UDP_DUPLICATE) {
        receiver->owed++;
        receiver->news = ACK_REPEATS;
    }
    return verdict;
}

bool udp_receiver_request(udp_receiver_t *receiver, uint32_t epoch)
{
    bool next = epoch == receiver->epoch + 1, confirms = next || epoch == receiver->epoch;
    if (next) {
        receiver->epoch = epoch;
        receiver->epochs++;
    }
    if (confirms)
        receiver->news = ACK_REPEATS;
    receiver->requests[confirms]++;
    return confirms;
}

// The 64 bits from number cumulative + 1 on. No other number of the window lies among these.
static uint64_t receiver_selective(const udp_receiver_t *receiver)
{
    const unsigned words = UDP_WINDOW_MAX / 64;
    uint64_t from = receiver->cumulative + 1;
    uint64_t low = receiver->here[from / 64 % words],
             high = receiver->here[(from / 64 + 1) % words];
    unsigned shift = from % 64;
    return shift ? low >> shift | high << (64 - shift) : low;
}

void udp_receiver_ack(udp_receiver_t *receiver, uint32_t credit, udp_ack_t *ack)
{
    *ack = (udp_ack_t){
        .epoch = receiver->epoch,
        .credit = credit,
        .cumulative = receiver->cumulative,
        .selective = receiver_selective(receiver),
    };
    receiver->owed = 0;
    if (receiver->news)
        receiver->news--;
}

bool udp_receiver_gap(const udp_receiver_t *receiver)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < UDP_WINDOW_MAX / 64; i++)
        any |= receiver->here[i];
    return any != 0;
}
