// SPDX-License-Identifier: BSD-3-Clause
// A process of the tree that starts and controls a job: the launcher, or the helper of a host.
//
//            launcher                    hosts [0, H): each process starts the first host of each
//           /        \                   part of its range, and hands it the rest of the part
//      host 0        host 4
//     /     \        /    \              guard -- helper -- supervisor -- ranks, on each
//  host 1  host 3  host 5 host 6
//     |
//  host 2
//
// Always true: a child's link is open from its authentication until AQ_CHILD_GONE. The hosts of a
// subtree are reported once each, as started or failed, until AGAIN takes that back. A child's
// messages are trusted only about its own subtree. A process whose link to its parent breaks ends
// what it started. Links are always read, because the peer's kernel would consider an unread link
// dead; instead, credit on each link holds output back while its reader is slow.
//
// In a job with spare hosts, a child that fails or is late does not take the hosts behind it along:
// its parent starts them itself, as further children. GO names the hosts that get ranks, the
// first ones of the list; the other helpers leave.
//
// node.c: frames and the loop; node_start.c: starting children; node_dial.c: those that a daemon
// forks; node_call.c: connections.
#ifndef AQ_NODE_H
#define AQ_NODE_H

#include <poll.h>

#include "../wire/gather.h"
#include "../wire/auth.h"
#include "../wire/caller.h"
#include "../wire/dial.h"
#include "../wire/link.h"
#include "../shell/remote.h"

#define AQ_SPACE_TEXT 64
#define AQ_DOOR_TEXT 128
#define AQ_MEMBERS_MAX 120u // of one process; a host may have several that lead
#define AQ_LISTENERS 8
#define AQ_REFUSALS_LOGGED 4
#define AQ_OUTPUT_CREDIT (256 * 1024) // initial credit: bytes of output that may come up a link

typedef enum aq_child_state {
    AQ_CHILD_WAITING, // not started
    AQ_CHILD_DIALED,  // the daemon of a universe there is called (universe.h)
    AQ_CHILD_SHELL,   // the remote shell runs; no greeting yet
    AQ_CHILD_INVITED, // it has the key and is about to call
    AQ_CHILD_UP,      // its link is open, and its job is sent
    AQ_CHILD_READY,   // it has reported that it is started
    AQ_CHILD_GONE,    // failed, or its link is closed
} aq_child_state_t;

typedef struct aq_child {
    uint32_t low, high; // range of hosts of its subtree; the child is the helper of low
    uint32_t orphaned;  // the hosts [high, orphaned) need a new parent; 0: none do
    aq_child_state_t state;
    aq_remote_t remote;
    aq_dial_t *dial;   // while the daemon there is called, else NULL
    uint64_t deadline; // for its start
    bool late;         // its start took so long that the hosts behind it got another parent
    char addresses[AQ_REMOTE_TEXT]; // of its host, as reported through the remote shell
    char seen[AQ_ADDRESS_TEXT];     // its address as seen by this process
    // Set by a worker's description of itself (workers.h): the name of its host, its machine, and
    // the rank that it asks for.
    char host[AQ_ADDRESS_TEXT];
    char machine[128];
    uint32_t wish;
    // Set in a rendezvous: where members attach; the rank of the process of which the child is a
    // member, or its own rank; the number of its members.
    char space[AQ_SPACE_TEXT], door[AQ_DOOR_TEXT];
    uint32_t leader, members;
    aq_link_t link;
    uint32_t done;           // hosts of its subtree whose ranks are gone
    uint32_t owed;           // bytes of its output that are consumed but not yet credited
    uint64_t pinged;         // time of the last ping; 0: never
    bool unanswered, warned; // the last ping has no answer yet; the user was warned
} aq_child_t;

typedef struct aq_node aq_node_t;

typedef struct aq_node_ops {
    // A frame for the launcher, from a host below or made here on its behalf.
    void (*up)(aq_node_t *node, const aq_frame_t *frame);
    // A worker describes itself, or tells that it has a member (workers.h). False: the frame is not
    // legal. NULL: no child of this node is a worker.
    bool (*worker)(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame);
    // All contributions to a collective step have arrived.
    void (*gathered)(aq_node_t *node);
    // Adds further descriptors to the next wait.
    void (*watch)(aq_node_t *node);
    // turn: called after each wait. reaped: a child process has ended (pid > 0), or none of
    // interest (0).
    void (*turn)(aq_node_t *node);
    void (*reaped)(aq_node_t *node, pid_t pid, int status);
    // Whether output is not accepted now; children then get no further credit.
    bool (*blocked)(aq_node_t *node);
} aq_node_ops_t;

typedef void aq_watcher_t(aq_node_t *node, void *item, short events);

typedef struct aq_watch {
    aq_watcher_t *call;
    void *item;
} aq_watch_t;

struct aq_node {
    const aq_node_ops_t *ops;
    aq_spec_t spec;
    aq_bytes_t spec_bytes;  // encoded spec and hosts of the subtree; the texts of a helper's spec
    aq_bytes_t hosts_bytes; // point into them
    uint8_t key[AQ_KEY_BYTES];
    aq_ports_t ports;
    char master_address[AQ_ADDRESS_TEXT]; // GASNET_MASTERIP; "": determined automatically
    uint32_t self;                        // host of this helper; AQ_NODE_LAUNCHER
    aq_child_t *children;
    uint32_t child_count;
    uint32_t window; // children that are started at the same time
    aq_listener_t listeners[AQ_LISTENERS];
    uint32_t listener_count;
    aq_caller_t callers[AQ_CALLERS];
    uint32_t refused; // callers; the first AQ_REFUSALS_LOGGED are reported one by one
    char refused_address[AQ_ADDRESS_TEXT]; // of the last one
    bool keyless;        // a worker without the key has called, and the user was told
    aq_bytes_t farewell; // frames for callers of a rendezvous whose job does not start
    bool unfit;          // a process of a rendezvous cannot take part; why is logged
    aq_gather_t gather;
    bool going;          // GO was sent or received
    uint32_t first_host; // that of rank 0, once going
    int signals;         // signalfd; -1
    uint64_t deadline;   // of the owner; 0: none
    uint64_t wake;       // when it wants a turn, even if nothing happens; 0: at no time

    struct pollfd *polls; // of the current wait
    aq_watch_t *watches;
    size_t watch_count, watch_room;
};

#define AQ_NODE_LAUNCHER UINT32_MAX
#define AQ_NODE_ANY (UINT32_MAX - 1)     // a worker that has no number yet
#define AQ_NODE_KEYLESS (UINT32_MAX - 2) // a worker that has no key, and only reports that

// Must be called first.
void aq_node_init(aq_node_t *node, const aq_node_ops_t *ops);

// Adds children for the hosts [low, high): at most one for each of `parts` parts; 0: one for each
// host. Children move in memory. False: no memory.
bool aq_node_split(aq_node_t *node, uint32_t low, uint32_t high, uint32_t parts);
// Computes part number `index` of `parts` of [low, high).
void aq_node_part(uint32_t low, uint32_t high, uint32_t parts, uint32_t index, uint32_t *from,
                  uint32_t *to);

// Waits once and handles the events.
void aq_node_turn(aq_node_t *node);
// The inner part of a turn: waits for the watched descriptors, at most ms milliseconds (-1: no
// limit), and calls the watchers. Nothing is watched afterwards.
void aq_node_wait(aq_node_t *node, int ms);
void aq_node_watch(aq_node_t *node, int fd, short events, aq_watcher_t *call, void *item);
// Sends frames to all children that are up.
void aq_node_down(aq_node_t *node, const aq_bytes_t *frames);
// Handles frames of a child that have already arrived.
void aq_node_take_frames(aq_node_t *node, aq_child_t *child);
// Whether all children are done.
bool aq_node_is_quiet(const aq_node_t *node);
// Ends remote shells and closes all links.
void aq_node_close(aq_node_t *node);
// Reports to the launcher that the hosts [low, high) cannot take part: low for that reason, the
// others because they are behind it.
void aq_node_report(aq_node_t *node, uint32_t low, uint32_t high, const char *why);
// From here on the hosts of go have ranks. Gives up children that are not ready, and sets how many
// contributions a collective step has.
void aq_node_go(aq_node_t *node, const aq_go_t *go);
// The child through which rank 0 is reached; NULL: rank 0 is not behind this node.
aq_child_t *aq_node_first_child(aq_node_t *node);
// The child through which the helper of that host is reached; NULL: it is not behind this node.
aq_child_t *aq_node_child_of(aq_node_t *node, uint32_t host);
// Sends the child the job, for the hosts of its subtree.
void aq_node_send_job(aq_node_t *node, aq_child_t *child);

// ---- node_start.c ----

// Starts as many children as the window allows.
void aq_node_start_more(aq_node_t *node);
// Called before each wait: gives orphaned hosts a new parent, and watches the output of remote
// shells; after each wait: children that take too long.
void aq_node_adopt(aq_node_t *node);
void aq_node_watch_start(aq_node_t *node);
void aq_node_check_start(aq_node_t *node);
// Handles the end of a process that may be a remote shell of this node.
void aq_node_child_reaped(aq_node_t *node, pid_t pid, int status);
// Gives up a child, and reports its host, and those behind it unless this process starts them now.
void aq_node_lose_child(aq_node_t *node, aq_child_t *child, const char *why);
// Gives up a child that the job does without.
void aq_node_dismiss_child(aq_node_t *node, aq_child_t *child);

// ---- node_dial.c ----

// Calls the daemon of a universe on the child's host, which forks a helper there. The loop goes on
// meanwhile.
void aq_node_dial(aq_node_t *node, aq_child_t *child);
// Called before and after each wait.
void aq_node_watch_dials(aq_node_t *node);
void aq_node_check_dials(aq_node_t *node);

// ---- node_call.c ----

// Finds or opens the port at which the host that sent the greeting must call. False: why holds one
// sentence.
bool aq_node_listen_for(aq_node_t *node, const aq_greeting_t *greeting, aq_listener_t **out,
                        char *why, size_t room);
// Listens for workers, which may call from any host: at master_address, or at all addresses of this
// host. Returns 0 or errno.
int aq_node_listen_all(aq_node_t *node, uint16_t *port);
// Called before each wait: watches callers and ports; after each wait: closes callers that did not
// authenticate in time and, once every child has called, all ports.
void aq_node_watch_calls(aq_node_t *node);
void aq_node_check_calls(aq_node_t *node);
// Closes callers and ports, and logs how many callers were refused beyond those already reported.
void aq_node_close_calls(aq_node_t *node);

#endif
