// SPDX-License-Identifier: BSD-3-Clause
// The helper: one process on each host of a job with several hosts. It starts further helpers, has
// a supervisor start the ranks of its host, and forwards their output and messages. Process names:
// gasnet-helper for the helper; gasnet-ranks for the supervisor; gasnet-guard for the parent of
// both, which waits for the end of the helper and then ends what the helper left behind.
#ifndef AQ_HELPER_H
#define AQ_HELPER_H

#include <signal.h>

#include "../boot/boot_page.h"
#include "../tree/look_readers.h"
#include "../tree/members.h"
#include "../supervise/supervisor_output.h"

// Runs the helper: gasnetrun --helper, started by a remote shell. Returns the exit code.
int aq_helper_main(void);
// Runs a worker: gasnetrun started by a custom command. word: the text after AQ_WORKER_OPTION,
// which is modified. Returns the exit code.
int aq_worker_main(char *word);

// The streams of an OUTPUT message.
enum { AQ_HELPER_OUTPUT, AQ_HELPER_ERRORS, AQ_HELPER_OWN, AQ_HELPER_STREAMS };
_Static_assert(AQ_HELPER_STREAMS == (int)AQ_OUTPUT_STREAMS, "of one host");

// A rank that was asked for its stack on behalf of a reader (helper_look.c).
typedef struct aq_helper_ask {
    int fd; // the file of the rank; -1: this place is free
    uint32_t number, before;
    uint64_t until;
} aq_helper_ask_t;
enum { AQ_HELPER_ASKS = 8 };

// Always true: pid is not 0 exactly while the supervisor lives; exit and end of the job always go
// through the page.
typedef struct aq_helper {
    aq_node_t node; // first, so that a pointer to it is a pointer to this
    aq_link_t parent;
    uint32_t *ranks; // of this host; NULL: it has none, or GO has not arrived
    uint32_t rank_count;
    aq_boot_page_t *page;
    int page_fd;
    int own_errors;   // standard error of a worker; -1: none
    pid_t supervisor; // 0: not started, or reaped
    int code;         // exit code of the supervisor
    bool started, reported_exit, reported_abort, told_joined, told_left, told_done, told_fault;
    uint64_t fault_due;                     // time to report the fault; 0: there is none
    bool gone;                              // the link to the parent is broken
    bool forged;                            // broken because bytes from the parent were changed
    aq_stream_t streams[AQ_HELPER_STREAMS]; // own: log of this process
    aq_sink_t lines[AQ_HELPER_STREAMS];     // whole lines on their way into frames
    aq_bytes_t held; // output and ends of hosts, in order, waiting for credit
    int64_t credit;  // bytes of output that the parent accepts
    int input;       // to rank 0; -1: rank 0 runs elsewhere, or its input has ended
    aq_bytes_t input_bytes;
    size_t input_sent;
    bool input_ended;
    aq_page_step_t step; // the current one
    bool ended;          // the launcher has announced the end of the job, with end_code
    int end_code;
    // Set in a process of a rendezvous (rendezvous.h), which has one rank and its own standard
    // streams. resume: goes on as the rank, in a process that was forked from this one; does not
    // return. NULL: ranks execute their program.
    void (*resume)(aq_boot_t *boot);
    sigset_t client_mask; // of the process that was started; the rank gets them back
    struct sigaction client_on_child;
    bool stopped;  // by a signal to this process alone
    uint32_t rank; // of this process
    aq_members_t members;
    bool lost;     // the process that leads has reported the loss of the master
    bool attached; // is a member: the parent is the process that leads on this host, whose page is
                   // at that place
    aq_page_place_t place;
    aq_helper_ask_t asks[AQ_HELPER_ASKS];
    aq_look_readers_t readers; // on this host
    uint32_t looks;            // of these readers, so far
    int lifeline; // pipe that ends with the daemon that forked this process (universe.h); -1: none
} aq_helper_t;

// Runs the helper of a job in a universe, in a process that a daemon has just forked: from the
// sealed link to the helper's parent, which has the JOB next. Returns the exit code.
int aq_helper_serve(const aq_link_t *parent, const uint8_t key[AQ_KEY_BYTES], int lifeline);

// Must be called first.
void aq_helper_init(aq_helper_t *helper);

// The steps of a process that calls the launcher by itself. Each blocks; none logs its result.
//
// Authenticates both sides; everything after that is sealed. AQ_AGAIN: the other side did not
// answer; AQ_ERR_PEER: it does not have the key.
aq_status_t aq_helper_authenticate(aq_helper_t *helper, const aq_intro_t *intro);
// Reads the job that the launcher has sent. False: the frame is not legal.
bool aq_helper_take_job(aq_helper_t *helper, const aq_frame_t *frame);
// Runs the loop until the job or the parent is gone. Returns the exit code of the job.
int aq_helper_run(aq_helper_t *helper);

static inline aq_helper_t *aq_helper_of(aq_node_t *node)
{
    return (aq_helper_t *)(void *)node;
}

// helper_members.c: the members of this process (members.h), if it leads on its host. Nothing here
// blocks.

// Adds their links, and the door, to the next wait.
void aq_helper_watch_members(aq_helper_t *helper);
// Has all members start their ranks, with the page of this host.
void aq_helper_start_members(aq_helper_t *helper);
// Passes a frame of the master on to all members.
void aq_helper_tell_members(aq_helper_t *helper, const aq_frame_t *frame);
// Tells all members that the master is lost. A member whose link ends without that message logs
// nothing, because the master reports what has happened.
void aq_helper_tell_lost(aq_helper_t *helper);

// helper_ranks.c: the ranks of this host. Nothing here blocks.

// Makes the page and the streams. False: no memory or no descriptors.
bool aq_helper_prepare(aq_helper_t *helper);
// Forks the supervisor, which starts the ranks. go: NULL in a member. False, with errno set.
bool aq_helper_start_ranks(aq_helper_t *helper, const aq_go_t *go);
// Queues input for rank 0. length 0: end of input.
void aq_helper_take_input(aq_helper_t *helper, const uint8_t *data, size_t length);
// Adds the pipes of the ranks to the next wait; if blocked, not those of their output.
void aq_helper_watch_ranks(aq_helper_t *helper, bool blocked);
// Reports to the parent what the ranks announced on the page or contribute there.
void aq_helper_check_page(aq_helper_t *helper);
// Completes a step in which ranks join. False: more than the reserve has.
bool aq_helper_admit(aq_helper_t *helper);
// helper_look.c: answers a look at the ranks of this host. A question for a stack is answered
// later, by aq_helper_check_asks, which is to be called after each wait. Nothing here blocks.
void aq_helper_look_start(aq_helper_t *helper);
// Listens for readers on this host, unless another helper of the job does here. Call it after the
// fork of the supervisor, which would inherit the socket.
void aq_helper_look_listen(aq_helper_t *helper);
// Hands what the launcher tells a reader to the reader, or to the child that leads to its host.
// False: the frame is not legal.
bool aq_helper_take_told(aq_helper_t *helper, const aq_frame_t *frame);
void aq_helper_look(aq_helper_t *helper, const aq_look_order_t *order);
void aq_helper_check_asks(aq_helper_t *helper);
// Reads what is left in the pipes.
void aq_helper_drain(aq_helper_t *helper);
// Packs lines of the ranks into frames for the parent.
void aq_helper_pass_lines(aq_helper_t *helper);

#endif
