// SPDX-License-Identifier: BSD-3-Clause
// The table of operations of the mpi conduit: opening, closing and reports.
#include "mpi_messages.h"
#include "mpi_fail.h"
#include "mpi_buffers.h"
#include "mpi_link.h"
#include "mpi_window.h"
#include "mpi_shared.h"
#include "mpi_rma.h"
#include "mpi_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"

#define DRAIN_NS 100000000 // longest wait at the end for outgoing messages

static mpi_conduit_t *opened; // the only one in a process

static bool mpi_usable(char *errbuf, size_t errbuf_size)
{
    if (aq_mpilib_has_mpi())
        return true;
    snprintf(errbuf, errbuf_size,
             "this installation has no module for an MPI; install the package libopenmpi-dev or "
             "libmpich-dev, and configure it again");
    return false;
}

// ---- opening ----

static aq_status_t refuse_start(const mpi_conduit_t *mpi)
{
    return mpi_refuse(mpi,
                      "conduit mpi knows the ranks that mpirun started, and these are started by "
                      "another spawner; start them with mpirun -np N program, or gasnetrun_mpi -n "
                      "N program");
}

static aq_status_t check_start(const mpi_conduit_t *mpi)
{
    bool all;
    aq_status_t status = mpi_agree(mpi, mpi->mpi->started(), &all);
    if (status != AQ_OK || !all)
        return status == AQ_OK ? refuse_start(mpi) : status;
    const bool enough = !mpi->mail.base.env->threads || mpi->mpi->level() >= AQ_MPILIB_SERIALIZED;
    status = mpi_agree(mpi, enough, &all);
    if (status != AQ_OK || all)
        return status;
    return mpi_refuse(mpi, "MPI was started without support for threads, which a program of thread "
                           "mode par needs; ask MPI_Init_thread for MPI_THREAD_SERIALIZED, or set "
                           "GASNET_MPI_THREAD=SERIALIZED");
}

// Takes the settings of rank 0 at all ranks, since a credit of one rank is a posted receive of
// another.
static aq_status_t agree_on_limits(mpi_conduit_t *mpi)
{
    const aq_conduit_env_t *env = mpi->mail.base.env;
    const unsigned peers = env->size - 1, share = MPI_RECEIVES_MAX / peers;
    unsigned each = (unsigned)aq_setting_int(aq_mpi_setting(MPI_SET_AMMPI_CREDITS_PP));
    if (!each)
        each = 2 * (unsigned)aq_setting_int(aq_mpi_setting(MPI_SET_NETWORKDEPTH));
    if (each > share)
        each = share ? share : 1;
    const int64_t kept = aq_setting_int(aq_mpi_setting(MPI_SET_AMMPI_CREDITS_SLACK));
    const unsigned slack = kept < 0 ? each * 3 / 4 : (unsigned)kept;
    const uint64_t all = (uint64_t)peers * each;
    mpi->limits = aq_credit_fit(
        (aq_credit_limits_t){.each = each,
                             .total = all < MPI_RECEIVES_MAX ? (unsigned)all : MPI_RECEIVES_MAX,
                             .slack = slack},
        peers);
    aq_status_t status = env->boot->ops->broadcast(env->boot, &mpi->limits, sizeof mpi->limits, 0);
    aq_credit_pool_start(&mpi->pool, mpi->limits.total);
    return status;
}

static mpi_conduit_t *windows_of(const mpi_conduit_t *mpi)
{
    return atomic_load_explicit(&mpi->windows.first, memory_order_acquire);
}

// Called at all ranks before MPI_Finalize does anything, even if the client calls MPI_Finalize.
static void mpi_is_ending(void)
{
    if (atomic_exchange(&opened->ended, true))
        return;
    atomic_store(&opened->lost, !opened->closed);
    mpi_rma_end(opened);
    mpi_buffers_withdraw(opened);
    for (mpi_conduit_t *window = windows_of(opened); window; window = window->windows.next)
        mpi_buffers_withdraw(window);
}

// Takes the lock for calls of MPI by the spawner, which also come while segments are attached.
static void turn_enter(void)
{
    mpi_enter(opened);
}

static void turn_leave(void)
{
    mpi_leave(opened);
}

static aq_status_t open_comm(mpi_conduit_t *mpi)
{
    static const aq_mpilib_turns_t turns = {turn_enter, turn_leave};
    uint32_t rank, size;
    int error = mpi->mpi->open(&mpi->comm, &rank, &size);
    if (error)
        return mpi_conduit_error(mpi, "MPI_Comm_dup", error);
    if (rank != mpi->mail.base.env->rank || size != mpi->mail.base.env->size)
        return refuse_start(mpi);
    aq_status_t status = mpi_shared_open(mpi);
    if (status == AQ_OK && mpi->shared.far)
        status = mpi_buffers_open(mpi);
    if (status == AQ_OK)
        status = mpi_windows_prepare(mpi);
    if (status != AQ_OK)
        return status;
    opened = mpi;
    aq_mpilib_turns = &turns;
    error = mpi->mpi->on_finish(mpi_is_ending);
    return error ? mpi_conduit_error(mpi, "MPI_Comm_set_attr", error) : AQ_OK;
}

static size_t largest_payload(unsigned category)
{
    return MPI_MESSAGE_BYTES - mpi_payload_at(category, AQ_AM_MAX_ARGS);
}

static aq_status_t mpi_open(const aq_conduit_env_t *env, aq_conduit_t **out)
{
    char why[512];
    mpi_conduit_t *mpi = aligned_alloc(_Alignof(mpi_conduit_t), sizeof *mpi);
    mpi_link_t **links = calloc(env->size, sizeof(mpi_link_t *));
    if (!mpi || !links) {
        free(mpi);
        free(links);
        aq_log_error("out of memory for the mpi conduit and its %u ranks", env->size);
        return AQ_ERR_RESOURCE;
    }
    memset(mpi, 0, sizeof *mpi);
    mpi->main = mpi;
    mpi->lock = &mpi->own_lock;
    mpi->links = links;
    mpi->mail.base = (aq_conduit_t){.ops = &aq_mpi_conduit,
                                    .env = env,
                                    // a request by mailbox takes no credit of a window
                                    .capabilities = AQ_NEEDS_SAME_PATH | AQ_CAN_SLEEP_BESIDE,
                                    .max_medium = largest_payload(AQ_AM_MEDIUM),
                                    .max_long = largest_payload(AQ_AM_LONG),
                                    .max_long_unmapped = largest_payload(AQ_AM_LONG)};
    mpi->mpi = aq_mpilib_find_mpi(why, sizeof why);
    if (!mpi->mpi) {
        aq_log_error("conduit mpi cannot be used: %s", why);
        return AQ_ERR_ABSENT;
    }
    aq_status_t status = check_start(mpi);
    if (status == AQ_OK)
        status = agree_on_limits(mpi);
    if (status == AQ_OK)
        status = open_comm(mpi);
    *out = &mpi->mail.base;
    return status;
}

// Describes nothing, since the ranks of MPI have the numbers of the job.
static void mpi_describe(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES])
{
    (void)conduit, (void)description;
}

static bool mpi_match(aq_conduit_t *conduit, const aq_peer_t *peer)
{
    return peer->rank != conduit->env->rank;
}

static aq_status_t mpi_connect(aq_conduit_t *conduit, const aq_peer_t *peer, void **out)
{
    mpi_conduit_t *mpi = mpi_of(conduit);
    mpi_enter(mpi);
    mpi_link_t *link = mpi_link_of(mpi, peer->rank);
    mpi_leave(mpi);
    *out = link;
    return link ? AQ_OK : AQ_ERR_RESOURCE;
}

// ---- the end ----

// Messages to mailboxes are not counted when they are sent; messages taken from this process's
// mailbox are.
static void print_counters(const mpi_conduit_t *mpi)
{
    uint64_t messages = mpi->messages, accesses = mpi->accesses;
    for (const mpi_conduit_t *window = windows_of(mpi); window; window = window->windows.next) {
        messages += window->messages;
        accesses += window->accesses;
    }
    aq_log_counts(
        "mpi: rank %u in all: %lu messages and %lu puts and gets by MPI; took %lu lines of "
        "requests and %lu of replies out of its mailbox; %u peers are reached by MPI only",
        mpi->mail.base.env->rank, (unsigned long)messages, (unsigned long)accesses,
        (unsigned long)mpi->mail.in[0].head, (unsigned long)mpi->mail.in[1].head, mpi->shared.far);
}

// Waits until all sends are complete, at most until the time `limit`. Sends make progress only if
// MPI is polled.
static void drain_sends(mpi_conduit_t *mpi, uint64_t limit)
{
    while (mpi_slots_busy(mpi) && aq_clock_ns() < limit)
        mpi_slots_reclaim(mpi);
}

// The receives stay posted until MPI_Finalize, because other ranks may still send. The locks stay
// taken, so that no other thread calls MPI any more.
static void mpi_close(aq_conduit_t *conduit)
{
    mpi_conduit_t *mpi = mpi_of(conduit);
    if (aq_settings_bool(AQ_SET_STATS))
        print_counters(mpi);
    atomic_store(&mpi->closed, true);
    if (aq_mpilib_inside || mpi->ended) // a signal handler interrupted MPI
        return;
    const uint64_t limit = aq_clock_ns() + DRAIN_NS;
    mpi_enter(mpi);
    drain_sends(mpi, limit);
    for (mpi_conduit_t *window = windows_of(mpi); window; window = window->windows.next) {
        if (mpi->windows.parallel)
            mpi_enter(window);
        drain_sends(window, limit);
    }
    aq_mpilib_inside = false;
}

// If all credits of a peer are in use, requests to it wait.
static void mpi_dump_state(aq_conduit_t *conduit)
{
    const mpi_conduit_t *mpi = mpi_of(conduit);
    aq_log_notice("mpi: %lu messages sent, %lu puts and gets by MPI, %u of these under way; %u and "
                  "%u receives posted; %u requests may be sent",
                  (unsigned long)mpi->messages, (unsigned long)mpi->accesses, mpi->rma.begun_count,
                  mpi->buffers.in[MPI_REQUESTS].posted, mpi->buffers.in[MPI_REPLIES].posted,
                  atomic_load(&mpi->pool.free));
    for (uint32_t rank = 0; rank < conduit->env->size; rank++)
        if (mpi->links[rank] && atomic_load(&mpi->links[rank]->credit.free) == 0)
            aq_log_notice("mpi: all credits for rank %u are in use", rank);
    aq_mail_dump_state(conduit);
}

static void mpi_network(aq_conduit_t *conduit, char *text, size_t size)
{
    mpi_of(conduit)->mpi->version(text, size);
}

const aq_conduit_ops_t aq_mpi_conduit = {
    .name = "mpi",
    .abi = AQ_CONDUIT_ABI,
    .usable = mpi_usable,
    .open = mpi_open,
    .describe = mpi_describe,
    .match = mpi_match,
    .connect = mpi_connect,
    .open_window = mpi_window_open,
    .close = mpi_close,
    .am = {.send = mpi_conduit_send, .poll = mpi_conduit_poll},
    .wait = {.arm = aq_mail_arm,
             .sleep = mpi_conduit_sleep,
             .disarm = aq_mail_disarm,
             .wake = aq_mail_wake},
    .memory = {.share_segments = mpi_share_segments, .attach = mpi_rma_attach},
    .rma = {.begin = mpi_rma},
    .report = {.memory_bytes = mpi_memory_bytes,
               .counters = mpi_counters,
               .dump_state = mpi_dump_state,
               .network = mpi_network},
};
