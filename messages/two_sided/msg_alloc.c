// SPDX-License-Identifier: BSD-3-Clause
// Memory for messages that the other processes of the host can map.
#include "../../core/ground/errors.h"
#include "../../core/memory/shared_heap.h"
#include "msg_check.h"

int gasnetx_Msg_Alloc(size_t nbytes, void **memory)
{
    aq_job_need("gasnetx_Msg_Alloc");
    void *found = aq_shared_heap_take(nbytes);
    if (found) {
        *memory = found;
        return GASNET_OK;
    }
    return aq_refuse(GASNET_ERR_RESOURCE,
                     "gasnetx_Msg_Alloc: there is no room for %zu bytes; free what is not needed, "
                     "or raise GASNET_MSG_SHARED",
                     nbytes);
}

int gasnetx_Msg_Free(void *memory)
{
    aq_job_need("gasnetx_Msg_Free");
    if (!memory || aq_shared_heap_give(memory))
        return GASNET_OK;
    return aq_msg_refuse("gasnetx_Msg_Free", "this memory is not of gasnetx_Msg_Alloc, or is free");
}
