// SPDX-License-Identifier: BSD-3-Clause
// The caller's half of the handshake, one turn per event of the owner's loop. The tree uses it to
// reach daemons (node_dial.c), and daemons to reach their coordinator.
#include "dial.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/clock.h"

#define ADDRESS_NS UINT64_C(5000000000) // for one address
#define WAIT_MS 1000

// ---- addresses ----

// Begins with the next address that can be called at all. AQ_ERR_PEER: there is none.
static aq_status_t dial_next(aq_dial_t *dial)
{
    aq_link_close(&dial->link);
    while (*dial->rest != '\0') {
        size_t length = strcspn(dial->rest, ",");
        snprintf(dial->address, sizeof dial->address, "%.*s", (int)length, dial->rest);
        dial->rest += length + (dial->rest[length] == ',');
        int fd = aq_net_dial(dial->address, dial->port);
        if (fd >= 0) {
            aq_link_open(&dial->link, fd);
            dial->step = AQ_DIAL_CONNECT;
            dial->deadline = aq_clock_ns() + ADDRESS_NS;
            return AQ_AGAIN;
        }
        snprintf(dial->why, sizeof dial->why, "the daemon of the universe at %s: %s", dial->address,
                 strerror(errno));
    }
    return AQ_ERR_PEER;
}

static aq_status_t dial_fail(aq_dial_t *dial, const char *why)
{
    snprintf(dial->why, sizeof dial->why, "the daemon of the universe at %s, port %u: %s",
             dial->address, dial->port, why);
    return dial_next(dial);
}

void aq_dial_begin(aq_dial_t *dial, const char *addresses, uint16_t port, uint32_t number)
{
    *dial = (aq_dial_t){.link.fd = -1, .rest = addresses, .port = port, .auth.node = number};
    snprintf(dial->why, sizeof dial->why, "the daemon of the universe there has no address");
    (void)dial_next(dial);
}

// ---- handshake ----

static aq_status_t take_version(aq_dial_t *dial, const aq_frame_t *frame)
{
    aq_hello_t hello = {.node = dial->auth.node};
    const char *version;
    if (frame->type != AQ_MSG_VERSION || !aq_read_version(frame->payload, &version))
        return dial_fail(dial, "another program answers there");
    if (strcmp(version, PACKAGE_VERSION) != 0) {
        snprintf(dial->why, sizeof dial->why,
                 "the daemon of the universe there has version %.64s of Aqueduct, here it is %s; "
                 "end the universe with gasnet_halt of that version, and boot it again",
                 version, PACKAGE_VERSION);
        aq_link_close(&dial->link);
        return AQ_ERR_CONFIG;
    }
    aq_auth_random(dial->auth.caller, sizeof dial->auth.caller);
    memcpy(hello.nonce, dial->auth.caller, sizeof hello.nonce);
    aq_write_hello(&dial->link.out, &hello);
    dial->step = AQ_DIAL_CHALLENGE;
    return AQ_AGAIN;
}

static aq_status_t take_challenge(aq_dial_t *dial, const uint8_t key[AQ_KEY_BYTES],
                                  const aq_frame_t *frame)
{
    aq_challenge_t challenge;
    uint8_t answer[AQ_AUTH_BYTES];
    if (frame->type != AQ_MSG_CHALLENGE || !aq_read_challenge(frame->payload, &challenge))
        return dial_fail(dial, "another program answers there");
    memcpy(dial->auth.listener, challenge.nonce, sizeof dial->auth.listener);
    if (!aq_auth_verify(&dial->auth, key, false, challenge.tag))
        return dial_fail(dial, "it does not have the key of this universe");
    aq_auth_tag(&dial->auth, key, true, answer);
    aq_write_auth(&dial->link.out, answer);
    if (aq_link_seal(&dial->link, &dial->auth, key, true) != 0)
        return dial_fail(dial, "no memory for the connection");
    return AQ_OK;
}

static aq_status_t dial_take(aq_dial_t *dial, const uint8_t key[AQ_KEY_BYTES],
                             const aq_frame_t *frame)
{
    return dial->step == AQ_DIAL_VERSION ? take_version(dial, frame)
                                         : take_challenge(dial, key, frame);
}

static aq_status_t dial_receive(aq_dial_t *dial, const uint8_t key[AQ_KEY_BYTES])
{
    aq_status_t status = AQ_AGAIN;
    aq_frame_t frame;
    aq_framing_t framing = AQ_FRAME_PART;
    int error = aq_link_receive(&dial->link);
    if (error == 0 || error == ENOTCONN)
        framing = aq_link_next(&dial->link, AQ_FIRST_MAX, &frame);
    if (framing == AQ_FRAME_WHOLE)
        status = dial_take(dial, key, &frame);
    else if (framing == AQ_FRAME_BAD)
        status = dial_fail(dial, "another program answers there");
    else if (error != 0)
        status = dial_fail(dial, error == ENOTCONN ? "it hung up" : strerror(error));
    if (status == AQ_AGAIN && dial->step != AQ_DIAL_CONNECT)
        (void)aq_link_flush(&dial->link); // the next receive reports a fault
    return status;
}

// ---- turns ----

static aq_status_t dial_connected(aq_dial_t *dial)
{
    int error = aq_net_dialed(dial->link.fd);
    if (error == EINPROGRESS)
        return AQ_AGAIN;
    dial->answered = dial->answered || error == 0 || error == ECONNREFUSED;
    if (error != 0)
        return dial_fail(dial, strerror(error));
    dial->step = AQ_DIAL_VERSION;
    return AQ_AGAIN;
}

short aq_dial_events(const aq_dial_t *dial)
{
    return dial->step == AQ_DIAL_CONNECT ? POLLOUT : POLLIN;
}

aq_status_t aq_dial_turn(aq_dial_t *dial, const uint8_t key[AQ_KEY_BYTES])
{
    if (dial->link.fd < 0)
        return AQ_ERR_PEER;
    if (aq_clock_ns() >= dial->deadline)
        return dial_fail(dial, "it does not answer");
    if (dial->step == AQ_DIAL_CONNECT)
        return dial_connected(dial);
    return dial_receive(dial, key);
}

aq_status_t aq_dial_wait(aq_dial_t *dial, const uint8_t key[AQ_KEY_BYTES])
{
    aq_status_t status;
    while ((status = aq_dial_turn(dial, key)) == AQ_AGAIN) {
        struct pollfd ready = {.fd = dial->link.fd, .events = aq_dial_events(dial)};
        (void)poll(&ready, 1, WAIT_MS);
    }
    return status;
}

void aq_dial_free(aq_dial_t **dial)
{
    if (*dial != NULL)
        aq_link_close(&(*dial)->link);
    free(*dial);
    *dial = NULL;
}
