// SPDX-License-Identifier: BSD-3-Clause
// The helper of a job, which a daemon forks.
#pragma once

#include "universe.h"

// Forks the helper of a job, which goes on with the caller's link.
void aq_daemon_fork_helper(aq_daemon_t *daemon, aq_link_t *link);
