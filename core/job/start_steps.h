// SPDX-License-Identifier: BSD-3-Clause
// The steps by which this process joins a job, and what it stops when it leaves (start_table.c).
#pragma once

#include "../conduit.h"
#include "../gasnetex_core.h"

// What the client and its program ask for.
typedef struct aq_job_request {
    const char *client;  // its name, or NULL
    const char *linked;  // the conduit that the program is linked for
    const char *network; // the conduit to use, until the process ends
    uint32_t ranks;      // see aq_boot_start
    gex_Flags_t flags;
    aq_segment_mode_t segment_mode;
} aq_job_request_t;

// AQ_PHASE_WATCH needs the rank; AQ_PHASE_OBJECTS is over before the first message can arrive. The
// end of a job (exit.c) stops AQ_PHASE_WATCH first, then the others from the last to the first.
typedef enum aq_start_phase {
    AQ_PHASE_BOOTSTRAP,
    AQ_PHASE_CONDUITS,
    AQ_PHASE_WATCH,
    AQ_PHASE_OBJECTS, // with handlers
    AQ_PHASE_MESSAGES,
} aq_start_phase_t;

typedef struct aq_start_step {
    const char *name; // NULL ends the table
    aq_start_phase_t phase;
    void (*start)(void);                                  // NULL: join
    aq_status_t (*join)(const aq_job_request_t *request); // logs faults
    void (*stop)(void);                                   // also without start; NULL: none
} aq_start_step_t;

// The steps of a job, in start_table.c. No step of AQ_PHASE_OBJECTS has a stop.
extern const aq_start_step_t aq_start_table[];

// Takes each step of a table, in its order, until one fails. Stops nothing: the process ends the
// job, or ends without one.
aq_status_t aq_steps_start(const aq_start_step_t *table, const aq_job_request_t *request);

// Stops the steps of a phase, in the order of the table.
void aq_steps_stop(const aq_start_step_t *table, aq_start_phase_t phase);
