// SPDX-License-Identifier: BSD-3-Clause
// Addresses for the segments of processes that share memory, with AQ_SEGMENT_GUARD bytes without
// access on both sides of each, so that an access outside of a segment is found
// (core/memory/fault.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../core/conduit.h"

// Reserves addresses for `count` segments. Element i of places is the size of a segment in bytes,
// a multiple of the page size, on entry, and its address on return; `own` is the segment of this
// process. Segments of `huge` bytes, a size of huge pages, or more begin at a multiple of that. The
// caller maps memory there. guards false: reserves no guards, for an address space that has no room
// for them. Returns false, and changes nothing, if there is no room.
bool aq_guarded_reserve(uintptr_t *places, uint32_t count, uint32_t own, size_t huge, bool guards);
