// SPDX-License-Identifier: BSD-3-Clause
// Put and get.
#pragma once

#include "udp_state.h"

// See aq_conduit_ops_t.
aq_status_t udp_rma(aq_conduit_t *conduit, void *link, aq_rma_t *rma);

// Answers the get that was read last and those right behind it; adds their number to *done. False:
// there is no room now for the reply to the get at frames->at.
bool udp_answer(udp_conduit_t *udp, udp_link_t *link, udp_frames_t *frames, const udp_frame_t *get,
                unsigned *done);

// By the receiver, with the link's lock held: the destination of a put or get reply. Ends the job
// if the peer names memory outside of all segments, or a get that is not outstanding.
void *udp_rma_dest(udp_conduit_t *udp, udp_link_t *link, const udp_frame_t *frame);

// By the receiver, with the link's lock held: completes a put or get reply; placed: its data is at
// the destination already.
void udp_apply(udp_conduit_t *udp, udp_link_t *link, const udp_frame_t *frame, bool placed);
