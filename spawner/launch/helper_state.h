// SPDX-License-Identifier: BSD-3-Clause
// The helper: one process on each host of a job with several hosts. It starts further helpers, has
// a supervisor start the ranks of its host, and forwards their output and messages. Process names:
// gasnet-helper for the helper; gasnet-ranks for the supervisor; gasnet-guard for the parent of
// both, which waits for the end of the helper and then ends what the helper left behind.
#pragma once

#include <signal.h>

#include "../boot/boot_page.h"
#include "../tree/look_readers.h"
#include "../tree/members.h"
#include "../supervise/supervisor_output.h"

// The streams of an OUTPUT message.
enum { AQ_HELPER_OUTPUT, AQ_HELPER_ERRORS, AQ_HELPER_OWN, AQ_HELPER_STREAMS };
_Static_assert(AQ_HELPER_STREAMS == (int)AQ_OUTPUT_STREAMS, "of one host");

// The ranks of this host; helper_ranks.c starts them. Always true: supervisor is not 0 exactly
// while the supervisor lives; exit and end of the job always go through the page.
typedef struct aq_helper_ranks {
    uint32_t *numbers; // NULL: there are none, or GO has not arrived
    uint32_t count;
    bool started;
    aq_boot_page_t *page;
    int page_fd;
    int own_errors;   // standard error of a worker; -1: none
    pid_t supervisor; // 0: not started, or reaped
    int code;         // exit code of the supervisor
} aq_helper_ranks_t;

// News that have gone up the tree from this host or from hosts below it, each once.
typedef struct aq_helper_told {
    bool exit, abort, joined, left, done, fault;
    uint64_t fault_due; // time to report the fault; 0: there is none
} aq_helper_told_t;

// Output of the ranks, on its way to the parent.
typedef struct aq_helper_output {
    aq_stream_t streams[AQ_HELPER_STREAMS]; // own: log of this process
    aq_sink_t lines[AQ_HELPER_STREAMS];     // whole lines on their way into frames
    aq_bytes_t held; // output and ends of hosts, in order, waiting for credit
    int64_t credit;  // bytes of output that the parent accepts
} aq_helper_output_t;

// Standard input of rank 0.
typedef struct aq_helper_input {
    int fd; // -1: rank 0 runs elsewhere, or its input has ended
    aq_bytes_t bytes;
    size_t sent;
    bool ended;
} aq_helper_input_t;

// Of a helper in a process of a rendezvous (rendezvous.h), which has one rank and its own standard
// streams.
typedef struct aq_helper_process {
    // Goes on as the rank, in a process that was forked from this one; does not return. NULL: this
    // is no such process, and ranks execute their program.
    void (*resume)(aq_boot_t *boot);
    sigset_t mask; // of the process that was started; the rank gets them back
    struct sigaction on_child;
    bool stopped; // by a signal to this process alone
    uint32_t rank;
    aq_members_t members;
    bool lost;     // the process that leads has reported the loss of the master
    bool attached; // is a member: the parent is the process that leads on this host, whose page is
                   // at that place
    aq_page_place_t place;
} aq_helper_process_t;

// A rank that was asked for its stack on behalf of a reader.
typedef struct aq_helper_ask {
    int fd; // the file of the rank; -1: this place is free
    uint32_t number, before;
    uint64_t until;
} aq_helper_ask_t;
enum { AQ_HELPER_ASKS = 8 };

// Readers of the job on this host (helper_look.c).
typedef struct aq_helper_look {
    aq_helper_ask_t asks[AQ_HELPER_ASKS];
    aq_look_readers_t readers;
    uint32_t count; // of their looks, so far
} aq_helper_look_t;

typedef struct aq_helper {
    aq_node_t node; // first, so that a pointer to it is a pointer to this
    aq_link_t parent;
    bool gone;   // the link to the parent is broken
    bool forged; // broken because bytes from the parent were changed
    aq_helper_ranks_t ranks;
    aq_helper_told_t told;
    aq_helper_output_t output;
    aq_helper_input_t input;
    aq_page_step_t step; // the current one
    bool ended;          // the launcher has announced the end of the job, with end_code
    int end_code;
    aq_helper_process_t process;
    aq_helper_look_t look;
    int lifeline; // pipe that ends with the daemon that forked this process (universe.h); -1: none
} aq_helper_t;

static inline aq_helper_t *aq_helper_of(aq_node_t *node)
{
    return (aq_helper_t *)(void *)node;
}
