// SPDX-License-Identifier: BSD-3-Clause
// The choice of the way by which an operation moves its data.
#pragma once

#include "coll_op.h"

// Returns how many operations a call is divided into, each with a share of the elements; 1: it is
// one operation. All ranks choose alike, here and below, because choices depend only on the team
// and single-valued arguments.
uint32_t aq_coll_shares(const aq_coll_t *coll, const aq_coll_call_t *call);

// Chooses the way of an operation whose call and team are set; returns the size of its record in
// bytes.
size_t aq_coll_op_plan(aq_coll_op_t *op);
