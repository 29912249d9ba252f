// SPDX-License-Identifier: BSD-3-Clause
// The dump of a job that hangs, by signal (GASNET_REPORT_SIGNAL): what is outstanding here, and to
// each peer. It runs in the handler of a signal: it takes no locks, and what it reads may be
// changing.
#pragma once

#include "ibv_receive.h"

// See dump_state of aq_conduit_ops_t.
void aq_ibv_dump(const aq_ibv_receiver_t *receiver);
