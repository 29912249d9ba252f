// SPDX-License-Identifier: BSD-3-Clause
// Put and get by MPI's one-sided calls, on one MPI window over the segments of all ranks, in an
// epoch that lasts as long as the job.
#include <string.h>

#include "../../core/memory/segment_table.h"
#include "../../other/base/clock.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "mpi_rma.h"
#include "mpi_fail.h"
#include "mpi_buffers.h"
#include "mpi_profile.h"

#define PIECE_MAX ((size_t)1 << 30) // bytes of one call, which MPI counts in an int

// ---- whether one-sided calls are fast enough ----

// Some MPIs only claim that put and get are one-sided: the operation waits until the target calls
// MPI, and then takes far longer than a message. So rank 0 measures it: it gets data from a rank
// with which it shares no memory, while all other ranks do not call MPI.
enum { TRIES = 3, AWAY_NS = 3000000, LATER_NS = 500000, QUICK_NS = 1000000 };

static aq_status_t try_get(mpi_conduit_t *mpi, uint32_t peer, unsigned *quick)
{
    uint64_t word;
    aq_clock_sleep_ns(LATER_NS); // by now the peer does not call MPI
    const uint64_t begun = aq_clock_ns();
    mpi_enter(mpi);
    int error = mpi->mpi->get(mpi->rma.win, &word, sizeof word, peer, 0);
    if (!error)
        error = mpi->mpi->flush(mpi->rma.win, peer);
    mpi_leave(mpi);
    *quick += aq_clock_ns() - begun < QUICK_NS;
    return error ? mpi_conduit_error(mpi, "MPI_Get", error) : AQ_OK;
}

static aq_status_t win_measure(mpi_conduit_t *mpi, bool *one_sided)
{
    const aq_conduit_env_t *env = mpi->mail.base.env;
    const bool tries = env->rank == 0 && mpi->shared.first_unmapped < env->size;
    unsigned quick = 0;
    aq_status_t status = AQ_OK;
    for (unsigned i = 0; status == AQ_OK && i < TRIES; i++) {
        status = env->boot->ops->barrier(env->boot);
        if (status == AQ_OK && tries)
            status = try_get(mpi, mpi->shared.first_unmapped, &quick);
        else
            aq_clock_sleep_ns(AWAY_NS);
    }
    *one_sided = !tries || quick > TRIES / 2;
    return status;
}

// ---- the MPI window ----

static void win_close(mpi_conduit_t *mpi, aq_mpilib_window_t **win)
{
    if (*win)
        mpi->mpi->close_window(*win);
    *win = NULL;
}

// Closes the MPI windows, which must not be open in MPI_Finalize.
void mpi_rma_end(mpi_conduit_t *mpi)
{
    mpi->rma.win = NULL;
    win_close(mpi, &mpi->rma.made);
    win_close(mpi, &mpi->shared.segments);
    win_close(mpi, &mpi->shared.mailboxes);
}

// Closes an MPI window that is not used, because it makes messages slower.
static aq_status_t win_try(mpi_conduit_t *mpi)
{
    bool one_sided, all;
    aq_status_t status = win_measure(mpi, &one_sided);
    if (status == AQ_OK)
        status = mpi_agree(mpi, one_sided, &all);
    if (status == AQ_OK && !all) {
        mpi_enter(mpi);
        mpi->rma.win = NULL;
        win_close(mpi, &mpi->rma.made);
        mpi_leave(mpi);
    }
    return status;
}

aq_status_t mpi_rma_attach(aq_conduit_t *conduit, void *segment, size_t size)
{
    mpi_conduit_t *mpi = mpi_of(conduit);
    const char *setting = aq_setting_text(aq_mpi_setting(MPI_SET_RMA));
    const bool must = strcmp(setting, "1") == 0;
    bool all;
    if (strcmp(setting, "0") == 0)
        return AQ_OK;
    aq_status_t status =
        mpi_agree(mpi, mpi->shared.first_unmapped == mpi->mail.base.env->size, &all);
    if (status != AQ_OK || all) // all ranks are reached by load and store
        return status;
    mpi_enter(mpi);
    int error = mpi->mpi->open_window(mpi->comm, segment, size, &mpi->rma.made);
    mpi_leave(mpi);
    if (error && must)
        return mpi_conduit_error(mpi, "MPI_Win_create", error);
    status = mpi_agree(mpi, mpi->rma.made && mpi->mpi->unified(mpi->rma.made), &all);
    if (status != AQ_OK || !all)
        return status != AQ_OK || !must
                   ? status
                   : mpi_refuse(mpi, "GASNET_MPI_RMA=1: this MPI has no windows of the unified "
                                     "model; set it to 0 or auto");
    // No messages arrive, but some MPIs need the target to call MPI in its polls.
    if (!mpi->shared.far)
        status = mpi_buffers_open(mpi);
    mpi->rma.win = mpi->rma.made;
    if (status != AQ_OK)
        return status;
    return must ? AQ_OK : win_try(mpi);
}

// ---- put and get ----

// The offset of an address of a rank in its part of the MPI window; false: it is outside.
static bool find_place(const mpi_link_t *link, const void *address, size_t nbytes, size_t *at)
{
    uintptr_t start, size;
    if (!aq_segment_contains(link->rank, 0, address, nbytes) ||
        !aq_segment_bounds(link->rank, 0, &start, &size))
        return false;
    *at = (uintptr_t)address - start;
    return true;
}

static void access_record(mpi_conduit_t *mpi, uint32_t rank, atomic_uint *pending)
{
    atomic_fetch_add_explicit(pending, 1, memory_order_relaxed);
    mpi->rma.begun[mpi->rma.begun_count++] = (mpi_access_t){pending, rank};
    mpi->accesses++;
}

static aq_status_t access_begin(mpi_conduit_t *mpi, const mpi_link_t *link, const void *remote,
                                size_t nbytes, size_t *at)
{
    if (!mpi->main->rma.win || !find_place(link, remote, nbytes, at))
        return AQ_ERR_ABSENT;
    mpi_enter(mpi);
    if (mpi->main->lost)
        mpi_conduit_fail(mpi, NULL, 0);
    if (mpi->rma.begun_count == MPI_ACCESSES) {
        mpi_leave(mpi);
        return AQ_AGAIN;
    }
    return AQ_OK; // with the lock held
}

// Ends the job if a call failed. Under the lock.
static void call_check(mpi_conduit_t *mpi, const char *call, int error)
{
    if (error)
        mpi_conduit_fail(mpi, call, error);
}

static void put_begin(mpi_conduit_t *mpi, uint32_t rank, const aq_rma_t *put, size_t nbytes,
                      size_t at)
{
    call_check(mpi, "MPI_Put",
               mpi->mpi->put(mpi->main->rma.win, put->local, (int)nbytes, rank, at));
    if (!(put->flags & AQ_RMA_STABLE))
        call_check(mpi, "MPI_Win_flush_local", mpi->mpi->flush_local(mpi->main->rma.win, rank));
}

aq_status_t mpi_rma(aq_conduit_t *conduit, void *pointer, aq_rma_t *rma)
{
    mpi_conduit_t *mpi = mpi_of(conduit);
    const mpi_link_t *link = pointer;
    const size_t piece = aq_min(rma->nbytes, PIECE_MAX);
    size_t at;
    aq_status_t status = access_begin(mpi, link, rma->remote, rma->nbytes, &at);
    if (status != AQ_OK)
        return status;
    if (rma->kind == AQ_RMA_PUT)
        put_begin(mpi, link->rank, rma, piece, at);
    else
        call_check(mpi, "MPI_Get",
                   mpi->mpi->get(mpi->main->rma.win, rma->local, (int)piece, link->rank, at));
    access_record(mpi, link->rank, rma->pending);
    mpi_leave(mpi);
    aq_rma_advance(rma, piece);
    return AQ_OK;
}

// A flush completes all outstanding operations with a rank, so that most further flushes are
// unnecessary.
unsigned mpi_rma_complete(mpi_conduit_t *mpi)
{
    const unsigned count = mpi->rma.begun_count;
    for (unsigned i = 0; i < count; i++)
        if (i == 0 || mpi->rma.begun[i].rank != mpi->rma.begun[i - 1].rank)
            call_check(mpi, "MPI_Win_flush",
                       mpi->mpi->flush(mpi->main->rma.win, mpi->rma.begun[i].rank));
    mpi->rma.begun_count = 0;
    for (unsigned i = 0; i < count; i++)
        atomic_fetch_sub_explicit(mpi->rma.begun[i].pending, 1, memory_order_release);
    return count;
}
