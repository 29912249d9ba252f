// SPDX-License-Identifier: BSD-3-Clause
// Windows: the receive sides of further endpoints. A window is an mpi_conduit_t that shares with
// that of endpoint 0 what is constant, so that mpi_messages.c, mpi_buffers.c and mpi_rma.c work for
// both.
//
// Making a communicator is collective, and windows open at any time, so all ranks make the
// communicators of windows when the job starts. Windows take them in turn, by the index of their
// endpoint, which is also in the tags: a window receives on comm[index % comms], with the tags 2 *
// index and 2 * index + 1. So a receive never matches a message to another window, and the first
// MPI_WINDOW_COMMS windows have a communicator each.
//
// A window makes its buffers with its first link, and posts receives for each further link until
// MPI_WINDOW_RECEIVES_MAX are posted. With more links MPI may have to store messages: at most
// MPI_WINDOW_EACH of each class for each link.
#include "mpi_window.h"
#include "mpi_messages.h"
#include "mpi_fail.h"
#include "mpi_buffers.h"
#include "mpi_link.h"
#include "mpi_rma.h"

#include <stdlib.h>
#include <string.h>

#include "../../other/base/log/log.h"

// ---- at the start of the job ----

// Whether the job needs windows of this conduit: ranks that share memory by smp have theirs in
// conduit smp.
static bool windows_are_needed(const aq_conduit_env_t *env)
{
    return env->nbrhd_size < env->size;
}

aq_status_t mpi_windows_prepare(mpi_conduit_t *main)
{
    const aq_conduit_env_t *env = main->mail.base.env;
    const bool multiple = env->threads && main->mpi->level() == AQ_MPILIB_MULTIPLE;
    aq_status_t status = AQ_OK;
    if (windows_are_needed(env))
        status = mpi_agree(main, multiple, &main->windows.parallel);
    const uint32_t comms = main->windows.parallel ? MPI_WINDOW_COMMS : 1;
    while (status == AQ_OK && windows_are_needed(env) && main->windows.comm_count < comms) {
        uint32_t rank, size;
        const int error =
            main->mpi->open(&main->windows.comms[main->windows.comm_count++], &rank, &size);
        if (error)
            status = mpi_conduit_error(main, "MPI_Comm_dup", error);
    }
    return status;
}

// The communicator on which an endpoint receives, in this process and in others; NULL: none.
static aq_mpilib_comm_t *window_comm(const mpi_conduit_t *main, uint16_t endpoint)
{
    const uint32_t count = main->windows.comm_count;
    return count ? main->windows.comms[endpoint % count] : NULL;
}

// ---- links ----

static bool window_make_table(mpi_conduit_t *window)
{
    window->links = calloc(MPI_WINDOW_PLACES, sizeof(mpi_link_t *));
    if (!window->links)
        aq_log_error("out of memory for the connections of endpoint %u",
                     window->mail.base.endpoint);
    return window->links;
}

// Under the lock.
static mpi_link_t *window_add_link(mpi_conduit_t *window, const aq_peer_t *peer)
{
    mpi_link_t **place = mpi_window_place(window, peer->rank, peer->endpoint);
    mpi_link_t *link = mpi_link_new(window, peer->rank, peer->endpoint);
    if (!link)
        return NULL;
    link->comm = window_comm(window->main, peer->endpoint);
    link->tag = MPI_CLASSES * peer->endpoint;
    link->next = *place;
    *place = link;
    aq_credit_pool_grow(&window->pool, window->limits.each);
    return link;
}

// Under the lock.
static mpi_link_t *window_connect(mpi_conduit_t *window, const aq_peer_t *peer)
{
    mpi_link_t *link = mpi_window_find(window, peer->rank, peer->endpoint);
    if (link)
        return link;
    if (!window->links && (!window_make_table(window) || mpi_window_buffers_open(window) != AQ_OK))
        return NULL;
    return mpi_window_buffers_add(window) == AQ_OK ? window_add_link(window, peer) : NULL;
}

static aq_status_t mpi_window_connect(aq_conduit_t *conduit, const aq_peer_t *peer, void **out)
{
    mpi_conduit_t *window = mpi_of(conduit);
    mpi_enter(window);
    mpi_link_t *link = window_connect(window, peer);
    mpi_leave(window);
    if (link)
        atomic_store_explicit(&window->windows.linked, true, memory_order_release);
    *out = link;
    return link ? AQ_OK : AQ_ERR_RESOURCE;
}

// ---- operations ----

// Describes nothing, since a peer needs only the rank and the tags.
static void mpi_window_describe(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES])
{
    (void)conduit, (void)description;
}

static unsigned mpi_window_poll(aq_conduit_t *conduit, unsigned what)
{
    mpi_conduit_t *window = mpi_of(conduit);
    if (!atomic_load_explicit(&window->windows.linked, memory_order_acquire))
        return 0;
    mpi_check_lost(window);
    return mpi_poll_messages(window, what);
}

static void mpi_window_dump_state(aq_conduit_t *conduit)
{
    const mpi_conduit_t *window = mpi_of(conduit);
    aq_log_notice("mpi: %lu messages sent, %lu puts and gets by MPI, %u of these under way; %u and "
                  "%u receives posted",
                  (unsigned long)window->messages, (unsigned long)window->accesses,
                  window->rma.begun_count, window->buffers.in[MPI_REQUESTS].posted,
                  window->buffers.in[MPI_REPLIES].posted);
}

// ---- opening ----

// The operations of a window. The conduit of endpoint 0 opens and closes windows, and no operation
// sleeps, since MPI offers nothing to sleep on.
static const aq_conduit_ops_t mpi_window_ops = {
    .name = "mpi",
    .abi = AQ_CONDUIT_ABI,
    .describe = mpi_window_describe,
    .connect = mpi_window_connect,
    .am = {.send = mpi_conduit_send, .poll = mpi_window_poll},
    .rma = {.begin = mpi_rma},
    .report = {.memory_bytes = mpi_memory_bytes,
               .counters = mpi_counters,
               .dump_state = mpi_window_dump_state},
};

static void window_take_constants(mpi_conduit_t *window, mpi_conduit_t *main)
{
    const uint16_t endpoint = window->mail.base.endpoint;
    window->mail.base = main->mail.base;
    window->mail.base.ops = &mpi_window_ops;
    window->mail.base.endpoint = endpoint;
    window->mpi = main->mpi;
    window->main = main;
    window->comm = window_comm(main, endpoint);
    window->tag = MPI_CLASSES * endpoint;
    window->lock = main->windows.parallel ? &window->own_lock : main->lock;
}

// Sets the limits of a window. Each link adds its credits to the pool, so that credits that one
// peer has banked do not reduce those for requests to other peers.
static void window_take_limits(mpi_conduit_t *window)
{
    const aq_credit_limits_t *all = &window->main->limits;
    const unsigned each = all->each < MPI_WINDOW_EACH ? all->each : MPI_WINDOW_EACH;
    window->limits =
        aq_credit_fit((aq_credit_limits_t){.each = each, .total = each, .slack = each * 3 / 4}, 1);
}

aq_status_t mpi_window_open(aq_conduit_t *conduit, uint16_t endpoint, aq_conduit_t **out)
{
    mpi_conduit_t *main = mpi_of(conduit);
    mpi_conduit_t *window = aligned_alloc(_Alignof(mpi_conduit_t), sizeof *window);
    if (!window) {
        aq_log_error("out of memory for the window of endpoint %u (%zu bytes)", endpoint,
                     sizeof *window);
        return AQ_ERR_RESOURCE;
    }
    memset(window, 0, sizeof *window);
    window->mail.base.endpoint = endpoint;
    window_take_constants(window, main);
    window_take_limits(window);
    window->windows.next = atomic_load_explicit(&main->windows.first, memory_order_relaxed);
    atomic_store_explicit(&main->windows.first, window, memory_order_release);
    *out = &window->mail.base;
    return AQ_OK;
}
