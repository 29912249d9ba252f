// SPDX-License-Identifier: BSD-3-Clause
// Blocks that ranks send directly to those that need them.
#pragma once

#include "coll_op.h"

// The source of the block for a rank, and the destination of the block of a rank.
const char *aq_coll_block_for(const aq_coll_op_t *op, uint32_t rank);

char *aq_coll_block_place(const aq_coll_op_t *op, uint32_t rank);

// Copies the block of this rank from src to dst, unless it is in place already.
void aq_coll_block_keep(const aq_coll_op_t *op);

void aq_coll_block_send(const aq_coll_op_t *op, uint32_t rank);

// Finds a part of the block of a rank.
bool aq_coll_block_part(const aq_coll_op_t *op, uint32_t row, uint32_t part, aq_coll_part_t *found);
