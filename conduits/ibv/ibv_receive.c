// Messages in: from the completion queue into the queue of their class, and from there to their
// handlers.
//
// The shared receive queue has some buffers more than credits stand for. When half of them are used
// up, spare buffers go in at once, all in one call; if there are none and no more than needed are
// left, the message is copied before its handler runs, and its own buffer goes back. So by the time
// a credit returns to its owner, the buffer that it stands for is there.
#include "ibv_conduit.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/clock.h"
#include "../../other/base/log.h"

enum {
    DELIVER_MOST = 32, // messages that one poll delivers
    RINGS_FIRST = 8,   // turns with messages from rings for each look at the completions
    SENDING_TURNS = 4, // sends for each look at what has arrived
    RING_FLAGS = AQ_IBV_LEFT | AQ_IBV_ANSWER,
};

_Thread_local bool aq_ibv_answers_ring;

// ---- queues ----

static void enqueue(aq_ibv_queue_t *queue, aq_ibv_buffer_t *buffer)
{
    buffer->next = NULL;
    if (!queue->last)
        queue->last = &queue->first;
    *queue->last = buffer;
    queue->last = &buffer->next;
    atomic_fetch_add_explicit(&queue->count, 1, memory_order_relaxed);
}

static aq_ibv_buffer_t *dequeue(aq_ibv_conduit_t *ibv, aq_ibv_queue_t *queue)
{
    if (!atomic_load_explicit(&queue->count, memory_order_relaxed))
        return NULL;
    aq_lock_take(&ibv->queue_lock);
    aq_ibv_buffer_t *buffer = queue->first;
    if (buffer) {
        queue->first = buffer->next;
        if (!queue->first)
            queue->last = &queue->first;
        atomic_fetch_sub_explicit(&queue->count, 1, memory_order_relaxed);
    }
    aq_lock_drop(&ibv->queue_lock);
    return buffer;
}

// ---- out of the completion queue ----

static const aq_ibv_head_t *head_of(const aq_ibv_buffer_t *buffer)
{
    return (const aq_ibv_head_t *)(const void *)buffer->bytes;
}

// Ends the job: no correct peer has sent this.
static _Noreturn __attribute__((cold)) void refuse(const aq_ibv_conduit_t *ibv, uint32_t rank,
                                                   const char *why)
{
    aq_log_error("fatal: a message of rank %u is wrong: %s", rank, why);
    ibv->base.env->boot->ops->abort(ibv->base.env->boot, 1);
}

// Bytes of the payload that travel in the message.
static size_t carried(const aq_ibv_head_t *head)
{
    const bool is_placed = head->kind == AQ_AM_LONG && !(head->flags & AQ_IBV_PACKED);
    return head->kind == AQ_AM_SHORT || is_placed ? 0 : head->nbytes;
}

// What a message says of itself is in the bytes that came.
static void check_head(const aq_ibv_conduit_t *ibv, const aq_ibv_buffer_t *buffer)
{
    const aq_ibv_head_t *head = head_of(buffer);
    const size_t bytes = buffer->nbytes;
    if (bytes < sizeof *head || head->source >= ibv->base.env->size)
        refuse(ibv, bytes < sizeof *head ? ibv->base.env->rank : head->source, "it names no rank");
    if (head->kind > AQ_IBV_COPY || head->nargs > AQ_AM_MAX_ARGS)
        refuse(ibv, head->source, "there is no such kind, or too many arguments");
    if (head->kind == AQ_IBV_CREDITS || head->kind == AQ_IBV_ASK)
        return;
    const size_t at = aq_ibv_payload_at(head->kind, head->nargs);
    if (at > bytes || carried(head) > bytes - at)
        refuse(ibv, head->source, "it is shorter than it says");
}

static void sort_in(aq_ibv_conduit_t *ibv, aq_ibv_buffer_t *buffer)
{
    enqueue(head_of(buffer)->flags & AQ_IBV_REPLY ? &ibv->replies : &ibv->requests, buffer);
}

// With the queue lock held: a message has been taken out of the shared queue, which has some
// buffers more than it needs. So several are replaced at a time, unless there is no spare one.
static void replace(aq_ibv_conduit_t *ibv, aq_ibv_buffer_t *buffer, aq_ibv_buffer_t **spares)
{
    aq_ibv_buffer_t *spare;
    buffer->owed = false;
    if (++ibv->missing <= ibv->limits.ahead / 2)
        return;
    while (ibv->missing && (spare = aq_ibv_buffer_take(&ibv->arrivals)) != NULL) {
        spare->next = *spares;
        *spares = spare;
        ibv->missing--;
    }
    if (ibv->missing > ibv->limits.ahead) {
        buffer->owed = true;
        ibv->missing--;
    }
}

// Takes a batch out of the device; returns how many.
static unsigned take_batch(aq_ibv_conduit_t *ibv)
{
    struct ibv_wc wc[AQ_IBV_BATCH];
    aq_ibv_buffer_t *spares = NULL;
    int count = ibv_poll_cq(ibv->receive_cq, AQ_IBV_BATCH, wc);
    if (count <= 0)
        return 0;
    aq_lock_take(&ibv->queue_lock);
    for (int i = 0; i < count; i++) {
        aq_ibv_buffer_t *buffer = (aq_ibv_buffer_t *)(uintptr_t)wc[i].wr_id;
        if (wc[i].status != IBV_WC_SUCCESS)
            continue; // a queue pair has failed: its sends tell
        buffer->nbytes = wc[i].byte_len;
        check_head(ibv, buffer);
        replace(ibv, buffer, &spares);
        sort_in(ibv, buffer);
        if (wc[i].byte_len <= ibv->limits.ring_bytes || head_of(buffer)->flags & RING_FLAGS)
            aq_ibv_ring_count(ibv, head_of(buffer));
    }
    // Before anybody can run what has arrived, and give its credit back.
    if (spares)
        aq_ibv_post_arrivals(ibv, spares);
    aq_lock_drop(&ibv->queue_lock);
    atomic_fetch_add_explicit(&ibv->arrived, (unsigned)count, memory_order_relaxed);
    return (unsigned)count;
}

// Takes as many out of the rings, at most; returns how many.
static unsigned take_from_rings(aq_ibv_conduit_t *ibv)
{
    aq_ibv_buffer_t *buffer;
    unsigned taken = 0;
    for (; taken < AQ_IBV_BATCH && (buffer = aq_ibv_rings_next(ibv)) != NULL; taken++) {
        check_head(ibv, buffer);
        aq_ibv_ring_count(ibv, head_of(buffer));
        aq_lock_take(&ibv->queue_lock);
        sort_in(ibv, buffer);
        aq_lock_drop(&ibv->queue_lock);
    }
    return taken;
}

// ---- to the handlers ----

static aq_ibv_peer_t *link_started(aq_ibv_conduit_t *ibv, uint32_t rank)
{
    aq_ibv_peer_t *link = atomic_load_explicit(&ibv->link_of[rank], memory_order_acquire);
    return link && atomic_load_explicit(&link->started, memory_order_acquire) ? link : NULL;
}

// Messages may come before the thread that connects has learned that their sender is connected:
// that is a matter of moments. A rank that is still not connected after the exit timeout has a
// wrong name in its messages.
static aq_ibv_peer_t *await_link(aq_ibv_conduit_t *ibv, uint32_t rank)
{
    const uint64_t end = aq_clock_ns() + ibv->base.env->exit_timeout_ns;
    aq_ibv_peer_t *link;
    while (!(link = link_started(ibv, rank))) {
        if (aq_clock_ns() > end)
            refuse(ibv, rank, "that rank is not connected");
        sched_yield();
    }
    return link;
}

static aq_ibv_peer_t *sender_of(aq_ibv_conduit_t *ibv, uint32_t rank)
{
    aq_ibv_peer_t *link = link_started(ibv, rank);
    return __builtin_expect(link != NULL, 1) ? link : await_link(ibv, rank);
}

// Nothing is written before it is known to go into a segment of this process. A payload that the
// device has written is where a key of this process allowed it.
static void check_place(const aq_ibv_conduit_t *ibv, const aq_ibv_head_t *head, uint64_t place)
{
    void *dest = (void *)(uintptr_t)place;
    if (__builtin_expect(ibv->base.env->segment_holds(dest, head->nbytes), 1))
        return;
    aq_log_error("fatal: a Long of rank %u (%u bytes to %p) is not inside a segment of this "
                 "process",
                 head->source, head->nbytes, dest);
    ibv->base.env->boot->ops->abort(ibv->base.env->boot, 1);
}

// Whether there is a reply, or will be.
static bool call_handler(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, uint8_t *message)
{
    const aq_ibv_head_t *head = (const aq_ibv_head_t *)(const void *)message;
    aq_arrival_t arrival = {
        .args = (const int32_t *)(const void *)(message + sizeof *head),
        .payload = message + aq_ibv_payload_at(head->kind, head->nargs),
        .nbytes = head->nbytes,
        .source = head->source,
        .category = head->kind,
        .handler = head->handler,
        .nargs = head->nargs,
        .reply = head->flags & AQ_IBV_REPLY,
    };
    if (head->kind == AQ_AM_LONG) {
        uint64_t place;
        memcpy(&place, message + aq_ibv_place_at(head->nargs), sizeof place);
        check_place(ibv, head, place);
        if (head->flags & AQ_IBV_PACKED && head->nbytes)
            memcpy((void *)(uintptr_t)place, arrival.payload, head->nbytes);
        arrival.payload = (void *)(uintptr_t)place;
    }
    if (head->kind <= AQ_AM_LONG)
        return ibv->base.env->deliver(&arrival);
    aq_ibv_reach_arrived(ibv, link, &arrival);
    return true;
}

// The credits that a message gives back: those that it names, and of a reply that of its request.
static unsigned credits_in(const aq_ibv_head_t *head)
{
    const bool replies = head->flags & AQ_IBV_REPLY && !(head->flags & AQ_IBV_UNCOUNTED);
    return head->credits +
           (replies && (head->kind != AQ_IBV_CREDITS || head->flags & AQ_IBV_ANSWER));
}

static void run_request(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, uint8_t *message, bool by_ring)
{
    const bool before = aq_ibv_answers_ring;
    aq_ibv_answers_ring = by_ring;
    const bool replied = call_handler(ibv, link, message);
    aq_ibv_answers_ring = before;
    if (!replied && !by_ring)
        aq_ibv_bank(ibv, link);
}

// Message, whose buffer has been replaced, or is a slot of a ring.
static void run(aq_ibv_conduit_t *ibv, uint8_t *message, bool by_ring)
{
    const aq_ibv_head_t head = *(const aq_ibv_head_t *)(const void *)message;
    aq_ibv_peer_t *link = sender_of(ibv, head.source);
    if (!aq_credit_give(&link->credit, credits_in(&head)))
        refuse(ibv, head.source, "it gives back more credits than requests are under way");
    aq_ibv_ring_hear(ibv, link, &head);
    if (head.kind == AQ_IBV_ASK) {
        aq_ibv_ring_leave(ibv, link);
        aq_ibv_send_answer(ibv, link);
    } else if (head.kind != AQ_IBV_CREDITS && head.flags & AQ_IBV_REPLY) {
        call_handler(ibv, link, message);
    } else if (head.kind != AQ_IBV_CREDITS) {
        run_request(ibv, link, message, by_ring);
    }
}

static void deliver(aq_ibv_conduit_t *ibv, aq_ibv_buffer_t *buffer)
{
    if (buffer->owed) {
        _Alignas(16) uint8_t copy[AQ_IBV_BUFFER_BYTES];
        memcpy(copy, buffer->bytes, sizeof copy);
        buffer->next = NULL;
        aq_ibv_post_arrivals(ibv, buffer);
        atomic_fetch_add_explicit(&ibv->copies, 1, memory_order_relaxed);
        run(ibv, copy, false);
        return;
    }
    run(ibv, buffer->bytes, buffer->ring);
    if (buffer->ring)
        aq_ibv_ring_done(ibv, buffer);
    else
        aq_ibv_buffer_put(buffer);
}

// Who spins looks at the rings in use a few times, since a look at them costs far less than one at
// the completions.
static unsigned look_at_rings(aq_ibv_conduit_t *ibv, bool spinning)
{
    unsigned taken, looks = 0;
    do {
        taken = take_from_rings(ibv);
        looks += ibv->rings_active;
    } while (spinning && ibv->rings_active && !taken && looks < AQ_IBV_RING_LOOKS);
    return taken;
}

// False: another thread is at it. While messages come by rings, the completions are looked at less
// often.
static bool take_arrivals(aq_ibv_conduit_t *ibv, bool spinning)
{
    if (!aq_lock_try(&ibv->receiving))
        return false;
    if (ibv->rings_leaving)
        aq_ibv_rings_free_left(ibv);
    if (!look_at_rings(ibv, spinning) || ++ibv->ring_turns % RINGS_FIRST == 0)
        take_batch(ibv);
    aq_lock_drop(&ibv->receiving);
    return true;
}

static unsigned deliver_some(aq_ibv_conduit_t *ibv, unsigned what)
{
    aq_ibv_buffer_t *buffer;
    unsigned delivered = 0;
    while (delivered < DELIVER_MOST &&
           ((buffer = dequeue(ibv, &ibv->replies)) != NULL ||
            (what & AQ_POLL_REQUESTS && (buffer = dequeue(ibv, &ibv->requests)) != NULL))) {
        deliver(ibv, buffer);
        delivered++;
    }
    aq_ibv_send_due(ibv);
    aq_ibv_reach_go_on(ibv);
    return delivered;
}

// Who sends on and on leaves short operations in their list, looks up now and then, and for what is
// over when it needs that.
static bool is_put_off(aq_ibv_conduit_t *ibv, unsigned what)
{
    if (!(what & AQ_POLL_SENDING))
        return false;
    const unsigned sent = atomic_load_explicit(&ibv->sending_turns, memory_order_relaxed) + 1;
    atomic_store_explicit(&ibv->sending_turns, sent, memory_order_relaxed);
    return sent % SENDING_TURNS != 0;
}

// A device made of software works in a thread of the kernel, on the processor that gave it the
// work: one that spins until it is done takes half of that processor from it.
static void let_device_work(const aq_ibv_conduit_t *ibv)
{
    if (ibv->limits.in_software && atomic_load_explicit(&ibv->ops_used, memory_order_relaxed))
        sched_yield();
}

unsigned aq_ibv_poll(aq_conduit_t *conduit, unsigned what)
{
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    if (is_put_off(ibv, what))
        return 0;
    unsigned done = what & AQ_POLL_SENDING ? 0 : aq_ibv_reap(ibv);
    take_arrivals(ibv, what & AQ_POLL_AGAIN);
    done += deliver_some(ibv, what);
    if (!done && !(what & AQ_POLL_SENDING))
        let_device_work(ibv);
    return done;
}

int aq_ibv_poll_by_thread(void *context)
{
    aq_ibv_conduit_t *ibv = context;
    bool looked = take_arrivals(ibv, false);
    unsigned delivered = deliver_some(ibv, AQ_POLL_REQUESTS | AQ_POLL_REPLIES);
    if (delivered)
        aq_ibv_wake(&ibv->base, false); // threads of the client may wait for what handlers did
    // Nothing wakes this thread when there is room for what it has to send.
    if (!delivered &&
        (!aq_ibv_reach_go_on(ibv) || atomic_load_explicit(&ibv->credits_due, memory_order_relaxed)))
        return 1;
    return delivered ? (int)delivered : looked ? 0 : -1;
}
