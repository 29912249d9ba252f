// SPDX-License-Identifier: BSD-3-Clause
// The back end of spawners fork and ssh, for a rank.
#pragma once

#include "../boot/boot_page.h"

// Makes the boot of a job of one rank in this process, without a supervisor. Logs a fault.
aq_status_t aq_boot_fork_singleton(aq_boot_t **out);

// Called before joining: from here on faults go to the process that started this one as a rank, if
// there is one.
void aq_boot_fork_begin(void);

// Joins the job that control (GASNET_SPAWN_CONTROL: "fork:<fd>:<rank>:<inode>") names. Removes the
// variable, so that programs started by this rank do not take themselves for ranks. Logs a fault.
aq_status_t aq_boot_fork_join(const char *control, aq_boot_t **out);

// As aq_boot_fork_join, for a child that was forked with the page already mapped. Logs a fault.
aq_status_t aq_boot_fork_adopt(aq_boot_page_t *page, uint32_t rank, aq_boot_t **out);
