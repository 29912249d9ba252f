// SPDX-License-Identifier: BSD-3-Clause
// The listener's half of the handshake, and the rule by which a silent caller loses its place.
// node_call.c uses it for helpers, universe_calls.c for the callers of a daemon.
#include "caller.h"

#include <stdio.h>
#include <string.h>

#include "../../other/base/clock.h"

#define CALLER_NS UINT64_C(10000000000) // from the call to authentication
// How long a caller keeps its place while others wait for one: after HELLO; after HELLO if its
// address has more than its share of the places; before HELLO.
#define PATIENCE_NS UINT64_C(3000000000)
#define HURRY_NS UINT64_C(250000000)
#define SILENCE_NS UINT64_C(100000000)

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

// ---- places ----

// A process of this host can call from each address of the loopback.
static bool is_one_address(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (aq_net_is_loopback(a) && aq_net_is_loopback(b));
}

static uint32_t count_of_address(const aq_caller_t *callers, const char *address)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < AQ_CALLERS; i++)
        count += is_one_address(callers[i].address, address);
    return count;
}

// How long a caller may keep its place while others wait for one.
static uint64_t keeps_ns(const aq_caller_t *caller, bool is_one_of_many)
{
    if (caller->link.seal != NULL)
        return CALLER_NS;
    if (!caller->challenged)
        return is_one_of_many ? 0 : SILENCE_NS;
    return is_one_of_many ? HURRY_NS : PATIENCE_NS;
}

// Whether a caller has to make place before another one: those of an address that has more than its
// share of the places, then those that are silent, then the older.
static bool goes_before(const aq_caller_t *a, bool a_is_one_of_many, const aq_caller_t *b,
                        bool b_is_one_of_many)
{
    if (a_is_one_of_many != b_is_one_of_many)
        return a_is_one_of_many;
    if (a->challenged != b->challenged)
        return b->challenged;
    return a->deadline < b->deadline;
}

aq_caller_t *aq_callers_place(aq_caller_t *callers)
{
    const uint64_t now = aq_clock_ns();
    aq_caller_t *first = NULL;
    bool first_is_one_of_many = false;
    for (uint32_t i = 0; i < AQ_CALLERS; i++) {
        aq_caller_t *caller = &callers[i];
        if (caller->link.fd < 0)
            return caller;
        const bool many = count_of_address(callers, caller->address) > AQ_CALLERS_EACH;
        if (now + CALLER_NS < caller->deadline + keeps_ns(caller, many))
            continue;
        if (first == NULL || goes_before(caller, many, first, first_is_one_of_many)) {
            first = caller;
            first_is_one_of_many = many;
        }
    }
    return first;
}
