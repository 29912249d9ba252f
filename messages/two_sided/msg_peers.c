// SPDX-License-Identifier: BSD-3-Clause
// The state of messages with two sides, and its table of peers, which the first message makes; and
// which ranks are in this process's neighbourhood.

#include "../../core/ground/fatal.h"
#include "msg_peers.h"

aq_msg_t aq_msg;

void aq_msg_peers_make(void)
{
    aq_msg.peers =
        aq_allocate_zeroed(aq_job.size, sizeof *aq_msg.peers, "the messages of all ranks");
}

bool aq_msg_is_neighbour(uint32_t jobrank)
{
    return aq_index_in_nbrhd(&aq_job.env, jobrank) != UINT32_MAX;
}
