// SPDX-License-Identifier: BSD-3-Clause
// The starter: a child process of the launcher in which a boot module (aqueduct_spawn.h) starts the
// helpers of the hosts, so that a module can block, use threads and fail without harm to the
// launcher. It waits for the programs that the module has started.
#pragma once

#include <stdbool.h>

#include "../aqueduct_spawn.h"
#include "../tree/node_state.h"

#define AQ_STARTER_TOLD 2 // its exit code after a fault that it has logged

typedef struct aq_starter {
    const aqueduct_spawn_module_t *module;
    const aqueduct_spawn_job_t *job;
    const char *program; // path of gasnetrun, on hosts without a prefix
    uint32_t threads;    // that call start_host
} aq_starter_t;

// Starts it, as leader of a process group. *out: its process. False: failed, logged.
bool aq_starter_begin(const aq_starter_t *starter, const aq_node_t *node, uint16_t port,
                      pid_t *out);
// Operation `run` of a job.
int aq_starter_run(const aqueduct_spawn_job_t *job, char *const argv[], char *errbuf,
                   size_t errbuf_size);
