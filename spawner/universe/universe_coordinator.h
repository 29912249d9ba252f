// SPDX-License-Identifier: BSD-3-Clause
// Members of a universe.
#pragma once

#include "universe.h"

// A daemon calls to become or to stay a member. Takes over its link.
void aq_daemon_take_join(aq_daemon_t *daemon, aq_link_t *link, const aq_frame_t *frame);
// A member has ended, or its connection broke.
void aq_daemon_lose_member(aq_daemon_t *daemon, uint32_t number);
// Frames that a member or a program sends. False: not legal.
bool aq_daemon_take_request(aq_daemon_t *daemon, aq_peer_t *peer, const aq_frame_t *frame);
void aq_daemon_serve_coordinator(aq_daemon_t *daemon);
void aq_daemon_serve_dial(aq_daemon_t *daemon);
// The number of jobs here has changed.
void aq_daemon_tell_jobs(aq_daemon_t *daemon);
// What is due: broadcasts, elections, the end.
void aq_daemon_check_members(aq_daemon_t *daemon);
