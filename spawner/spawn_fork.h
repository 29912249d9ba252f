// Back ends fork and ssh: the side of a rank.
#ifndef AQ_SPAWN_FORK_H
#define AQ_SPAWN_FORK_H

#include "boot_page.h"

// The boot of a job of one rank in this process, without a supervisor. Logs a fault.
aq_status_t aq_boot_fork_alone(aq_boot_t **out);

// Before joining: from here on faults go to whoever started this process as a rank, if somebody
// did.
void aq_boot_fork_begin(void);

// Joins the job that control (GASNET_SPAWN_CONTROL: "fork:<fd>:<rank>:<inode>") names, and removes
// the variable, so that programs which this rank starts are not taken for ranks. Logs a fault.
aq_status_t aq_boot_fork_join(const char *control, aq_boot_t **out);

// The same for a child that was forked with the page already mapped. Logs a fault.
aq_status_t aq_boot_fork_adopt(aq_boot_page_t *page, uint32_t rank, aq_boot_t **out);

#endif
