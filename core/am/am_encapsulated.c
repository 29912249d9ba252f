// SPDX-License-Identifier: BSD-3-Clause
// Counts and traces a message of the client that travels inside of one of the library, and delivers
// it at its target. am_recorded.c and the notices of extended/ call it.
#include "am_encapsulated.h"

#include "../record/am_record.h"
#include "trace_message.h"

static uint64_t number_next(void)
{
    return aq_trace_next_number() & (((uint64_t)1 << AQ_ENCAPSULATED_NUMBER_BITS) - 1);
}

aq_encapsulated_t aq_encapsulated_begin(gex_EP_Index_t from, uint32_t jobrank, const aq_am_t *am)
{
    aq_encapsulated_t encapsulated = {
        .am = am, .opened = UINT64_MAX, .jobrank = jobrank, .from = from};
    if (aq_trace_wants(AQ_TRACE_AM)) {
        encapsulated.number = number_next();
        encapsulated.opened = aq_traced_open(jobrank, am, encapsulated.number);
    }
    return encapsulated;
}

int aq_encapsulated_end(const aq_encapsulated_t *encapsulated, int refused)
{
    if (!refused)
        aq_am_record_sent(encapsulated->from, encapsulated->jobrank, encapsulated->am);
    if (encapsulated->number)
        (void)aq_traced_send_end(encapsulated->opened, refused);
    return refused;
}

void aq_encapsulated_deliver(const aq_arrival_t *arrival, aq_ep_pair_t pair, aq_tag_t tag,
                             uint64_t number)
{
    if (number)
        aq_am_deliver_numbered(arrival, pair, tag, number);
    else if (tag == AQ_TAG_NONE)
        (void)aq_am_deliver_headed(arrival, pair);
    else
        (void)aq_am_deliver_tagged(arrival, pair, tag);
}
