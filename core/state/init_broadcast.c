// SPDX-License-Identifier: BSD-3-Clause
// Keeps the bytes that a layer has registered, and broadcasts them from rank 0 by the bootstrap.
// extended/coll/coll_tuning.c registers them; expose/segment.c broadcasts them at the end of init.
#include "init_broadcast.h"

#include "../../other/base/log/log.h"
#include "job.h"

static struct {
    void *bytes;
    size_t nbytes;
    bool (*is_legal)(const void *bytes);
    bool told;
} note;

void aq_init_broadcast(void *bytes, size_t nbytes, bool (*is_legal)(const void *bytes))
{
    note.bytes = bytes;
    note.nbytes = nbytes;
    note.is_legal = is_legal;
}

void aq_init_broadcast_tell(void)
{
    note.told = aq_job.rank == 0;
}

bool aq_init_broadcast_told(void)
{
    return note.told;
}

aq_status_t aq_init_broadcast_spread(void)
{
    aq_status_t status = aq_job.boot->ops->broadcast(aq_job.boot, note.bytes, note.nbytes, 0);
    if (status != AQ_OK || note.is_legal(note.bytes))
        return status;
    aq_log_error("what rank 0 tells the others at the start is not legal: do all ranks load the "
                 "same version of the library?");
    return AQ_ERR_PEER;
}
