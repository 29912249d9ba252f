// SPDX-License-Identifier: BSD-3-Clause
// Counts arrived messages in the record of their sender, for the traffic matrix. am.c calls it for
// active messages, messages/ for those of its own.
#include "traffic.h"

#include <stdatomic.h>

bool aq_traffic_on;

void aq_traffic_arrived(const aq_arrival_t *arrival)
{
    _Atomic uint64_t *arrived = aq_count_record(arrival->source)->arrived;
    aq_cell_add(&arrived[arrival->reply ? AQ_ARRIVED_REPLIES : AQ_ARRIVED_REQUESTS], 1);
    aq_cell_add(&arrived[arrival->reply ? AQ_ARRIVED_REPLY_BYTES : AQ_ARRIVED_REQUEST_BYTES],
                arrival->nbytes);
}

void aq_traffic_received(uint32_t source, aq_arrived_t messages, size_t nbytes)
{
    if (!aq_traffic_on)
        return;
    _Atomic uint64_t *arrived = aq_count_record(source)->arrived;
    aq_cell_add(&arrived[messages], 1);
    aq_cell_add(&arrived[messages + 1], nbytes);
}
