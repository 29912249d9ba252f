// What an internal function returns: AQ_OK or the kind of fault.
//
// Whoever first sees a fault logs it, once (log.h); callers pass the status up.
#ifndef AQ_STATUS_H
#define AQ_STATUS_H

typedef enum aq_status {
    AQ_OK = 0,
    AQ_AGAIN, // not now: a resource is in use, try later; nothing was done, nothing is logged
    AQ_ERR_RESOURCE, // the system or the network refused something
    AQ_ERR_ARG,      // the caller's argument is not legal
    AQ_ERR_CONFIG,   // a setting, option or file of the user is not legal
    AQ_ERR_PEER,     // another process is gone or speaks another protocol
    AQ_ERR_ABSENT,   // what was asked for is not available on this machine or in this build
} aq_status_t;

// Name of a status for messages; never NULL.
const char *aq_status_name(aq_status_t status);

#endif
