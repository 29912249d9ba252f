// SPDX-License-Identifier: BSD-3-Clause
// What other modules share with module ssh: hosts, placement and the description of the job.
#ifndef AQ_START_SSH_H
#define AQ_START_SSH_H

#include "../hosts/hosts.h"
#include "../launch/launcher.h"
#include "spawn_module.h"

// As allocate_hosts of module ssh, but schema, unless NULL, is the text of the host file to use.
aq_status_t aq_ssh_allocate(const aq_start_t *start, const char *schema);
// Prints on standard output which ranks run on which host.
void aq_ssh_print_places(const aq_start_t *start);
// The plan, complete after prepare of module ssh; callers may change it before the launch.
aq_launch_plan_t *aq_ssh_plan(void);
// The row of the list for host number `host` of the plan.
const aq_host_t *aq_ssh_row(uint32_t host);

#endif
