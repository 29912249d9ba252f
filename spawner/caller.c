// SPDX-License-Identifier: BSD-3-Clause
#include "caller.h"

#include <stdio.h>
#include <string.h>

#include "../other/base/clock.h"

#define CALLER_NS UINT64_C(10000000000) // from the call to authentication
#define HURRY_NS UINT64_C(3000000000)   // the same, while other callers wait for a place

void aq_caller_open(aq_caller_t *caller, int fd, const char *address)
{
    *caller = (aq_caller_t){.deadline = aq_clock_ns() + CALLER_NS};
    aq_link_open(&caller->link, fd);
    snprintf(caller->address, sizeof caller->address, "%s", address);
}

bool aq_caller_challenge(aq_caller_t *caller, const uint8_t key[AQ_KEY_BYTES],
                         const aq_hello_t *hello)
{
    aq_challenge_t answer;
    caller->auth.node = hello->node;
    memcpy(caller->auth.caller, hello->nonce, sizeof hello->nonce);
    aq_auth_random(caller->auth.listener, sizeof caller->auth.listener);
    memcpy(answer.nonce, caller->auth.listener, sizeof answer.nonce);
    aq_auth_tag(&caller->auth, key, false, answer.tag);
    aq_write_challenge(&caller->link.out, &answer);
    caller->challenged = true;
    return aq_link_flush(&caller->link) == 0;
}

bool aq_caller_proves(const aq_caller_t *caller, const uint8_t key[AQ_KEY_BYTES],
                      const aq_frame_t *frame)
{
    uint8_t tag[AQ_AUTH_BYTES];
    return frame->type == AQ_MSG_AUTH && aq_read_auth(frame->payload, tag) &&
           aq_auth_verify(&caller->auth, key, true, tag);
}

aq_caller_t *aq_callers_place(aq_caller_t *callers)
{
    aq_caller_t *oldest = &callers[0];
    for (uint32_t i = 0; i < AQ_CALLERS; i++) {
        if (callers[i].link.fd < 0)
            return &callers[i];
        if (callers[i].deadline < oldest->deadline)
            oldest = &callers[i];
    }
    return aq_clock_ns() + CALLER_NS < oldest->deadline + HURRY_NS ? NULL : oldest;
}
