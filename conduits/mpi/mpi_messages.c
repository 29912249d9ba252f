// SPDX-License-Identifier: BSD-3-Clause
// Messages: sending, receiving, and credits.
#include <string.h>

#include "../../core/ground/fatal.h"
#include "../../other/base/minmax.h"
#include "mpi_messages.h"
#include "mpi_fail.h"
#include "mpi_buffers.h"
#include "mpi_link.h"
#include "mpi_rma.h"
#include "../../core/aqueduct.h"

// ---- the link of a message ----

// The link that a message came by; NULL: no memory (logged). Under the lock.
static mpi_link_t *link_of_message(mpi_conduit_t *mpi, const mpi_slot_t *slot, size_t bytes,
                                   uint32_t source)
{
    mpi_header_t header = {0};
    memcpy(&header, slot->buffer, aq_min(bytes, sizeof header));
    if (mpi == mpi->main && !header.endpoint)
        return mpi_link_of(mpi, source);
    mpi_link_t *link = mpi == mpi->main ? NULL : mpi_window_find(mpi, source, header.endpoint);
    if (!link)
        aq_fatal(
            "a message of %zu bytes from endpoint %u of rank %u has come to endpoint %u, which "
            "is not connected to it; start all ranks with the same version of the library",
            bytes, header.endpoint, source, mpi->mail.base.endpoint);
    return link;
}

// ---- sending ----

static bool is_placed(const aq_am_t *am)
{
    return am->category == AQ_AM_LONG && am->dest_mapped;
}

static size_t message_bytes(const aq_am_t *am)
{
    size_t bytes = mpi_payload_at(am->category, am->nargs);
    if (is_placed(am))
        return bytes + sizeof am->nbytes;
    return am->category == AQ_AM_SHORT ? bytes : bytes + am->nbytes;
}

// Stores the payload of a Long at its destination. MPI's synchronization makes the payload visible
// before the message.
static void fill_placed(char *buffer, const aq_am_t *am)
{
    memcpy(buffer + mpi_args_end(am->nargs), &am->dest, sizeof am->dest);
    memcpy(buffer + mpi_payload_at(MPI_PLACED, am->nargs), &am->nbytes, sizeof am->nbytes);
    if (am->nbytes)
        memmove(am->dest_mapped, am->payload, am->nbytes);
}

static void message_fill(char *buffer, const aq_am_t *am, unsigned credits, uint16_t endpoint)
{
    const bool placed = is_placed(am);
    const mpi_header_t header = {.category = placed ? MPI_PLACED : am->category,
                                 .handler = am->handler,
                                 .nargs = am->nargs,
                                 .credits = (uint16_t)credits,
                                 .endpoint = endpoint};
    memcpy(buffer, &header, sizeof header);
    if (am->nargs)
        memcpy(buffer + sizeof header, am->args, am->nargs * sizeof *am->args);
    if (placed) {
        fill_placed(buffer, am);
        return;
    }
    if (am->category == AQ_AM_LONG)
        memcpy(buffer + mpi_args_end(am->nargs), &am->dest, sizeof am->dest);
    if (am->category != AQ_AM_SHORT && am->nbytes)
        memcpy(buffer + mpi_payload_at(am->category, am->nargs), am->payload, am->nbytes);
}

// Under the lock. For a request the caller has taken a credit.
static aq_status_t send_now(mpi_conduit_t *mpi, mpi_link_t *link, const aq_am_t *am)
{
    const unsigned class = am->reply ? MPI_REPLIES : MPI_REQUESTS;
    const size_t bytes = message_bytes(am);
    mpi_slot_t *slot = mpi_slot_take(mpi, class, bytes);
    if (!slot)
        return AQ_AGAIN;
    const unsigned credits = aq_credit_collect(&link->credit, UINT16_MAX);
    link->taken -= credits + am->reply;
    message_fill(slot->buffer, am, credits, mpi->mail.base.endpoint);
    return mpi_slot_send(mpi, class, slot, bytes, link);
}

aq_status_t mpi_conduit_send(aq_conduit_t *conduit, void *pointer, const aq_am_t *am)
{
    mpi_conduit_t *mpi = mpi_of(conduit);
    mpi_link_t *link = pointer;
    if (link->mail.doorbell)
        return aq_mail_send(conduit, link, am);
    if (!am->reply && !aq_credit_take(&link->credit))
        return AQ_AGAIN;
    mpi_enter(mpi);
    if (mpi->main->lost)
        mpi_conduit_fail(mpi, NULL, 0);
    aq_status_t status = send_now(mpi, link, am);
    mpi_leave(mpi);
    if (status == AQ_AGAIN && !am->reply)
        aq_credit_untake(&link->credit);
    return status;
}

// ---- hidden replies ----

// Returns the credits of a link in a message of their own. False: there is no send buffer now.
static bool return_credits(mpi_conduit_t *mpi, mpi_link_t *link)
{
    mpi_slot_t *slot = mpi_slot_take(mpi, MPI_REPLIES, sizeof(mpi_header_t));
    if (!slot)
        return false;
    const unsigned credits = aq_credit_collect(&link->credit, UINT16_MAX);
    const mpi_header_t header = {
        .category = MPI_HIDDEN, .credits = (uint16_t)credits, .endpoint = mpi->mail.base.endpoint};
    link->taken -= credits;
    memcpy(slot->buffer, &header, sizeof header);
    if (mpi_slot_send(mpi, MPI_REPLIES, slot, sizeof header, link) != AQ_OK)
        mpi_conduit_fail(mpi, "MPI_Isend", 0);
    return true;
}

// Returns credits as far as there are send buffers. Under the lock.
static void return_all_credits(mpi_conduit_t *mpi)
{
    while (mpi->credits_owed) {
        mpi_link_t *link = mpi->credits_owed;
        if (aq_credit_due(&link->credit) && !return_credits(mpi, link))
            return;
        mpi->credits_owed = link->next_owed;
        link->credits_owed = false;
    }
}

static void credits_owe(mpi_conduit_t *mpi, mpi_link_t *link)
{
    if (!link->credits_owed) {
        link->credits_owed = true;
        link->next_owed = mpi->credits_owed;
        mpi->credits_owed = link;
    }
    return_all_credits(mpi);
}

// ---- receiving ----

// Decodes a message; false: it is invalid.
static bool read_message(mpi_slot_t *slot, size_t bytes, mpi_header_t *header,
                         aq_arrival_t *arrival)
{
    if (bytes < sizeof *header)
        return false;
    memcpy(header, slot->buffer, sizeof *header);
    size_t at = mpi_payload_at(header->category, header->nargs);
    if (header->category > MPI_HIDDEN || header->nargs > AQ_AM_MAX_ARGS || at > bytes ||
        (header->category == MPI_PLACED && bytes != at + sizeof arrival->nbytes))
        return false;
    arrival->args = (const int32_t *)(const void *)(slot->buffer + sizeof *header);
    arrival->payload = slot->buffer + at;
    arrival->nbytes = bytes - at;
    arrival->category = header->category;
    arrival->handler = header->handler;
    arrival->nargs = header->nargs;
    return true;
}

// Validates the destination before it writes anything. A payload that is already in place is in
// memory that MPI shares, to which any peer of this host can write in any case.
static void place_long(const mpi_conduit_t *mpi, mpi_slot_t *slot, aq_arrival_t *arrival)
{
    void *dest;
    memcpy(&dest, slot->buffer + mpi_args_end(arrival->nargs), sizeof dest);
    if (arrival->category == MPI_PLACED)
        memcpy(&arrival->nbytes, arrival->payload, sizeof arrival->nbytes);
    if (!mpi->mail.base.env->segment_holds(dest, arrival->nbytes))
        aq_fatal("a Long of rank %u (%zu bytes to %p) is not inside a segment of this process",
                 arrival->source, arrival->nbytes, dest);
    if (arrival->category != MPI_PLACED && arrival->nbytes)
        memcpy(dest, arrival->payload, arrival->nbytes);
    arrival->category = AQ_AM_LONG;
    arrival->payload = dest;
}

// Runs the handler, without the lock. Returns whether credits have to be returned by a message of
// their own.
static bool message_deliver(mpi_conduit_t *mpi, mpi_link_t *link, mpi_slot_t *slot, size_t bytes,
                            bool reply)
{
    mpi_header_t header;
    const aq_return_path_t path = {.conduit = &mpi->mail.base, .link = link};
    aq_arrival_t arrival = {.path = &path, .source = link->rank, .reply = reply};
    if (!read_message(slot, bytes, &header, &arrival) || (header.category == MPI_HIDDEN && !reply))
        aq_fatal("a message of %zu bytes from rank %u is not one of conduit mpi; start all ranks "
                 "with the same version of the library",
                 bytes, link->rank);
    if (!aq_credit_give(&link->credit, header.credits + (reply && header.category != MPI_HIDDEN)))
        aq_fatal("rank %u returns %u credits, more than it holds", link->rank, header.credits);
    if (header.category == MPI_HIDDEN)
        return false;
    if (header.category == AQ_AM_LONG || header.category == MPI_PLACED)
        place_long(mpi, slot, &arrival);
    bool replied = mpi->mail.base.env->deliver(&arrival);
    return !reply && !replied && aq_credit_bank(&link->credit);
}

// Receives one message; false: there is none. Called and returns with the lock held.
static bool take_one(mpi_conduit_t *mpi, unsigned what)
{
    mpi_slot_t *slot;
    size_t bytes;
    uint32_t source;
    int class = mpi_receive_next(mpi, what, &slot, &bytes, &source);
    if (class < 0)
        return false;
    mpi_link_t *link = link_of_message(mpi, slot, bytes, source);
    if (!link)
        mpi_conduit_fail(mpi, NULL, 0);
    link->taken += class == MPI_REQUESTS;
    if (link->taken > mpi->limits.each)
        aq_fatal("rank %u has %u requests under way, and credits for %u only", source, link->taken,
                 mpi->limits.each);
    mpi_leave(mpi);
    bool due = message_deliver(mpi, link, slot, bytes, class == MPI_REPLIES);
    mpi_enter(mpi);
    if (mpi->main->lost)
        mpi_conduit_fail(mpi, NULL, 0);
    mpi_receive_done(mpi, (unsigned)class, slot);
    if (due)
        credits_owe(mpi, link);
    return true;
}

// A busy sender does not flush after each put or get, so that one flush completes many.
static inline unsigned poll_messages(mpi_conduit_t *mpi, unsigned what)
{
    unsigned done = 0;
    if (!mpi_try_enter(mpi))
        return 0;
    if (mpi->rma.begun_count && (!(what & AQ_POLL_SENDING) || mpi->rma.begun_count == MPI_ACCESSES))
        done = mpi_rma_complete(mpi);
    done += take_one(mpi, what);
    mpi_slots_reclaim(mpi);
    return_all_credits(mpi);
    mpi_leave(mpi);
    return done;
}

unsigned mpi_poll_messages(mpi_conduit_t *mpi, unsigned what)
{
    return poll_messages(mpi, what);
}

// Whether a poll skips MPI, which takes longer to poll than the mailbox. If there are mailboxes, a
// spinning thread polls MPI only in thorough polls, and a busy sender only in one of MPI_PASSES.
static bool passes_mpi(mpi_conduit_t *mpi, unsigned what)
{
    if (!mpi->shared.far && !mpi->rma.win)
        return true;
    if (!mpi->shared.by_mail || !(what & (AQ_POLL_AGAIN | AQ_POLL_SENDING)))
        return false;
    return (what & AQ_POLL_AGAIN) ||
           atomic_fetch_add_explicit(&mpi->shared.passes, 1, memory_order_relaxed) % MPI_PASSES;
}

void mpi_check_lost(mpi_conduit_t *mpi)
{
    if (__builtin_expect(atomic_load_explicit(&mpi->main->lost, memory_order_relaxed), 0)) {
        mpi_enter(mpi);
        mpi_conduit_fail(mpi, NULL, 0);
    }
}

unsigned mpi_conduit_poll(aq_conduit_t *conduit, unsigned what)
{
    mpi_conduit_t *mpi = mpi_of(conduit);
    mpi_check_lost(mpi);
    const unsigned done = mpi->shared.by_mail ? aq_mail_poll(conduit, what) : 0;
    return passes_mpi(mpi, what) ? done : done + poll_messages(mpi, what);
}

void mpi_conduit_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns)
{
    const mpi_conduit_t *mpi = mpi_of(conduit);
    if (mpi->shared.far || mpi->rma.win) // nothing wakes this process
        limit_ns = aq_min(limit_ns / MPI_NAPS, MPI_NAP_NS);
    aq_mail_sleep(conduit, armed, limit_ns);
}

size_t mpi_memory_bytes(aq_conduit_t *conduit)
{
    return mpi_of(conduit)->bytes;
}

void mpi_counters(aq_conduit_t *conduit, gasnetx_counters_t *sum)
{
    mpi_conduit_t *mpi = mpi_of(conduit);
    aq_mail_counters(conduit, sum);
    mpi_enter(mpi);
    sum->frames_sent += mpi->messages + mpi->accesses;
    sum->packets_sent += mpi->messages + mpi->accesses;
    sum->frames_received += mpi->received;
    sum->packets_received += mpi->received;
    mpi_leave(mpi);
}
