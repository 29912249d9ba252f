// SPDX-License-Identifier: BSD-3-Clause
// What other modules share with module ssh: hosts, placement and the description of the job.
#pragma once

#include "../hosts/hosts.h"
#include "../launch/launcher.h"
#include "spawn_module.h"

#define AQ_PATH_ROOM 4096

// The job as module ssh finds it.
typedef struct aq_ssh_job {
    aq_hosts_t hosts;
    aq_launch_plan_t plan; // complete after prepare of module ssh; callers may change it then
    char program[AQ_PATH_ROOM], folder[AQ_PATH_ROOM]; // of the plan
} aq_ssh_job_t;

// Operations of module ssh.
aq_status_t aq_ssh_parse_options(const aq_start_t *start);
aq_status_t aq_ssh_prepare(const aq_start_t *start);
void aq_ssh_start(const aq_start_t *start, int *code);
void aq_ssh_deallocate_hosts(const aq_start_t *start);
void aq_ssh_finalize(const aq_start_t *start);
// As allocate_hosts of module ssh, but schema, unless NULL, is the text of the host file to use.
aq_status_t aq_ssh_allocate(const aq_start_t *start, const char *schema);
// Prints on standard output which ranks run on which host.
void aq_ssh_print_places(const aq_start_t *start);
// The row of the list for host number `host` of the plan.
const aq_host_t *aq_ssh_row(const aq_ssh_job_t *ssh, uint32_t host);
