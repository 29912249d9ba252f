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
// node.c: the loop; node_call.c: connections; node_dial.c: children that a daemon forks;
// node_frames.c: frames of children; node_start.c: starting children; node_listen.c: ports;
// node_watch.c: waiting; node_tree.c: the children.
#pragma once

#include <poll.h>

#include "../wire/gather.h"
#include "../wire/auth.h"
#include "../wire/caller.h"
#include "../wire/dial.h"
#include "../wire/link.h"
#include "../shell/remote.h"

#define AQ_SPACE_TEXT 64
#define AQ_ATTACH_SOCKET_TEXT 128
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
    uint32_t number;
    // Set in a rendezvous: where members attach; the rank of the process of which the child is a
    // member, or its own rank; the number of its members.
    char space[AQ_SPACE_TEXT], attach_socket[AQ_ATTACH_SOCKET_TEXT];
    uint32_t leader, members;
    aq_link_t link;
    uint32_t done;           // hosts of its subtree whose ranks are gone
    uint32_t owed;           // bytes of its output that are consumed but not yet credited
    uint64_t pinged;         // time of the last ping; 0: never
    bool unanswered, warned; // the last ping has no answer yet; the user was warned
} aq_child_t;

static inline bool aq_child_is_linked(const aq_child_t *child)
{
    return child->link.fd >= 0;
}

// Whether a host is in the subtree of a child.
static inline bool aq_child_has_host(const aq_child_t *child, uint32_t host)
{
    return host >= child->low && host < child->high;
}

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

// Those that call this process (node_call.c), and where it listens for them (node_listen.c).
typedef struct aq_node_calls {
    aq_listener_t listeners[AQ_LISTENERS];
    uint32_t listener_count;
    aq_caller_t callers[AQ_CALLERS];
    uint32_t refused; // callers; the first AQ_REFUSALS_LOGGED are reported one by one
    char refused_address[AQ_ADDRESS_TEXT]; // of the last one
    bool keyless;        // a worker without the key has called, and the user was told
    aq_bytes_t farewell; // frames for callers of a rendezvous whose job does not start
} aq_node_calls_t;

// The current wait (node_watch.c).
typedef struct aq_node_wait {
    struct pollfd *polls;
    aq_watch_t *watches;
    size_t count, room;
} aq_node_wait_t;

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
    aq_node_calls_t calls;
    bool unfit; // a process of a rendezvous cannot take part; why is logged
    aq_gather_t gather;
    bool going;          // GO was sent or received
    uint32_t first_host; // that of rank 0, once going
    int signals;         // signalfd; -1
    uint64_t deadline;   // of the owner; 0: none
    uint64_t wake;       // when it wants a turn, even if nothing happens; 0: at no time
    aq_node_wait_t wait;
};

#define AQ_NODE_LAUNCHER UINT32_MAX
#define AQ_NODE_ANY (UINT32_MAX - 1)     // a worker that has no number yet
#define AQ_NODE_KEYLESS (UINT32_MAX - 2) // a worker that has no key, and only reports that
