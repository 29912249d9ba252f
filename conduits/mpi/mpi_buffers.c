// SPDX-License-Identifier: BSD-3-Clause
// The buffers that MPI sends from and receives into.
#include "mpi_buffers.h"
#include "mpi_fail.h"

#include <stdlib.h>

#include "../../other/base/log/log.h"

// Allocates the buffers of slots.
static bool slots_furnish(mpi_conduit_t *mpi, mpi_slot_t *slots, unsigned count, size_t bytes)
{
    char *memory = slots ? aligned_alloc(64, count * bytes) : NULL;
    if (!memory) {
        aq_log_error("out of memory for %u messages of %zu bytes; set AMMPI_CREDITS_PP or "
                     "GASNET_NETWORKDEPTH lower",
                     count, bytes);
        return false;
    }
    for (unsigned i = 0; i < count; i++)
        slots[i].buffer = memory + i * bytes;
    mpi->bytes += count * bytes;
    return true;
}

static void slot_push(mpi_slot_t **list, mpi_slot_t *slot)
{
    slot->next = *list;
    *list = slot;
}

static mpi_slot_t *slot_pop(mpi_slot_t **list)
{
    mpi_slot_t *slot = *list;
    if (slot)
        *list = slot->next;
    return slot;
}

// ---- opening ----

static bool open_sends(mpi_conduit_t *mpi, mpi_sends_t *sends, unsigned count, size_t bytes)
{
    mpi_slot_t *slots = calloc(count, sizeof *slots);
    if (!slots_furnish(mpi, slots, count, bytes)) {
        free(slots);
        return false;
    }
    for (unsigned i = 0; i < count; i++)
        slot_push(&sends->free, &slots[i]);
    return true;
}

static bool open_class_sends(mpi_conduit_t *mpi, unsigned class, unsigned small, unsigned large)
{
    return open_sends(mpi, &mpi->buffers.small[class], small, MPI_SMALL_BYTES) &&
           open_sends(mpi, &mpi->buffers.large[class], large, MPI_MESSAGE_BYTES);
}

static uint32_t *place_in_order(const mpi_receives_t *in, uint32_t i)
{
    const uint32_t place = in->first + i;
    return &in->order[place < in->room ? place : place - in->room];
}

static void receive_post(mpi_conduit_t *mpi, mpi_receives_t *in, mpi_slot_t *slot)
{
    int error = mpi->mpi->restart(&slot->request);
    if (error)
        mpi_conduit_fail(mpi, "MPI_Start", error);
    *place_in_order(in, in->posted++) = (uint32_t)(slot - in->slots);
}

// Makes and posts `more` receives.
static aq_status_t receives_add(mpi_conduit_t *mpi, unsigned class, uint32_t more)
{
    mpi_receives_t *in = &mpi->buffers.in[class];
    if (!slots_furnish(mpi, in->slots + in->all, more, MPI_MESSAGE_BYTES))
        return AQ_ERR_RESOURCE;
    for (uint32_t i = 0; i < more; i++) {
        mpi_slot_t *slot = &in->slots[in->all];
        int error = mpi->mpi->receive(mpi->comm, slot->buffer, MPI_MESSAGE_BYTES,
                                      mpi->tag + (int)class, &slot->request);
        if (error)
            return mpi_conduit_error(mpi, "MPI_Recv_init", error);
        in->all++;
        receive_post(mpi, in, slot);
    }
    return AQ_OK;
}

// Makes room for `most` receives and the spares.
static aq_status_t receives_reserve(mpi_receives_t *in, uint32_t most)
{
    in->room = most + MPI_SPARES;
    in->order = calloc(in->room, sizeof *in->order);
    in->slots = calloc(in->room, sizeof *in->slots);
    if (in->order && in->slots)
        return AQ_OK;
    aq_log_error("out of memory for %u receives of MPI", in->room);
    return AQ_ERR_RESOURCE;
}

static aq_status_t open_receives(mpi_conduit_t *mpi, unsigned class, uint32_t needed)
{
    const aq_status_t status = receives_reserve(&mpi->buffers.in[class], needed);
    return status == AQ_OK ? receives_add(mpi, class, needed + MPI_SPARES) : status;
}

aq_status_t mpi_buffers_open(mpi_conduit_t *mpi)
{
    const uint64_t requests = (uint64_t)mpi->shared.far * mpi->limits.each;
    uint32_t count[MPI_CLASSES];
    count[MPI_REQUESTS] = requests < MPI_RECEIVES_MAX ? (uint32_t)requests : MPI_RECEIVES_MAX;
    count[MPI_REPLIES] = requests < mpi->limits.total ? (uint32_t)requests : mpi->limits.total;
    for (unsigned c = 0; c < MPI_CLASSES; c++) {
        if (!open_class_sends(mpi, c, MPI_SMALL_SLOTS, MPI_LARGE_SLOTS))
            return AQ_ERR_RESOURCE;
        aq_status_t status = open_receives(mpi, c, count[c]);
        if (status != AQ_OK)
            return status;
    }
    return AQ_OK;
}

aq_status_t mpi_window_buffers_open(mpi_conduit_t *window)
{
    for (unsigned c = 0; c < MPI_CLASSES; c++) {
        if (!open_class_sends(window, c, MPI_WINDOW_SMALL_SLOTS, MPI_WINDOW_LARGE_SLOTS))
            return AQ_ERR_RESOURCE;
        aq_status_t status = receives_reserve(&window->buffers.in[c], MPI_WINDOW_RECEIVES_MAX);
        if (status == AQ_OK)
            status = receives_add(window, c, MPI_SPARES);
        if (status != AQ_OK)
            return status;
    }
    return AQ_OK;
}

aq_status_t mpi_window_buffers_add(mpi_conduit_t *window)
{
    aq_status_t status = AQ_OK;
    for (unsigned c = 0; c < MPI_CLASSES && status == AQ_OK; c++)
        if (window->buffers.in[c].all + window->limits.each <= window->buffers.in[c].room)
            status = receives_add(window, c, window->limits.each);
    return status;
}

void mpi_buffers_withdraw(mpi_conduit_t *mpi)
{
    for (unsigned c = 0; c < MPI_CLASSES; c++) {
        mpi_receives_t *in = &mpi->buffers.in[c];
        for (uint32_t i = 0; i < in->posted; i++)
            mpi->mpi->forget(&in->slots[*place_in_order(in, i)].request);
    }
}

// ---- sending ----

static void sends_reclaim(mpi_conduit_t *mpi, mpi_sends_t *sends)
{
    while (sends->oldest) {
        mpi_slot_t *slot = sends->oldest;
        bool done;
        int error = mpi->mpi->test(&slot->request, &done, NULL, NULL);
        if (error)
            mpi_conduit_fail(mpi, "MPI_Isend", error);
        if (!done)
            return;
        sends->oldest = slot->next;
        slot_push(&sends->free, slot);
    }
}

void mpi_slots_reclaim(mpi_conduit_t *mpi)
{
    for (unsigned c = 0; c < MPI_CLASSES; c++) {
        sends_reclaim(mpi, &mpi->buffers.small[c]);
        sends_reclaim(mpi, &mpi->buffers.large[c]);
    }
}

bool mpi_slots_busy(const mpi_conduit_t *mpi)
{
    bool busy = false;
    for (unsigned c = 0; c < MPI_CLASSES; c++)
        busy = busy || mpi->buffers.small[c].oldest || mpi->buffers.large[c].oldest;
    return busy;
}

static mpi_sends_t *sends_for(mpi_conduit_t *mpi, unsigned class, size_t bytes)
{
    return bytes <= MPI_SMALL_BYTES ? &mpi->buffers.small[class] : &mpi->buffers.large[class];
}

mpi_slot_t *mpi_slot_take(mpi_conduit_t *mpi, unsigned class, size_t bytes)
{
    mpi_sends_t *sends = sends_for(mpi, class, bytes);
    if (!sends->free)
        sends_reclaim(mpi, sends);
    return slot_pop(&sends->free);
}

aq_status_t mpi_slot_send(mpi_conduit_t *mpi, unsigned class, mpi_slot_t *slot, size_t bytes,
                          const mpi_link_t *link)
{
    mpi_sends_t *sends = sends_for(mpi, class, bytes);
    int error = mpi->mpi->send(link->comm, slot->buffer, (int)bytes, link->rank,
                               link->tag + (int)class, &slot->request);
    if (error)
        return mpi_conduit_error(mpi, "MPI_Isend", error);
    slot->next = NULL;
    if (sends->oldest)
        sends->newest->next = slot;
    else
        sends->oldest = slot;
    sends->newest = slot;
    mpi->messages++;
    sends_reclaim(mpi, sends); // most sends are complete by now
    return AQ_OK;
}

// ---- receiving ----

static bool receive_may_take(const mpi_receives_t *in)
{
    return in->all - in->posted < MPI_SPARES;
}

static mpi_slot_t *receive_oldest(const mpi_receives_t *in)
{
    return &in->slots[in->order[in->first]];
}

int mpi_receive_next(mpi_conduit_t *mpi, unsigned what, mpi_slot_t **slot, size_t *bytes,
                     uint32_t *source)
{
    aq_mpilib_request_t heads[MPI_CLASSES];
    unsigned class_of[MPI_CLASSES];
    int count = 0, which, length;
    for (unsigned i = 1; i <= MPI_CLASSES; i++) { // alternate the class that is tested first
        const unsigned c = (mpi->buffers.last_class + i) % MPI_CLASSES;
        if (!receive_may_take(&mpi->buffers.in[c]) ||
            (c == MPI_REQUESTS && !(what & AQ_POLL_REQUESTS)))
            continue;
        class_of[count] = c;
        heads[count++] = receive_oldest(&mpi->buffers.in[c])->request;
    }
    if (!count)
        return -1;
    int error = mpi->mpi->test_any(heads, count, &which, &length, source);
    if (error)
        mpi_conduit_fail(mpi, "MPI_Testany", error);
    if (which < 0)
        return -1;
    mpi->buffers.last_class = class_of[which];
    mpi_receives_t *in = &mpi->buffers.in[class_of[which]];
    *slot = receive_oldest(in);
    *bytes = (size_t)length;
    in->first = in->first + 1 < in->room ? in->first + 1 : 0;
    in->posted--;
    mpi->received++;
    return (int)class_of[which];
}

void mpi_receive_done(mpi_conduit_t *mpi, unsigned class, mpi_slot_t *slot)
{
    receive_post(mpi, &mpi->buffers.in[class], slot);
}
