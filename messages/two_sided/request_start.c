// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests: their start and end.
#include "request.h"
#include "msg_check.h"
#include "msg_send.h"
#include "msg_recv.h"

int gasnetx_Request_Start(gasnetx_Request_t request)
{
    aq_job_need("gasnetx_Request_Start");
    if (!request || !request->call.persistent)
        return aq_msg_refuse("gasnetx_Request_Start", "the request is not persistent");
    if (request->begun)
        return aq_msg_refuse("gasnetx_Request_Start",
                             "the request has begun, and was not waited for");
    if (request->call.is_send)
        return aq_msg_send(request);
    aq_msg_receive(request);
    return GASNET_OK;
}

int gasnetx_Request_Free(gasnetx_Request_t *request)
{
    aq_job_need("gasnetx_Request_Free");
    if (!*request || !(*request)->call.persistent)
        return aq_msg_refuse("gasnetx_Request_Free", "the request is not persistent");
    if ((*request)->begun)
        return aq_msg_refuse("gasnetx_Request_Free",
                             "the request has begun, and was not waited for");
    aq_request_free(*request);
    *request = GASNETX_REQUEST_NULL;
    return GASNET_OK;
}
