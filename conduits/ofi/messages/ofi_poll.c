// SPDX-License-Identifier: BSD-3-Clause
// Polling: completions of the provider, and what follows from them.
#include <stdlib.h>

#include "../../../core/ground/fatal.h"
#include "../rma/ofi_ondemand.h"
#include "../rma/ofi_rma_op.h"

enum {
    READ_AT_ONCE = 16,
    SENDING_TURNS = 8, // one of so many polls by a busy sender does something
    IDLE_TURNS = 1024, // one of so many polls that find nothing looks at the clock
};

static void completion_take(ofi_conduit_t *ofi, const struct fi_cq_data_entry *entry)
{
    ofi_op_t *op = entry->op_context;
    if (op->kind == OFI_OP_SEND) {
        ofi_sent(ofi, (ofi_packet_t *)op);
    } else if (op->kind == OFI_OP_RMA) {
        ofi_rma_completed(ofi, op);
    } else {
        ofi_inbox_t *inbox = (ofi_inbox_t *)op;
        const bool many = ofi->fabric.traits.multi_receive;
        ofi_received(ofi, inbox, many && entry->len ? entry->buf : inbox->bytes, entry->len,
                     !many || (entry->flags & FI_MULTI_RECV));
    }
}

// ---- errors ----

// An injected message, a receive, or what a provider sends by itself: the entry does not say to
// which peer.
static void fail_unknown(ofi_conduit_t *ofi, const struct fi_cq_err_entry *entry)
{
    ofi_losses_note(&ofi->losses, OFI_RANK_UNKNOWN, ofi->fabric.info->fabric_attr->prov_name,
                    ofi->fabric.info->domain_attr->name, fi_strerror(entry->err));
}

// A peer that dies takes along a message that is being received. One that is too long for an inbox
// comes from a stranger, since no rank sends such. A receive that was cancelled belongs to an
// endpoint that closes.
static void receive_failed(ofi_conduit_t *ofi, ofi_inbox_t *inbox,
                           const struct fi_cq_err_entry *entry)
{
    if (entry->err == FI_ECANCELED || atomic_load(&ofi->losses.closing))
        return;
    if (entry->err == FI_ETRUNC)
        ofi_drop_foreign(ofi);
    else
        fail_unknown(ofi, entry);
    ofi_received(ofi, inbox, inbox->bytes, 0,
                 !ofi->fabric.traits.multi_receive || (entry->flags & FI_MULTI_RECV));
}

static void error_take(ofi_conduit_t *ofi, const struct fi_cq_err_entry *entry)
{
    ofi_op_t *op = entry->op_context;
    if (!op) {
        fail_unknown(ofi, entry);
        return;
    }
    if (op->kind == OFI_OP_RECEIVE) {
        receive_failed(ofi, (ofi_inbox_t *)op, entry);
        return;
    }
    if (op->kind == OFI_OP_RMA) {
        ofi_rma_failed(ofi, op, entry->err);
        return;
    }
    if (!op->link->dead)
        ofi_link_failed(ofi, op->link, entry->err);
    ofi_sent(ofi, (ofi_packet_t *)op);
}

static bool error_read(ofi_conduit_t *ofi)
{
    struct fi_cq_err_entry entry = {0};
    if (fi_cq_readerr(ofi->fabric.queue, &entry, 0) != 1)
        return false;
    entry.err = abs(entry.err); // provider shm gives negative ones
    error_take(ofi, &entry);
    return true;
}

unsigned ofi_progress(ofi_conduit_t *ofi)
{
    struct fi_cq_data_entry entries[READ_AT_ONCE];
    const ssize_t count = fi_cq_read(ofi->fabric.queue, entries, READ_AT_ONCE);
    if (count == -FI_EAVAIL)
        return error_read(ofi);
    if (count == -FI_EAGAIN || count == 0)
        return 0;
    if (count < 0)
        aq_fatal("the completion queue of provider %s cannot be read: %s",
                 ofi->fabric.info->fabric_attr->prov_name, fi_strerror((int)-count));
    for (ssize_t i = 0; i < count; i++)
        completion_take(ofi, &entries[i]);
    return (unsigned)count;
}

// ---- polls ----

// Whether a poll by a busy sender does nothing. Concurrent threads may lose counts.
static bool skips_turn(ofi_conduit_t *ofi)
{
    const unsigned polls = atomic_load_explicit(&ofi->sender_polls, memory_order_relaxed);
    atomic_store_explicit(&ofi->sender_polls, polls + 1, memory_order_relaxed);
    return polls % SENDING_TURNS;
}

// Returns what was done, 0 also if another thread is here.
static unsigned flush_and_progress(ofi_conduit_t *ofi, bool flush)
{
    if (!aq_lock_try(&ofi->lock))
        return 0;
    unsigned done = flush && ofi->dirty ? ofi_flush(ofi) : 0;
    done += ofi_progress(ofi);
    if (!done && ++ofi->idle_polls % IDLE_TURNS == 0)
        ofi_links_watch(ofi);
    ofi_rma_op_t *ended = ofi_rma_take_ended(ofi->rma);
    aq_lock_drop(&ofi->lock);
    if (ended)
        ofi_rma_release(ofi, ended);
    return done;
}

static void flush_answers(ofi_conduit_t *ofi)
{
    aq_lock_take(&ofi->lock);
    if (ofi->dirty)
        (void)ofi_flush(ofi);
    aq_lock_drop(&ofi->lock);
}

// A busy sender leaves packets open, so that many small operations share one.
unsigned ofi_poll(aq_conduit_t *conduit, unsigned what)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    const bool sending = what & AQ_POLL_SENDING;
    if (sending && skips_turn(ofi))
        return 0;
    const unsigned done = flush_and_progress(ofi, !sending), delivered = ofi_deliver(ofi, what);
    ofi_ondemand_progress(ofi);
    if (delivered && !sending)
        flush_answers(ofi);
    if (__builtin_expect(atomic_load_explicit(&ofi->losses.any, memory_order_relaxed), 0))
        ofi_losses_watch(&ofi->losses);
    return done + delivered;
}
