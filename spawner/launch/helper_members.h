// SPDX-License-Identifier: BSD-3-Clause
// The members of this process (members.h), if it leads on its host. Nothing here blocks.
#pragma once

#include "helper_state.h"

// Adds their links, and the attach socket, to the next wait.
void aq_helper_watch_members(aq_helper_t *helper);
// Has all members start their ranks, with the page of this host.
void aq_helper_start_members(aq_helper_t *helper);
// Passes a frame of the master on to all members.
void aq_helper_tell_members(aq_helper_t *helper, const aq_frame_t *frame);
// Tells all members that the master is lost. A member whose link ends without that message logs
// nothing, because the master reports what has happened.
void aq_helper_tell_lost(aq_helper_t *helper);
