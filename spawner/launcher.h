// The launcher of a job that is spread over several hosts: the root of the tree. Starts the hosts,
// lets the ranks go when all are ready, passes on output, input and signals, decides the exit code.
#ifndef AQ_LAUNCHER_H
#define AQ_LAUNCHER_H

#include <sys/types.h>

#include "node.h"

typedef struct aq_launch_plan {
    aq_spec_t spec; // texts and tables belong to the caller
    uint8_t key[AQ_KEY_BYTES];
    aq_ports_t ports;
    char told_address[AQ_ADDRESS_TEXT]; // "": found out
    uint32_t parts;                     // subtrees; 0: one for each host
    uint32_t window;                    // that are started at the same time
    // Spawner custom only, else NULL: starts the command that starts the workers, which call at
    // that port. Returns its process, the leader of a group of its own; 0: logged.
    pid_t (*command)(const aq_node_t *node, uint16_t port);
    uint64_t patience; // nanoseconds until all workers have to be here; 0: no limit
} aq_launch_plan_t;

// The variables of this process that ranks get; list: of -E, NULL: all. The texts are those of
// environ; free the array. NULL: no memory.
char **aq_launch_environment(const char *list);
// Looks GASNET_MASTERIP up for the plan, if it is set. May block. False: logged.
bool aq_launch_find_address(aq_launch_plan_t *plan);

// Blocks until all is over; returns the exit code of the job. Takes all signals and children of the
// process for its own. Logs faults.
int aq_launch(const aq_launch_plan_t *plan);

#endif
