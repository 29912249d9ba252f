// SPDX-License-Identifier: BSD-3-Clause
// The texts of the statuses.
#include "status.h"

const char *aq_status_name(aq_status_t status)
{
    static const char *const names[] = {
        [AQ_OK] = "ok",
        [AQ_AGAIN] = "not now, try again",
        [AQ_ERR_RESOURCE] = "resource refused",
        [AQ_ERR_ARG] = "illegal argument",
        [AQ_ERR_CONFIG] = "illegal setting",
        [AQ_ERR_PEER] = "peer lost",
        [AQ_ERR_ABSENT] = "not available here",
        [AQ_HANDLED] = "handled already",
    };
    unsigned index = (unsigned)status;
    return index < sizeof names / sizeof names[0] ? names[index] : "unknown status";
}
