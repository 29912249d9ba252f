// SPDX-License-Identifier: BSD-3-Clause
// Callers and programs that connect to a daemon.
#pragma once

#include "universe.h"

void aq_daemon_accept_calls(aq_daemon_t *daemon);
// Whether one more program may connect.
bool aq_daemon_has_room(const aq_daemon_t *daemon);
void aq_daemon_accept_programs(aq_daemon_t *daemon);
void aq_daemon_serve_caller(aq_daemon_t *daemon, aq_caller_t *caller);
void aq_daemon_serve_peer(aq_daemon_t *daemon, aq_peer_t *peer);
// Closes callers that are late, and forgets connections that have ended.
void aq_daemon_check_calls(aq_daemon_t *daemon);
