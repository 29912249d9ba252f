// SPDX-License-Identifier: BSD-3-Clause
// The writer's side of rings: ibv_send.c asks for a slot and puts news into headers; ibv_receive.c
// takes the peers' news out.
#include "ibv_ring_writer.h"

#include <string.h>

#include "ibv_ring_slot.h"

void aq_ibv_ring_use(aq_ibv_peer_t *link, uint8_t *message, size_t bytes, aq_ibv_work_t *work)
{
    aq_ibv_ring_out_t *out = &link->out;
    const uint32_t position = ++out->position;
    const size_t at = aq_ibv_ring_padded(bytes), total = at + AQ_IBV_FOOTER_BYTES;
    const aq_ibv_footer_t footer = {(uint32_t)bytes, position,
                                    aq_ibv_ring_hash(message, (uint32_t)bytes, position)};
    memset(message + bytes, 0, at - bytes);
    memcpy(message + at, &footer, sizeof footer);
    out->free_slots--;
    work->piece.length = (uint32_t)total;
    aq_ibv_work_rdma(work, IBV_WR_RDMA_WRITE,
                     out->at + ((position - 1) % out->depth + 1) * AQ_IBV_BUFFER_BYTES - total,
                     out->key);
}

// Declines the ring if there are no buffers for the replies to what would go there.
static void ring_begin(aq_ibv_ring_writer_t *writer, aq_ibv_ring_out_t *out, unsigned number)
{
    out->position = 0;
    out->generation++;
    if (atomic_fetch_add_explicit(&writer->held, 1, memory_order_relaxed) >=
        writer->limits->rings.count) {
        atomic_fetch_sub_explicit(&writer->held, 1, memory_order_relaxed);
        atomic_store_explicit(&out->left, true, memory_order_release);
        return;
    }
    out->at = out->base + (uint64_t)(number - 1) * out->depth * AQ_IBV_BUFFER_BYTES;
    out->free_slots = out->depth;
}

void aq_ibv_ring_hear(aq_ibv_ring_writer_t *writer, aq_ibv_peer_t *link, const aq_ibv_head_t *head)
{
    aq_ibv_ring_out_t *out = &link->out;
    if (!head->ring && !head->ring_slots)
        return;
    aq_lock_take(&out->lock);
    if (head->ring_slots >> AQ_IBV_GENERATION_SHIFT == out->generation % 4)
        out->free_slots += head->ring_slots & AQ_IBV_SLOTS_MASK;
    if (head->ring)
        ring_begin(writer, out, head->ring);
    aq_lock_drop(&out->lock);
}

void aq_ibv_ring_leave(aq_ibv_ring_writer_t *writer, aq_ibv_peer_t *link)
{
    aq_ibv_ring_out_t *out = &link->out;
    aq_lock_take(&out->lock);
    if (out->at) {
        out->at = 0;
        atomic_fetch_sub_explicit(&writer->held, 1, memory_order_relaxed);
        atomic_store_explicit(&out->left, true, memory_order_release);
    }
    aq_lock_drop(&out->lock);
}

void aq_ibv_ring_say(aq_ibv_peer_t *link, aq_ibv_head_t *head)
{
    if (atomic_load_explicit(&link->in.news, memory_order_relaxed))
        head->ring = atomic_exchange_explicit(&link->in.news, 0, memory_order_acquire);
    if (atomic_load_explicit(&link->out.left, memory_order_relaxed) &&
        atomic_exchange_explicit(&link->out.left, false, memory_order_acquire))
        head->flags |= AQ_IBV_LEFT;
    unsigned back = atomic_load_explicit(&link->in.returned, memory_order_relaxed);
    if (back & AQ_IBV_SLOTS_MASK) {
        back = atomic_fetch_and_explicit(&link->in.returned, ~(unsigned)AQ_IBV_SLOTS_MASK,
                                         memory_order_acquire);
        head->ring_slots = (uint8_t)(back & AQ_IBV_SLOTS_MASK ? back : 0);
    }
}
