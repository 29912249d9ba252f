// SPDX-License-Identifier: BSD-3-Clause
// The result of an internal function: AQ_OK or the kind of fault.
//
// The function that detects a fault logs it, once (log.h); callers pass the status up.
#pragma once

typedef enum aq_status {
    AQ_OK = 0,
    AQ_AGAIN,        // a resource is in use, try again later; nothing was done, nothing is logged
    AQ_ERR_RESOURCE, // the system or the network refused a resource
    AQ_ERR_ARG,      // an argument of the caller is not legal
    AQ_ERR_CONFIG,   // a setting, option or file of the user is not legal
    AQ_ERR_PEER,     // another process has ended, or uses another protocol
    AQ_ERR_ABSENT,   // the request is not available on this machine or in this build
    AQ_HANDLED,      // of the core: a message to this process itself, which needs no poll
} aq_status_t;

// The text of a status for messages; never NULL.
const char *aq_status_name(aq_status_t status);
