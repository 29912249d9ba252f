// SPDX-License-Identifier: BSD-3-Clause
// A caller that is not authenticated yet, as the process that listens sees it: a helper that calls
// the process that started it, or any process that calls the daemon of a universe.
#pragma once

#include "auth.h"
#include "link.h"
#include "../shell/net_address.h"

#define AQ_CALLERS 64      // served at a time; more wait in the kernel's queue
#define AQ_CALLERS_EACH 16 // the share of an address; those of the loopback count as one

typedef struct aq_caller {
    aq_link_t link; // fd -1: free
    char address[AQ_ADDRESS_TEXT];
    uint64_t deadline; // to authenticate
    aq_auth_t auth;
    bool challenged;
} aq_caller_t;

// Takes over a connection that was accepted from that address.
void aq_caller_open(aq_caller_t *caller, int fd, const char *address);
// Answers HELLO with CHALLENGE. False: the connection is broken.
bool aq_caller_challenge(aq_caller_t *caller, const uint8_t key[AQ_KEY_BYTES],
                         const aq_hello_t *hello);
// Whether the frame is an AUTH that proves the key.
bool aq_caller_proves(const aq_caller_t *caller, const uint8_t key[AQ_KEY_BYTES],
                      const aq_frame_t *frame);

// Returns a place of the table of AQ_CALLERS: a free one, else that of a caller that must be
// refused first. A stranger that fills all places cannot keep helpers out, because these
// authenticate right after connecting: the oldest silent caller of an address with more than
// AQ_CALLERS_EACH places loses its place at once, any other silent caller after a tenth of a
// second, and one that has sent HELLO later. Take one such place at a time, and read what the
// others have sent before the next one. NULL: there is no place.
aq_caller_t *aq_callers_place(aq_caller_t *callers);
