// SPDX-License-Identifier: BSD-3-Clause
// The queues of one endpoint of this process: where the device reports what was sent and what has
// arrived, the shared receive queue of all its queue pairs, and the channels that wake threads.
#pragma once

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "../../../other/base/log/status.h"
#include "ibv_limits.h"

typedef struct aq_ibv_queues {
    struct ibv_comp_channel *completions; // wakes sleepers; does not block
    struct ibv_comp_channel *arrivals;    // wakes the receive thread; NULL: there is none
    struct ibv_comp_channel *sends;       // wakes the send thread; NULL: there is none
    struct ibv_cq *send_cq, *receive_cq;
    struct ibv_srq *srq;
    struct ibv_xrcd *domain; // whose queue pairs fill srq; NULL: no XRC
    uint32_t srq_number;     // in the domain
} aq_ibv_queues_t;

// A completion queue that is always empty, for windows that have no link yet.
extern struct ibv_cq aq_ibv_empty_cq;

// Makes queues in a protection domain as large as the limits say; `domain` is set. receive_thread,
// send_thread: there is to be one. AQ_ERR_RESOURCE: the device refuses a queue or channel (logged).
aq_status_t aq_ibv_queues_open(aq_ibv_queues_t *queues, struct ibv_pd *pd,
                               const aq_ibv_limits_t *limits, bool receive_thread,
                               bool send_thread);
void aq_ibv_queues_close(aq_ibv_queues_t *queues);

// How many bytes may travel inside a work request, by trial: a device does not report it.
unsigned aq_ibv_queues_find_inline(const aq_ibv_queues_t *queues, struct ibv_pd *pd);
