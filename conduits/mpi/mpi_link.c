// SPDX-License-Identifier: BSD-3-Clause
// Creates links and finds them: those of endpoint 0 by rank, those of windows in a hash table.
// mpi_conduit.c, mpi_messages.c and mpi_window.c call it.
#include "mpi_link.h"
#include "mpi_shared.h"

#include <stdlib.h>
#include <string.h>

#include "../../other/base/log/log.h"

mpi_link_t *mpi_link_new(mpi_conduit_t *mpi, uint32_t rank, uint16_t endpoint)
{
    mpi_link_t *link = aligned_alloc(_Alignof(mpi_link_t), sizeof *link);
    if (!link) {
        aq_log_error("out of memory for the connection to endpoint %u of rank %u (%zu bytes)",
                     endpoint, rank, sizeof *link);
        return NULL;
    }
    memset(link, 0, sizeof *link);
    link->comm = mpi->comm;
    link->rank = rank;
    link->endpoint = endpoint;
    aq_credit_start(&link->credit, &mpi->pool, mpi->limits.each, mpi->limits.each,
                    mpi->limits.slack);
    return link;
}

mpi_link_t *mpi_link_of(mpi_conduit_t *mpi, uint32_t rank)
{
    mpi_link_t *link = mpi->links[rank];
    if (link)
        return link;
    link = mpi_link_new(mpi, rank, 0);
    if (!link)
        return NULL;
    mpi_shared_link(mpi, rank, link);
    mpi->links[rank] = link;
    return link;
}

// The factor spreads the endpoints of a rank and of its neighbours over the table.
mpi_link_t **mpi_window_place(const mpi_conduit_t *window, uint32_t rank, uint16_t endpoint)
{
    return &window->links[(rank + 37u * endpoint) % MPI_WINDOW_PLACES];
}

mpi_link_t *mpi_window_find(const mpi_conduit_t *window, uint32_t rank, uint16_t endpoint)
{
    mpi_link_t *link = window->links ? *mpi_window_place(window, rank, endpoint) : NULL;
    while (link && (link->rank != rank || link->endpoint != endpoint))
        link = link->next;
    return link;
}
