// SPDX-License-Identifier: BSD-3-Clause
// The helper of a job, which a daemon forks.
#ifndef AQ_UNIVERSE_FORK_H
#define AQ_UNIVERSE_FORK_H

#include "universe.h"

// Forks the helper of a job, which goes on with the caller's link.
void aq_daemon_fork_helper(aq_daemon_t *daemon, aq_link_t *link);

#endif
