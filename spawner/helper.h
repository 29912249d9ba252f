// The helper: one process on each host of a job that is spread over several. It starts further
// helpers, has the ranks of its host started by a supervisor, and passes on what they say. As
// processes they are called gasnet-helper, and gasnet-ranks the supervisor; the parent of both,
// gasnet-guard, only waits for the end of the helper, to end what that left behind.
#ifndef AQ_HELPER_H
#define AQ_HELPER_H

#include "boot_page.h"
#include "node.h"
#include "supervisor_output.h"

// What gasnetrun does when a remote shell starts it with --helper. Returns the exit code.
int aq_helper_main(void);
// What it does when a custom command starts it: the text behind AQ_WORKER_OPTION, which is cut.
int aq_worker_main(char *word);

enum { AQ_HELPER_OUTPUT, AQ_HELPER_ERRORS, AQ_HELPER_OWN, AQ_HELPER_STREAMS };

// Always true: the supervisor lives exactly while pid is not 0; exit and end of the job pass
// through the page, never around it.
typedef struct aq_helper {
    aq_node_t node; // first, so that a pointer to it is a pointer to this
    aq_link_t parent;
    uint32_t *ranks; // of this host
    uint32_t rank_count;
    aq_boot_page_t *page;
    int page_fd;
    int own_errors;   // a worker's standard error; -1
    pid_t supervisor; // 0: not started, or reaped
    int code;         // with which it ended
    bool started, told_exit, told_abort, told_joined, told_left, told_done, told_fault;
    uint64_t fault_due;                     // when it is to be told; 0: there is none
    bool gone;                              // the parent's link is broken
    bool forged;                            // since somebody changed what the parent sent
    aq_stream_t streams[AQ_HELPER_STREAMS]; // own: what this process logs
    aq_sink_t lines[AQ_HELPER_STREAMS];     // whole lines, on their way into frames
    aq_bytes_t held; // output and ends of hosts, in order, on their way up as credit allows
    int64_t credit;  // bytes of output that the parent takes
    int input;       // to rank 0; -1: it is not here, or its input ended
    aq_bytes_t input_bytes;
    size_t input_sent;
    bool input_ended;
    aq_page_step_t step; // the current one
} aq_helper_t;

static inline aq_helper_t *aq_helper_of(aq_node_t *node)
{
    return (aq_helper_t *)(void *)node;
}

// helper_ranks.c: the ranks of this host. Nothing here blocks.

// Makes page and streams; false: no memory, or no descriptors.
bool aq_helper_prepare(aq_helper_t *helper);
// Forks the supervisor, which starts the ranks. False with errno.
bool aq_helper_start_ranks(aq_helper_t *helper, const aq_go_t *go);
// Input for rank 0, kept until that reads it; length 0: its end.
void aq_helper_take_input(aq_helper_t *helper, const uint8_t *data, size_t length);
// Adds the pipes of the ranks to the next wait; blocked: not those of their output.
void aq_helper_watch_ranks(aq_helper_t *helper, bool blocked);
// Tells the parent what the ranks have announced on the page, or gather there.
void aq_helper_check_page(aq_helper_t *helper);
// What is left in the pipes.
void aq_helper_drain(aq_helper_t *helper);
// Puts the ranks' lines into frames for the parent.
void aq_helper_pass_lines(aq_helper_t *helper);

#endif
