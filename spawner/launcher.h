// The launcher of a job that is spread over several hosts: the root of the tree. Starts the hosts,
// lets the ranks go when all are ready, passes on output, input and signals, decides the exit code.
#ifndef AQ_LAUNCHER_H
#define AQ_LAUNCHER_H

#include "node.h"

typedef struct aq_launch_plan {
    aq_spec_t spec; // texts and tables belong to the caller
    uint8_t key[AQ_KEY_BYTES];
    aq_ports_t ports;
    char told_address[AQ_REACH_TEXT]; // "": found out
    uint32_t parts;                   // subtrees; 0: one for each host
    uint32_t window;                  // that are started at the same time
} aq_launch_plan_t;

// Blocks until all is over; returns the exit code of the job. Takes all signals and children of the
// process for its own. Logs faults.
int aq_launch(const aq_launch_plan_t *plan);

#endif
