// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "smp_state.h"

// Creates or opens the neighbourhood's file, maps it, and opens the mailbox of this process.
// Collective. Returns AQ_ERR_RESOURCE after it has logged the fault.
aq_status_t smp_memory_open(smp_conduit_t *smp);
aq_status_t smp_memory_admit(aq_conduit_t *conduit, uint32_t joined);
bool smp_memory_segment_file(aq_conduit_t *conduit, aq_memfile_ticket_t *file, uint64_t *offset);
aq_status_t smp_memory_share_segments(aq_conduit_t *conduit, const uintptr_t *sizes, void **here);
