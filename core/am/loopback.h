// SPDX-License-Identifier: BSD-3-Clause
// Messages of a process to itself between endpoints 0: the handler runs inside the call that sends,
// a reply's handler inside the request's. GASNet allows both: a call that sends may run handlers,
// and a handler holds no lock when it replies.
//
// Atomics take the conduit that reaches this process, as those of peers do, because a network's
// atomics are atomic among themselves only. So do messages between windows (window.h).
#pragma once

// Prepares aq_job.conduits[AQ_LOOPBACK]; at init, once the endpoint can deliver.
void aq_loopback_start(void);
