// SPDX-License-Identifier: BSD-3-Clause
// The implementation of the launcher: the job, as its files share it. launcher.c has the loop,
// from the start of the hosts to the end of the job; launcher_end.c how a job ends;
// launcher_command.c the wait for processes that a command, a boot module or something else starts,
// and the end of that command.
#pragma once

#include "launch_plan.h"
#include "../tree/look_readers.h"
#include "../supervise/supervisor_output.h"

#define AQ_SECOND UINT64_C(1000000000)
#define AQ_END_GRACE (3 * AQ_SECOND) // in addition to the time that hosts give their ranks

typedef enum aq_launch_phase { LAUNCH_STARTING, LAUNCH_RUNNING, LAUNCH_ENDING } aq_launch_phase_t;

enum { HOST_WAITED_FOR, HOST_STARTED, HOST_FAILED, HOST_UNUSED, HOST_DONE };

// Readers of the job (launcher_look.c): those here, and the last looks of those at helpers.
enum { AQ_LOOKS_FAR = 32 };
typedef struct aq_look_far {
    uint32_t number;    // of the look; 0: none
    uint32_t host, tag; // of the helper; which of its readers
} aq_look_far_t;

typedef struct aq_look {
    aq_look_readers_t readers;
    uint32_t number; // of the last look
    aq_look_far_t far[AQ_LOOKS_FAR];
    uint32_t next_far;
} aq_look_t;

// The start of the hosts.
typedef struct aq_hosts_start {
    uint8_t *states; // HOST_*
    uint32_t started, failed;
    uint32_t shown;      // in the progress line
    char **reasons;      // for each host that failed, of the first ones; else NULL
    uint64_t began;      // time of the start
    uint64_t half_took;  // until half of the needed hosts had started; 0: they have not
    uint64_t grace_ends; // 0: fewer hosts than needed have started
} aq_hosts_start_t;

// Why ranks could not start.
typedef struct aq_ranks_fault {
    char *text;     // from the first that reported; NULL: no fault
    uint32_t ranks; // that report it
    uint64_t due;
    bool logged;
} aq_ranks_fault_t;

// How the job ends (launcher_end.c).
typedef struct aq_launch_end {
    int code, first_code;
    bool code_known, now, left, joined;
    int stop_signal;
} aq_launch_end_t;

// Output of the hosts, on its way to ours.
typedef struct aq_launch_output {
    aq_stream_t *streams; // AQ_OUTPUT_STREAMS of each host, filled from messages
    aq_sink_t sinks[2];
    bool one_sink;
} aq_launch_output_t;

// The processes on the hosts, which a command, a boot module or something else may start
// (launcher_command.c).
typedef struct aq_launch_workers {
    pid_t command;              // process that starts them; 0: ended, or there is none
    uint64_t patience_ends;     // time by which all must have arrived
    pid_t owner;                // see aq_launch_plan_t
    bool numbered, start_ranks; // they have numbers; they have started their ranks
} aq_launch_workers_t;

typedef struct aq_launcher {
    aq_node_t node; // first, so that a pointer to it is a pointer to this
    aq_launch_phase_t phase;
    aq_hosts_start_t start;
    aq_ranks_fault_t fault;
    aq_go_t go;
    char peers[2][AQ_ADDRESS_TEXT];
    aq_launch_end_t end;
    aq_launch_output_t output;
    bool input_open;
    uint32_t credit; // of input
    aq_launch_workers_t workers;
    aq_look_t look;
} aq_launcher_t;

static inline aq_launcher_t *aq_launcher_of(aq_node_t *node)
{
    return (aq_launcher_t *)(void *)node;
}
