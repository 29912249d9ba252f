// SPDX-License-Identifier: BSD-3-Clause
// The operations send, prepare, commit and poll of the conduits that have mailboxes: a message
// becomes a run of slots in a ring (mail_ring.c), and the peer is woken (mailbox_sleep.c).
#include "mailbox.h"

#include <string.h>

#include "../../core/aqueduct.h"
#include "../../core/record/counters.h"
#include "../../other/base/log/log.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "gasnetex_core.h"
#include "mail_message.h"

enum {
    PAGE = GASNET_PAGESIZE,
    POLL_BUDGET = 32, // messages of each class that one poll delivers at most
};

// ---- layout ----

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static size_t ring_slots(void)
{
    size_t wanted =
        (size_t)aq_settings_int(AQ_SET_PSHM_NETWORK_DEPTH) * AQ_RING_MAX_MEDIUM / AQ_RING_SLOT;
    size_t slots = 1;
    while (slots < wanted)
        slots *= 2;
    return slots;
}

size_t aq_mailbox_bytes(void)
{
    return round_up(sizeof(aq_mailbox_t), PAGE) + 2 * ring_slots() * AQ_RING_SLOT;
}

static char *slots_of(const aq_mail_t *mail, aq_mailbox_t *mailbox, unsigned ring)
{
    return (char *)mailbox + round_up(sizeof *mailbox, PAGE) +
           ring * mail->ring_slots * AQ_RING_SLOT;
}

void aq_mail_open(aq_mail_t *mail, const aq_mail_areas_t *areas)
{
    mail->areas = *areas;
    mail->ring_slots = ring_slots();
    memcpy(&mail->key, mail->base.env->boot->key, sizeof mail->key);
    // neither a position nor the zero of fresh memory is taken for a flag
    mail->key |= (uint64_t)1 << 63;
    aq_mailbox_t *own = aq_mailbox_at(mail, areas->index);
    mail->doorbell = &own->doorbell;
    mail->asleep = &aq_mailbox_at(mail, 0)->asleep;
    for (unsigned i = 0; i < 2; i++)
        mail->in[i] = (aq_ring_in_t){
            .control = &own->ring[i],
            .slots = slots_of(mail, own, i),
            .count = mail->ring_slots,
            .key = mail->key,
        };
    aq_mail_sleep_start(mail);
}

void aq_mail_watch(aq_mail_t *mail)
{
    for (unsigned i = 0; i < 2; i++) {
        mail->in[i].watch = &mail->watch[2 * i];
        aq_ring_watch(&mail->in[i]);
    }
    mail->base.watch = mail->watch;
}

void aq_mail_link(const aq_mail_t *mail, aq_mailbox_t *peer, aq_mail_link_t *link)
{
    link->doorbell = &peer->doorbell;
    for (unsigned i = 0; i < 2; i++)
        link->out[i] = (aq_ring_out_t){
            .control = &peer->ring[i],
            .slots = slots_of(mail, peer, i),
            .count = mail->ring_slots,
            .key = mail->key,
        };
}

// ---- sending ----

// Call it after a frame was published: wakes the peer, and counts the frame. A process with one
// thread counts here, which is cheaper than the core's counters of threads. single_threaded also
// says that senders need no fence, so that one test decides both.
static inline void frame_left(aq_mail_t *mail, const aq_mail_link_t *link)
{
    if (__builtin_expect(mail->single_threaded, 1)) {
        atomic_signal_fence(memory_order_seq_cst);
        aq_mail_ring_sleepers(link);
        aq_cell_add(&mail->sent, 1);
    } else {
        aq_mail_wake_peer(mail, link);
        mail->base.env->count_frame(mail->base.endpoint);
    }
}

static inline void write_header(const aq_mail_t *mail, aq_ring_header_t *header, const aq_am_t *am,
                                size_t nbytes)
{
    header->descriptor = aq_ring_descriptor(am->handler, am->nargs, am->category, nbytes);
    header->source = mail->base.env->rank;
    aq_am_copy_args(aq_ring_args(header), am->args, am->nargs);
}

// Writes the payload directly to its destination if that is mapped; else puts it behind the body,
// and the receiver copies it. An empty payload may have no address.
static void write_long(aq_ring_header_t *header, const aq_am_t *am)
{
    aq_ring_long_t *body = aq_ring_body(header, am->nargs, am->dest_mapped ? 0 : am->nbytes);
    body->dest = am->dest;
    body->nbytes = am->nbytes;
    if (am->nbytes)
        memcpy(am->dest_mapped ? am->dest_mapped : (void *)(body + 1), am->payload, am->nbytes);
}

// The number of payload bytes that travel in the ring.
static inline size_t bytes_inside(const aq_am_t *am)
{
    return am->category == AQ_AM_MEDIUM || (am->category == AQ_AM_LONG && !am->dest_mapped)
               ? am->nbytes
               : 0;
}

aq_status_t aq_mail_send(aq_conduit_t *conduit, void *pointer, const aq_am_t *am)
{
    aq_mail_link_t *link = pointer;
    aq_ring_out_t *ring = &link->out[am->reply];
    size_t inside = bytes_inside(am);
    aq_ring_run_t run;
    if (!aq_ring_take(ring, aq_ring_slots(am->nargs, am->category, inside), &run))
        return AQ_AGAIN;
    write_header(aq_mail_of(conduit), run.header, am, inside);
    if (am->category == AQ_AM_LONG)
        write_long(run.header, am);
    else if (inside)
        memcpy(aq_ring_place_payload(run.header, am->nargs, inside, am->payload), am->payload,
               inside);
    aq_ring_publish(ring, &run);
    frame_left(aq_mail_of(conduit), link);
    return AQ_OK;
}

// ---- payload written in place ----

// A prepared payload is aligned as one of more than 8 bytes, however few it gets.
static size_t aligned_size(size_t size)
{
    return aq_max(size, (size_t)9);
}

static uint64_t prepared_slots(const aq_am_t *am, size_t size)
{
    return aq_ring_slots(am->nargs, AQ_AM_MEDIUM, aligned_size(size));
}

aq_status_t aq_mail_prepare(aq_conduit_t *conduit, void *pointer, const aq_am_t *am, size_t least,
                            size_t most, aq_reservation_t *out)
{
    (void)conduit;
    aq_mail_link_t *link = pointer;
    aq_ring_out_t *ring = &link->out[am->reply];
    aq_ring_run_t run;
    size_t size = most;
    if (!aq_ring_take(ring, prepared_slots(am, size), &run)) {
        size = least;
        if (least == most || !aq_ring_take(ring, prepared_slots(am, size), &run))
            return AQ_AGAIN;
    }
    void *payload = aq_ring_place_payload(run.header, am->nargs, aligned_size(size), NULL);
    *out = (aq_reservation_t){payload, size, run.position | run.gap};
    return AQ_OK;
}

static aq_ring_run_t run_of(const aq_ring_out_t *ring, const aq_reservation_t *room)
{
    return aq_ring_run_at(ring, room->cookie & ~AQ_RING_GAP, room->cookie & AQ_RING_GAP);
}

// Turns slots that a message leaves unused into a message that is skipped.
static void skip_rest(const aq_ring_out_t *ring, const aq_ring_run_t *run, uint64_t used,
                      uint64_t taken)
{
    const aq_ring_run_t rest = aq_ring_run_at(ring, run->position + used, used ? 0 : run->gap);
    aq_ring_skip(ring, &rest, taken - used);
}

static void finish_send(const aq_mail_link_t *link, const aq_am_t *am, const aq_reservation_t *room,
                        uint64_t used)
{
    const aq_ring_out_t *ring = &link->out[am->reply];
    const aq_ring_run_t run = run_of(ring, room);
    const uint64_t taken = prepared_slots(am, room->size);
    if (used < taken)
        skip_rest(ring, &run, used, taken);
    if (used)
        aq_ring_publish(ring, &run);
}

// The payload of a message that became short may begin nearer to the header.
static void place_payload(aq_ring_header_t *header, const aq_am_t *am, const aq_reservation_t *room)
{
    void *body = aq_ring_place_payload(header, am->nargs, am->nbytes, room->payload);
    if (body != room->payload)
        memmove(body, room->payload, am->nbytes);
}

void aq_mail_commit(aq_conduit_t *conduit, void *pointer, const aq_am_t *am,
                    const aq_reservation_t *room)
{
    aq_mail_link_t *link = pointer;
    aq_ring_header_t *header = run_of(&link->out[am->reply], room).header;
    place_payload(header, am, room);
    write_header(aq_mail_of(conduit), header, am, am->nbytes);
    finish_send(link, am, room, aq_ring_slots(am->nargs, AQ_AM_MEDIUM, am->nbytes));
    frame_left(aq_mail_of(conduit), link);
}

void aq_mail_cancel(aq_conduit_t *conduit, void *pointer, const aq_am_t *am,
                    const aq_reservation_t *room)
{
    finish_send(pointer, am, room, 0);
    aq_mail_wake_peer(aq_mail_of(conduit), pointer);
}

// ---- receiving ----

static unsigned poll_single(aq_mail_t *mail, unsigned what)
{
    unsigned done = 0;
    if (aq_ring_ready(&mail->in[1]))
        done += aq_ring_receive_single(&mail->in[1], POLL_BUDGET, true, mail->base.env);
    if (what & AQ_POLL_REQUESTS && aq_ring_ready(&mail->in[0]))
        done += aq_ring_receive_single(&mail->in[0], POLL_BUDGET, false, mail->base.env);
    return done;
}

static unsigned poll_shared(aq_mail_t *mail, unsigned what)
{
    unsigned done = 0;
    if (aq_ring_busy(&mail->in[1]))
        done += aq_ring_receive_shared(&mail->in[1], POLL_BUDGET, true, mail->base.env);
    if (what & AQ_POLL_REQUESTS && aq_ring_busy(&mail->in[0]))
        done += aq_ring_receive_shared(&mail->in[0], POLL_BUDGET, false, mail->base.env);
    return done;
}

unsigned aq_mail_poll(aq_conduit_t *conduit, unsigned what)
{
    aq_mail_t *mail = aq_mail_of(conduit);
    return conduit->env->threads ? poll_shared(mail, what) : poll_single(mail, what);
}

void aq_mail_counters(aq_conduit_t *conduit, gasnetx_counters_t *sum)
{
    const aq_mail_t *mail = aq_mail_of(conduit);
    sum->frames_sent += atomic_load_explicit(&mail->sent, memory_order_relaxed);
    for (unsigned i = 0; i < 2; i++)
        sum->frames_received += atomic_load_explicit(&mail->in[i].messages, memory_order_relaxed);
}

void aq_mail_dump_state(aq_conduit_t *conduit)
{
    static const char *const names[] = {"requests", "replies"};
    const aq_mail_t *mail = aq_mail_of(conduit);
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t head = atomic_load_explicit(&mail->in[i].head, memory_order_relaxed);
        const uint64_t tail =
            atomic_load_explicit(&mail->in[i].control->tail, memory_order_relaxed);
        aq_log_notice("%s: ring of %s: %lu slots taken in all, %lu of %lu not read yet",
                      conduit->ops->name, names[i], (unsigned long)tail,
                      (unsigned long)(tail - head), (unsigned long)mail->in[i].count);
    }
}
