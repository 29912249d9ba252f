// SPDX-License-Identifier: BSD-3-Clause
// The tree of a stream, from the parents that its ranks name. No input and output.
#pragma once

#include "../aqueduct_stream.h"

// Checks that the parents make one tree: parents[r] is a rank below `size`, GASNETX_STREAM_ROOT or
// GASNETX_STREAM_ABSENT. Returns NULL, or what is wrong with rank *culprit, to be read after "rank
// N ". Allocates; ends the job if memory is out.
const char *aq_stream_tree_check(const gex_Rank_t *parents, gex_Rank_t size, gex_Rank_t *culprit);

// Fills in the place of a member in a tree that was checked: all of *info but children and
// max_bytes.
void aq_stream_tree_place(const gex_Rank_t *parents, gex_Rank_t size, gex_Rank_t rank,
                          gasnetx_stream_info_t *info);
