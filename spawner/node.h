// A process of the tree in which a job is started and kept: the launcher, or the helper of a host.
//
//            launcher                    hosts [0, H): each process starts the first host of each
//           /        \                   part of its range, and hands it the rest of the part
//      host 0        host 4
//     /     \        /    \              guard -- helper -- supervisor -- ranks, on each
//  host 1  host 3  host 5 host 6
//     |
//  host 2
//
// Always true: a child's link is open from its proof of the key until it is AQ_CHILD_GONE; hosts of
// a subtree are reported once each, as started or failed; whatever a child sends is believed no
// further than its subtree reaches. A process whose parent's link breaks ends what it started.
// Links are always read, since one that is not would look dead to the kernel of the peer: what
// holds output back while its reader is slow is credit, link by link.
//
// node.c: frames and the loop; node_start.c: starting children; node_call.c: connections.
#ifndef AQ_NODE_H
#define AQ_NODE_H

#include <poll.h>

#include "gather.h"
#include "link.h"
#include "auth.h"
#include "remote.h"

#define AQ_LISTENERS 8
#define AQ_CALLERS 64
#define AQ_REFUSALS_TOLD 4
#define AQ_OUTPUT_CREDIT (256 * 1024) // bytes of output that may come up a link unasked

typedef enum aq_child_state {
    AQ_CHILD_WAITING, // not begun
    AQ_CHILD_SHELL,   // the remote shell runs, no greeting yet
    AQ_CHILD_INVITED, // it has the key and is to call
    AQ_CHILD_UP,      // its link is open, its job is sent
    AQ_CHILD_READY,   // it has said that it is started
    AQ_CHILD_GONE,    // failed, or its link is closed
} aq_child_state_t;

typedef struct aq_child {
    uint32_t low, high; // hosts of its subtree; it is the helper of low
    aq_child_state_t state;
    aq_remote_t remote;
    uint64_t deadline;              // of being started
    char addresses[AQ_REMOTE_TEXT]; // of its host, as it told through the remote shell
    char seen[AQ_ADDRESS_TEXT];     // its address as we see it
    char host[AQ_ADDRESS_TEXT]; // of a worker that has told about itself (workers.h), its host's
                                // name
    char machine[128];          // and its machine
    uint32_t wish;              // and the rank that it wants to be
    aq_link_t link;
    uint32_t done;   // hosts of its subtree whose ranks are gone
    uint32_t owed;   // bytes of its output that are taken, and for which it has no credit yet
    uint64_t pinged; // when it was last asked whether it hears us; 0: never
    bool unanswered, warned; // the last time; and the user has been told
} aq_child_t;

// Somebody who has called and not yet proved anything.
typedef struct aq_caller {
    aq_link_t link; // fd -1: free
    char address[AQ_ADDRESS_TEXT];
    uint64_t deadline;
    aq_auth_t auth;
    bool challenged;
} aq_caller_t;

typedef struct aq_node aq_node_t;

typedef struct aq_node_ops {
    // A frame of a host below (or made here about it) that is for the launcher.
    void (*up)(aq_node_t *node, const aq_frame_t *frame);
    // A worker describes itself (workers.h). False: the frame is not legal. NULL: no child of this
    // node is a worker.
    bool (*worker)(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame);
    // All contributions to a collective step are here.
    void (*gathered)(aq_node_t *node);
    // Adds descriptors of its own to the next wait; sees to them afterwards.
    void (*watch)(aq_node_t *node);
    // After each wait; a child of this process has ended (pid > 0), or nothing special (0).
    void (*turn)(aq_node_t *node);
    void (*reaped)(aq_node_t *node, pid_t pid, int status);
    // Output is not taken now: children get no further credit.
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
    aq_bytes_t spec_bytes; // the same, as it travels; the texts of a helper's spec are in it
    uint8_t key[AQ_KEY_BYTES];
    aq_ports_t ports;
    char told_address[AQ_ADDRESS_TEXT]; // GASNET_MASTERIP; "": found out
    uint32_t self;                      // host of this helper; AQ_NODE_LAUNCHER
    aq_child_t *children;
    uint32_t child_count;
    uint32_t window; // children that are started at the same time
    aq_listener_t listeners[AQ_LISTENERS];
    uint32_t listener_count;
    aq_caller_t callers[AQ_CALLERS];
    uint32_t refused; // callers; the first AQ_REFUSALS_TOLD are told one by one
    char refused_address[AQ_ADDRESS_TEXT]; // of the last
    bool keyless; // a worker without the key has called, and the user was told
    aq_gather_t gather;
    int signals;       // signalfd; -1
    uint64_t deadline; // of the owner; 0: none

    struct pollfd *polls; // of the current wait
    aq_watch_t *watches;
    size_t watch_count, watch_room;
};

#define AQ_NODE_LAUNCHER UINT32_MAX
#define AQ_NODE_ANY (UINT32_MAX - 1)     // a worker that has no number yet
#define AQ_NODE_KEYLESS (UINT32_MAX - 2) // a worker that did not get the key; it only says so

// Before anything else.
void aq_node_init(aq_node_t *node, const aq_node_ops_t *ops);

// Children for the hosts [low, high): one for each of `parts` parts (at most).
bool aq_node_split(aq_node_t *node, uint32_t low, uint32_t high, uint32_t parts);
// The part number `index` of `parts` of [low, high).
void aq_node_part(uint32_t low, uint32_t high, uint32_t parts, uint32_t index, uint32_t *from,
                  uint32_t *to);

// One wait and what comes of it.
void aq_node_turn(aq_node_t *node);
void aq_node_watch(aq_node_t *node, int fd, short events, aq_watcher_t *call, void *item);
// To all children that are up.
void aq_node_down(aq_node_t *node, const aq_bytes_t *frames);
// What a child has sent and is here already.
void aq_node_take_frames(aq_node_t *node, aq_child_t *child);
// Whether no child has anything left to do.
bool aq_node_is_quiet(const aq_node_t *node);
// Ends remote shells, closes all links.
void aq_node_close(aq_node_t *node);
// Tells the launcher that the hosts of a child are not to be had.
void aq_node_report(aq_node_t *node, uint32_t host, const char *why);

// ---- node_start.c ----

// Begins as many children as the window takes.
void aq_node_start_more(aq_node_t *node);
// Before and after each wait: output of remote shells; children that took too long.
void aq_node_watch_start(aq_node_t *node);
void aq_node_check_start(aq_node_t *node);
// A process has ended that may be a remote shell of ours.
void aq_node_child_reaped(aq_node_t *node, pid_t pid, int status);
// Gives a child up, and reports the hosts of its subtree that have not reported yet.
void aq_node_lose_child(aq_node_t *node, aq_child_t *child, const char *why);

// ---- node_call.c ----

// Where the host that has greeted is to call. False: why it cannot, one sentence.
bool aq_node_listen_for(aq_node_t *node, const aq_greeting_t *greeting, aq_listener_t **out,
                        char *why, size_t room);
// Listens for workers, which call from anywhere: at told_address, or at all addresses of this host.
// 0 or errno.
int aq_node_listen_all(aq_node_t *node, uint16_t *port);
// Before each wait: listens to callers and ports. After each wait: closes callers that have not
// proved anything in time, and, when every child has called, all ports.
void aq_node_watch_calls(aq_node_t *node);
void aq_node_check_calls(aq_node_t *node);
// Closes callers and ports, and tells how many callers were refused beyond those that were told.
void aq_node_close_calls(aq_node_t *node);

#endif
