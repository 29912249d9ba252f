// SPDX-License-Identifier: BSD-3-Clause
// A range of addresses that is free in the address space of every rank, so that all ranks can use
// the same addresses.
#pragma once

#include <stddef.h>

#include "../../other/base/log/status.h"
#include "../../spawner/boot/boot.h"

// The size that a rank passes if it cannot take part, because it lacks memory for tables that it
// needs, too.
#define AQ_RANGE_IMPOSSIBLE SIZE_MAX

// Reserves size bytes (a multiple of the page size; 0: none at this rank) from *base on, the same
// address at all ranks. Sizes may differ. The range, with AQ_SEGMENT_GUARD bytes on both
// sides, is mapped without access and takes no memory; the caller owns it. Collective over the job;
// may block. Returns the same at all ranks: AQ_OK; AQ_ERR_ABSENT if there is no common range: then
// nothing is reserved, and errbuf says which rank prevents it and what to do, without a final
// point, also the same at all ranks; or another status after a logged fault.
aq_status_t aq_range_agree(aq_boot_t *boot, size_t size, void **base, char *errbuf,
                           size_t errbuf_size);
