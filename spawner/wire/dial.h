// SPDX-License-Identifier: BSD-3-Clause
// Calling the daemon of a universe, without blocking: connection, version, authentication, seal.
//
//   caller                                daemon
//   connects ------------------------------>
//     <------------------------------ VERSION    another version ends the call
//   HELLO (number of the daemon) ---------->     another daemon at that address hangs up
//     <---------------------------- CHALLENGE
//   AUTH ---------------------------------->     from here on both directions are sealed
//
// An address that does not answer, or where another process answers, is followed by the next one of
// the list.
#pragma once

#include "auth.h"
#include "link.h"
#include "../shell/net_address.h"

#define AQ_DIAL_TEXT 320

typedef enum aq_dial_step { AQ_DIAL_CONNECT, AQ_DIAL_VERSION, AQ_DIAL_CHALLENGE } aq_dial_step_t;

typedef struct aq_dial {
    aq_link_t link; // fd -1: none
    aq_auth_t auth;
    aq_dial_step_t step;
    const char *rest; // addresses that were not tried yet; the text belongs to the caller
    uint16_t port;
    uint64_t deadline; // of this address
    char address[AQ_ADDRESS_TEXT];
    char why[AQ_DIAL_TEXT]; // the last failure, without a full stop
    bool answered;          // a host has answered, if only that no daemon listens there
} aq_dial_t;

// number: of the daemon in its universe.
void aq_dial_begin(aq_dial_t *dial, const char *addresses, uint16_t port, uint32_t number);
// The events for which link.fd is polled.
short aq_dial_events(const aq_dial_t *dial);
// Goes on. AQ_AGAIN: call again once link.fd is ready, or within a second. AQ_OK: link is sealed,
// and belongs to the caller. Else no address is left: why has the reason, and link is closed.
aq_status_t aq_dial_turn(aq_dial_t *dial, const uint8_t key[AQ_KEY_BYTES]);
// The same, but blocks until the call has succeeded or failed.
aq_status_t aq_dial_wait(aq_dial_t *dial, const uint8_t key[AQ_KEY_BYTES]);
// Ends and frees a call that was allocated; NULL is allowed. Sets *dial to NULL.
void aq_dial_free(aq_dial_t **dial);
