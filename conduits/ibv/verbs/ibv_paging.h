// SPDX-License-Identifier: BSD-3-Clause
// The trial of on-demand paging: a queue pair that is connected with itself copies a few bytes into
// and out of memory that the device pages, at offsets in a page where a driver may go wrong. Such
// data would be lost silently, because the device reports success.
#pragma once

#include "ibv_memory.h"
#include "ibv_path.h"

// If memory->paged, tries that; memory is pinned afterwards if bytes do not arrive where they
// belong, and rank 0 warns. from: the port of the device. Takes milliseconds, or on a device that
// does not answer seconds.
void aq_ibv_paging_try(aq_ibv_memory_t *memory, const aq_ibv_path_source_t *from);
