// SPDX-License-Identifier: BSD-3-Clause
// What the launcher of a job on several hosts is asked to do.
#pragma once

#include <sys/types.h>

#include "../tree/node_state.h"

typedef struct aq_launch_plan {
    aq_spec_t spec; // the caller owns texts and tables
    uint8_t key[AQ_KEY_BYTES];
    aq_ports_t ports;
    char master_address[AQ_ADDRESS_TEXT]; // "": determined automatically
    uint32_t parts;                       // subtrees; 0: one for each host
    uint32_t window;                      // children that are started at the same time
    // With workers, else NULL: called once they can call at that port. Spawner custom starts the
    // command that starts them; *command is its process, leader of its own process group, else 0.
    // False: failed, logged.
    bool (*listening)(const aq_node_t *node, uint16_t port, pid_t *command);
    uint64_t patience; // nanoseconds until all workers must have arrived; 0: no limit
    pid_t owner;       // the parent, whose end before all workers are there ends the job; 0: none
} aq_launch_plan_t;
