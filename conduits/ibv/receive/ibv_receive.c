// SPDX-License-Identifier: BSD-3-Clause
// A poll of ibv_table.c: takes arrivals out of the completion queue and the rings, checks each
// header, and runs the messages through the core's handlers or the conduit's own.
#include "ibv_receive.h"

#include <sched.h>
#include <string.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/log/log.h"
#include "../rails/ibv_rail_setup.h"

enum {
    DELIVER_MAX = 32,  // messages that one poll delivers
    RINGS_FIRST = 8,   // polls with messages from rings for each poll of the completion queue
    SENDING_TURNS = 4, // polls of a busy sender for each check for arrivals
    REAPING_TURNS = 4, // polls that complete puts or gets for each that also checks for arrivals
    RING_FLAGS = AQ_IBV_LEFT | AQ_IBV_ANSWER,
};

// ---- queues ----

static void queue_push(aq_ibv_queue_t *queue, aq_ibv_buffer_t *buffer)
{
    buffer->next = NULL;
    if (!queue->last)
        queue->last = &queue->first;
    *queue->last = buffer;
    queue->last = &buffer->next;
    atomic_fetch_add_explicit(&queue->count, 1, memory_order_relaxed);
}

static aq_ibv_buffer_t *queue_pop(aq_ibv_receiver_t *receiver, aq_ibv_queue_t *queue)
{
    if (!atomic_load_explicit(&queue->count, memory_order_relaxed))
        return NULL;
    aq_lock_take(&receiver->queue_lock);
    aq_ibv_buffer_t *buffer = queue->first;
    if (buffer) {
        queue->first = buffer->next;
        if (!queue->first)
            queue->last = &queue->first;
        atomic_fetch_sub_explicit(&queue->count, 1, memory_order_relaxed);
    }
    aq_lock_drop(&receiver->queue_lock);
    return buffer;
}

// ---- receive buffers ----

// Posts a chain of buffers in the shared receive queue.
static void arrivals_post(aq_ibv_receiver_t *receiver, aq_ibv_buffer_t *first)
{
    struct ibv_recv_wr work[AQ_IBV_BATCH], *bad;
    struct ibv_sge piece[AQ_IBV_BATCH];
    while (first) {
        unsigned count = 0;
        for (; first && count < AQ_IBV_BATCH; first = first->next, count++) {
            piece[count] = (struct ibv_sge){.addr = (uintptr_t)first->bytes,
                                            .length = AQ_IBV_BUFFER_BYTES,
                                            .lkey = receiver->buffers->slab_mr->lkey};
            work[count] = (struct ibv_recv_wr){.wr_id = (uintptr_t)first,
                                               .next = &work[count + 1],
                                               .sg_list = &piece[count],
                                               .num_sge = 1};
        }
        work[count - 1].next = NULL;
        int error = ibv_post_srq_recv(receiver->srq, work, &bad);
        if (error)
            aq_log_error("the verbs device refuses a receive buffer: %s", strerror(error));
    }
}

void aq_ibv_receiver_open(aq_ibv_receiver_t *receiver)
{
    const aq_ibv_limits_t *limits = receiver->limits;
    for (unsigned i = 0; i < limits->receive_queues * (limits->arrivals + limits->ahead); i++) {
        aq_ibv_buffer_t *buffer = aq_ibv_buffer_take(&receiver->buffers->arrivals);
        buffer->next = NULL;
        arrivals_post(receiver, buffer);
    }
}

// With the queue lock held: a message has used up a posted buffer. Replaces several at a time,
// unless there are no spare ones.
static void arrival_replace(aq_ibv_receiver_t *receiver, aq_ibv_buffer_t *buffer,
                            aq_ibv_buffer_t **spares)
{
    aq_ibv_buffer_t *spare;
    buffer->owed = false;
    if (++receiver->missing <= receiver->limits->ahead / 2)
        return;
    while (receiver->missing &&
           (spare = aq_ibv_buffer_take(&receiver->buffers->arrivals)) != NULL) {
        spare->next = *spares;
        *spares = spare;
        receiver->missing--;
    }
    if (receiver->missing > receiver->limits->ahead) {
        buffer->owed = true;
        receiver->missing--;
    }
}

// ---- checks ----

static const aq_ibv_head_t *head_of(const aq_ibv_buffer_t *buffer)
{
    return (const aq_ibv_head_t *)(const void *)buffer->bytes;
}

// Ends the job: a correct peer does not send this. source: as in the header of a message.
static _Noreturn __attribute__((cold)) void message_refuse(const aq_ibv_receiver_t *receiver,
                                                           uint32_t source, const char *why)
{
    const aq_ibv_peers_t *peers = receiver->peers;
    const aq_ibv_peer_t *link =
        source < peers->numbers ? atomic_load(&peers->by_number[source]) : NULL;
    const uint32_t rank = link ? link->rank : source;
    aq_log_error("fatal: a message of rank %u is wrong: %s", rank, why);
    receiver->env->boot->ops->abort(receiver->env->boot, 1);
}

// Bytes of the payload that travel in the message.
static size_t bytes_carried(const aq_ibv_head_t *head)
{
    const bool is_placed = head->kind == AQ_AM_LONG && !(head->flags & AQ_IBV_PACKED);
    return head->kind == AQ_AM_SHORT || is_placed ? 0 : head->nbytes;
}

// Checks a header against the number of bytes that have arrived.
static void head_check(const aq_ibv_receiver_t *receiver, const aq_ibv_buffer_t *buffer)
{
    const aq_ibv_head_t *head = head_of(buffer);
    const size_t bytes = buffer->nbytes;
    if (bytes < sizeof *head || head->source >= receiver->peers->numbers)
        message_refuse(receiver, bytes < sizeof *head ? receiver->env->rank : head->source,
                       "it names no sender");
    if (head->kind > AQ_IBV_RAILS || head->nargs > AQ_AM_MAX_ARGS)
        message_refuse(receiver, head->source, "there is no such kind, or too many arguments");
    if (head->kind == AQ_IBV_CREDITS || head->kind == AQ_IBV_ASK)
        return;
    const size_t at = aq_ibv_payload_at(head->kind, head->nargs);
    if (at > bytes || bytes_carried(head) > bytes - at)
        message_refuse(receiver, head->source, "it is shorter than it says");
}

// ---- out of the completion queue and the rings ----

static void message_sort_in(aq_ibv_receiver_t *receiver, aq_ibv_buffer_t *buffer)
{
    queue_push(head_of(buffer)->flags & AQ_IBV_REPLY ? &receiver->replies : &receiver->requests,
               buffer);
}

// Takes a batch out of the completion queue; returns how many.
static unsigned take_batch(aq_ibv_receiver_t *receiver)
{
    struct ibv_wc wc[AQ_IBV_BATCH];
    aq_ibv_buffer_t *spares = NULL;
    int count =
        ibv_poll_cq(atomic_load_explicit(&receiver->cq, memory_order_acquire), AQ_IBV_BATCH, wc);
    if (count <= 0)
        return 0;
    aq_lock_take(&receiver->queue_lock);
    for (int i = 0; i < count; i++) {
        aq_ibv_buffer_t *buffer = (aq_ibv_buffer_t *)(uintptr_t)wc[i].wr_id;
        if (wc[i].status != IBV_WC_SUCCESS)
            continue; // a queue pair has failed; the completions of its sends report it
        buffer->nbytes = wc[i].byte_len;
        head_check(receiver, buffer);
        arrival_replace(receiver, buffer, &spares);
        message_sort_in(receiver, buffer);
        if (wc[i].byte_len <= receiver->limits->rings.bytes || head_of(buffer)->flags & RING_FLAGS)
            aq_ibv_ring_count(receiver->rings, head_of(buffer));
    }
    // Posts the buffers before another thread can run a message and return its credit.
    if (spares)
        arrivals_post(receiver, spares);
    aq_lock_drop(&receiver->queue_lock);
    atomic_fetch_add_explicit(&receiver->arrived, (unsigned)count, memory_order_relaxed);
    return (unsigned)count;
}

// Takes a batch out of the rings; returns how many.
static unsigned take_from_rings(aq_ibv_receiver_t *receiver)
{
    aq_ibv_buffer_t *buffer;
    unsigned taken = 0;
    for (; taken < AQ_IBV_BATCH && (buffer = aq_ibv_rings_next(receiver->rings)) != NULL; taken++) {
        head_check(receiver, buffer);
        aq_ibv_ring_count(receiver->rings, head_of(buffer));
        aq_lock_take(&receiver->queue_lock);
        message_sort_in(receiver, buffer);
        aq_lock_drop(&receiver->queue_lock);
    }
    return taken;
}

// A poll of a thread that spins polls the rings several times, since that costs far less than to
// poll the completion queue.
static unsigned poll_rings(aq_ibv_receiver_t *receiver, bool spinning)
{
    unsigned taken, looks = 0;
    do {
        taken = take_from_rings(receiver);
        looks += receiver->rings->active_count;
    } while (spinning && receiver->rings->active_count && !taken && looks < AQ_IBV_RING_LOOKS);
    return taken;
}

// While messages come through rings, the completion queue is polled less often.
bool aq_ibv_take_arrivals(aq_ibv_receiver_t *receiver, bool spinning)
{
    if (!aq_lock_try(&receiver->lock))
        return false;
    if (receiver->rings->left_count)
        aq_ibv_rings_free_left(receiver->rings);
    if (!poll_rings(receiver, spinning) || ++receiver->ring_turns % RINGS_FIRST == 0)
        take_batch(receiver);
    aq_lock_drop(&receiver->lock);
    return true;
}

bool aq_ibv_rings_quiet(aq_ibv_receiver_t *receiver, bool ask)
{
    aq_ibv_rings_t *rings = receiver->rings;
    if (!receiver->limits->rings.count)
        return true;
    if (!aq_lock_try(&receiver->lock))
        return false;
    aq_ibv_rings_free_left(rings);
    if (ask)
        aq_ibv_rings_ask_all(rings);
    bool quiet = !rings->active_count;
    aq_lock_drop(&receiver->lock);
    return quiet;
}

// ---- to the handlers ----

static aq_ibv_peer_t *link_started(const aq_ibv_receiver_t *receiver, uint32_t source)
{
    aq_ibv_peer_t *link =
        atomic_load_explicit(&receiver->peers->by_number[source], memory_order_acquire);
    return link && atomic_load_explicit(&link->started, memory_order_acquire) ? link : NULL;
}

// A message may overtake the event that tells the connector that its sender is connected; the event
// is then only moments away. A sender that is still not connected after the exit timeout has put a
// wrong number into its messages.
static aq_ibv_peer_t *link_await(const aq_ibv_receiver_t *receiver, uint32_t source)
{
    const uint64_t end = aq_clock_ns() + receiver->env->exit_timeout_ns;
    aq_ibv_peer_t *link;
    while (!(link = link_started(receiver, source))) {
        if (aq_clock_ns() > end)
            message_refuse(receiver, source, "that rank is not connected");
        sched_yield();
    }
    return link;
}

static aq_ibv_peer_t *sender_of(const aq_ibv_receiver_t *receiver, uint32_t source)
{
    aq_ibv_peer_t *link = link_started(receiver, source);
    return __builtin_expect(link != NULL, 1) ? link : link_await(receiver, source);
}

// Checks that a Long goes into a segment of this process, before anything is written. A payload
// that the device has written went where a key of this process allowed it.
static void place_check(const aq_ibv_receiver_t *receiver, const aq_ibv_peer_t *link,
                        const aq_ibv_head_t *head, uint64_t place)
{
    void *dest = (void *)(uintptr_t)place;
    if (__builtin_expect(receiver->env->segment_holds(dest, head->nbytes), 1))
        return;
    aq_log_error("fatal: a Long of rank %u (%u bytes to %p) is not inside a segment of this "
                 "process",
                 link->rank, head->nbytes, dest);
    receiver->env->boot->ops->abort(receiver->env->boot, 1);
}

// A message about the rails of a link, which gets no reply.
static bool rails_receive(const aq_ibv_receiver_t *receiver, aq_ibv_peer_t *link,
                          const aq_arrival_t *in)
{
    if (!aq_ibv_rails_arrived(receiver->rails, link, in->payload, in->nbytes))
        message_refuse(receiver, link->number, "it names no queue pairs as it should");
    return false;
}

// Returns whether there is a reply, or will be.
static bool handler_call(aq_ibv_receiver_t *receiver, aq_ibv_peer_t *link, uint8_t *message,
                         bool by_ring)
{
    const aq_ibv_head_t *head = (const aq_ibv_head_t *)(const void *)message;
    // Endpoint 0 names no link: a request may overtake the news that the connection is ready, and
    // the core waits for that before it replies. A window gets requests only when it is ready.
    aq_return_path_t path = {.cookie = by_ring ? AQ_IBV_COOKIE_RING : 0};
    if (__builtin_expect(receiver->window != NULL, 0)) {
        path.conduit = receiver->window;
        path.link = link;
    }
    aq_arrival_t arrival = {
        .args = (const int32_t *)(const void *)(message + sizeof *head),
        .payload = message + aq_ibv_payload_at(head->kind, head->nargs),
        .nbytes = head->nbytes,
        .path = &path,
        .source = link->rank,
        .category = head->kind,
        .handler = head->handler,
        .nargs = head->nargs,
        .reply = head->flags & AQ_IBV_REPLY,
    };
    if (head->kind == AQ_AM_LONG) {
        uint64_t place;
        memcpy(&place, message + aq_ibv_place_at(head->nargs), sizeof place);
        place_check(receiver, link, head, place);
        if (head->flags & AQ_IBV_PACKED && head->nbytes)
            memcpy((void *)(uintptr_t)place, arrival.payload, head->nbytes);
        arrival.payload = (void *)(uintptr_t)place;
    }
    if (head->kind < AQ_AM_CONTROL)
        return receiver->env->deliver(&arrival);
    if (head->kind == AQ_IBV_RAILS)
        return rails_receive(receiver, link, &arrival);
    aq_ibv_ondemand_arrived(receiver->ondemand, link, &arrival);
    return true;
}

// The credits that a message returns: those that its header names, and for a reply that of its
// request.
static unsigned credits_in(const aq_ibv_head_t *head)
{
    const bool replies = head->flags & AQ_IBV_REPLY && !(head->flags & AQ_IBV_UNCOUNTED);
    return head->credits +
           (replies && (head->kind != AQ_IBV_CREDITS || head->flags & AQ_IBV_ANSWER));
}

static void request_run(aq_ibv_receiver_t *receiver, aq_ibv_peer_t *link, uint8_t *message,
                        bool by_ring)
{
    const bool replied = handler_call(receiver, link, message, by_ring);
    if (!replied && !by_ring)
        aq_ibv_bank(receiver->sender, link);
}

// Runs a message whose buffer was replaced, or which is in a slot of a ring.
static void message_run(aq_ibv_receiver_t *receiver, uint8_t *message, bool by_ring)
{
    const aq_ibv_head_t head = *(const aq_ibv_head_t *)(const void *)message;
    aq_ibv_peer_t *link = sender_of(receiver, head.source);
    if (!aq_credit_give(&link->credit, credits_in(&head)))
        message_refuse(receiver, head.source,
                       "it returns more credits than it has requests outstanding");
    aq_ibv_ring_hear(receiver->writer, link, &head);
    if (head.kind == AQ_IBV_ASK) {
        aq_ibv_ring_leave(receiver->writer, link);
        aq_ibv_send_answer(receiver->sender, link);
    } else if (head.kind != AQ_IBV_CREDITS && head.flags & AQ_IBV_REPLY) {
        handler_call(receiver, link, message, by_ring);
    } else if (head.kind != AQ_IBV_CREDITS) {
        request_run(receiver, link, message, by_ring);
    }
}

static void buffer_deliver(aq_ibv_receiver_t *receiver, aq_ibv_buffer_t *buffer)
{
    if (buffer->owed) {
        _Alignas(16) uint8_t copy[AQ_IBV_BUFFER_BYTES];
        memcpy(copy, buffer->bytes, sizeof copy);
        buffer->next = NULL;
        arrivals_post(receiver, buffer);
        atomic_fetch_add_explicit(&receiver->copies, 1, memory_order_relaxed);
        message_run(receiver, copy, false);
        return;
    }
    message_run(receiver, buffer->bytes, buffer->ring);
    if (buffer->ring)
        aq_ibv_ring_done(receiver->rings, buffer);
    else
        aq_ibv_buffer_put(buffer);
}

unsigned aq_ibv_deliver_some(aq_ibv_receiver_t *receiver, unsigned what)
{
    aq_ibv_buffer_t *buffer;
    unsigned delivered = 0;
    while (delivered < DELIVER_MAX &&
           ((buffer = queue_pop(receiver, &receiver->replies)) != NULL ||
            (what & AQ_POLL_REQUESTS &&
             (buffer = queue_pop(receiver, &receiver->requests)) != NULL))) {
        buffer_deliver(receiver, buffer);
        delivered++;
    }
    aq_ibv_send_due(receiver->sender);
    aq_ibv_ondemand_progress(receiver->ondemand);
    return delivered;
}

// ---- polls ----

// Counts a turn; threads that count at the same time may lose one. Returns whether it is one of
// `every`.
static bool turn_is_due(atomic_uint *turns, unsigned every)
{
    const unsigned turn = atomic_load_explicit(turns, memory_order_relaxed) + 1;
    atomic_store_explicit(turns, turn, memory_order_relaxed);
    return turn % every == 0;
}

// Polls from a busy sender check for arrivals only every SENDING_TURNS calls. They leave short
// operations in their list, and reap completions only when a send finds no room.
static bool poll_is_put_off(aq_ibv_receiver_t *receiver, unsigned what)
{
    if (!(what & AQ_POLL_SENDING))
        return false;
    return !turn_is_due(&receiver->sending_turns, SENDING_TURNS);
}

// Whether to skip arrivals in this poll: a thread whose poll completes a put or get mostly waits
// for such completions.
static bool arrivals_are_put_off(aq_ibv_receiver_t *receiver, unsigned reaped)
{
    atomic_bool *transferred = &receiver->send_queue->transferred;
    if (!reaped || !atomic_load_explicit(transferred, memory_order_relaxed))
        return false;
    atomic_store_explicit(transferred, false, memory_order_relaxed);
    return !turn_is_due(&receiver->reaping_turns, REAPING_TURNS);
}

// Yields to a software device, whose kernel thread runs on the processor that posted the work: a
// thread that spins for the completion would take half of that processor.
static void let_device_work(const aq_ibv_receiver_t *receiver)
{
    if (receiver->limits->device.in_software &&
        atomic_load_explicit(&receiver->send_queue->ops_used, memory_order_relaxed))
        sched_yield();
}

unsigned aq_ibv_poll(aq_ibv_receiver_t *receiver, unsigned what)
{
    if (poll_is_put_off(receiver, what))
        return 0;
    unsigned done = what & AQ_POLL_SENDING ? 0 : aq_ibv_reap(receiver->send_queue);
    if (arrivals_are_put_off(receiver, done))
        return done;
    aq_ibv_take_arrivals(receiver, what & AQ_POLL_AGAIN);
    done += aq_ibv_deliver_some(receiver, what);
    if (!done && !(what & AQ_POLL_SENDING))
        let_device_work(receiver);
    return done;
}
