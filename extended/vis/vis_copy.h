// SPDX-License-Identifier: BSD-3-Clause
// Transfers by copies in mapped memory.
#pragma once

#include "vis_pieces.h"

// Copies `count` blocks of nbytes at distances of `stride` bytes.
typedef void aq_vis_rows_fn_t(char *dest, ptrdiff_t dest_stride, const char *src,
                              ptrdiff_t src_stride, size_t count, size_t nbytes);
aq_vis_rows_fn_t *aq_vis_rows(size_t nbytes); // the fastest one for this size

// Performs the whole transfer by copies; `shift` bytes are added to remote addresses.
void aq_vis_copy(const aq_vis_t *vis, intptr_t shift);

// Copy between contiguous memory and the next nbytes of a side.
void aq_vis_gather(char *dest, aq_vis_cursor_t *from, size_t nbytes);
void aq_vis_scatter(aq_vis_cursor_t *to, const char *src, size_t nbytes);
