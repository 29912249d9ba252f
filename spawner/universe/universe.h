// SPDX-License-Identifier: BSD-3-Clause
// A universe: daemons that stay on the hosts of a user, and start jobs without remote shells.
//
//       coordinator (daemon 0)               gasnet_boot starts one daemon on each host, by the
//        /      |      \      sealed         user's remote shell; each has one link to the
//   daemon 1  daemon 2  daemon 4   TCP       coordinator, which has the table, and tells it to all.
//      |
//   a socket in the file system, for programs of the same user on that host:
//   gasnetrun, gasnet_grow, gasnet_shrink, gasnet_recon, gasnet_halt
//
// A job is the tree of node.h. Its launcher gets the table and the key from the daemon of its own
// host. Where a parent of the tree would run a remote shell, it calls the daemon of the child's
// host, and the daemon forks a process that goes on with the connection as helper:
//
//   parent                         daemon                          fork
//     | -- dial.h ------------------> |
//     | == HELPER ==================> | ------------------------> guard -- helper -- supervisor ...
//     | == JOB, GO ... =============================================> |
//     | <============================================ STARTED, OUTPUT ... DONE
//
// Always true: a number is given to one daemon in the life of a universe. The coordinator is the
// daemon of the lowest number that lives. If it ends, each daemon calls the next one, which becomes
// the coordinator when its own link is broken too; a daemon that finds no coordinator in time ends,
// and so does one that cannot tell whether others are dead or only cut off, unless most have called
// it. A helper ends with the daemon that forked it: it holds one end of a pipe whose other end only
// the daemon has. The daemon never blocks, and does not use its environment.
//
// universe_table.c: the table, messages; universe_local.c: the socket; universe_daemon.c: start,
// loop and end of a daemon; universe_calls.c: its callers, and what they ask for;
// universe_coordinator.c: members, and the election of a coordinator; universe_boot.c: starting
// daemons; start_universe.c: the spawner.
#ifndef AQ_UNIVERSE_H
#define AQ_UNIVERSE_H

#include <sys/resource.h>
#include <sys/types.h>

#include "../wire/caller.h"
#include "../wire/dial.h"
#include "universe_local.h"

#define AQ_DAEMON_OPTION "--daemon" // word for gasnetrun that makes it a daemon

// An authenticated connection: of another daemon to the coordinator, or of a program on this host.
typedef struct aq_peer {
    aq_link_t link;  // fd -1: ended
    uint32_t number; // of the daemon; AQ_NO_NUMBER: a program
    bool waits;      // it has asked for the table
} aq_peer_t;

typedef struct aq_daemon {
    uint8_t key[AQ_KEY_BYTES];
    uint32_t self;
    uint32_t silence_ms; // of the config
    aq_table_t table;
    bool coordinator;
    bool over; // leave the loop

    aq_link_t up;       // to the coordinator; fd -1: this is the coordinator, or there is none now
    aq_dial_t dial;     // the call to the next coordinator, if dialing
    bool dialing;       //
    uint64_t next_call; // time of the next attempt; 0: none
    uint64_t election_ends; // time by which the daemons have to meet again; 0: no election
    uint32_t electorate;    // daemons before the election, with this one
    bool unsure;            // some of them may live where this one cannot reach them
    uint64_t broadcast_due; // time to tell the table to all; 0: it has not changed
    uint64_t halt_ends;     // time by which the other daemons have to be gone; 0: no halt

    aq_listener_t tcp;
    int local; // the socket for programs
    aq_caller_t callers[AQ_CALLERS];
    aq_peer_t *peers;
    uint32_t peer_count, peer_room;

    int signals;     // signalfd
    int lifeline[2]; // the helpers have the first end
    struct rlimit old_files;
    pid_t *guards; // one for each job here
    uint32_t guard_count, guard_room;
} aq_daemon_t;

// universe_daemon.c
//
// Runs a daemon: gasnetrun --daemon, started by a remote shell, with a JOIN_CONFIG on standard
// input. Returns in the process that was started, with its exit code.
int aq_daemon_main(void);
// Forks the helper of a job, which goes on with the caller's link.
void aq_daemon_fork_helper(aq_daemon_t *daemon, aq_link_t *link);

// universe_calls.c: connections
//
// Takes over a link. NULL: no memory; the link is closed.
aq_peer_t *aq_daemon_add_peer(aq_daemon_t *daemon, const aq_link_t *link, uint32_t number);
void aq_daemon_accept_calls(aq_daemon_t *daemon);
// Whether one more program may connect.
bool aq_daemon_has_room(const aq_daemon_t *daemon);
void aq_daemon_accept_programs(aq_daemon_t *daemon);
void aq_daemon_serve_caller(aq_daemon_t *daemon, aq_caller_t *caller);
void aq_daemon_serve_peer(aq_daemon_t *daemon, aq_peer_t *peer);
// Closes callers that are late, and forgets connections that have ended.
void aq_daemon_check_calls(aq_daemon_t *daemon);

// universe_coordinator.c: members
//
// A daemon calls to become or to stay a member. Takes over its link.
void aq_daemon_take_join(aq_daemon_t *daemon, aq_link_t *link, const aq_frame_t *frame);
// A member has ended, or its connection broke.
void aq_daemon_lose_member(aq_daemon_t *daemon, uint32_t number);
// Frames that a member or a program sends. False: not legal.
bool aq_daemon_take_request(aq_daemon_t *daemon, aq_peer_t *peer, const aq_frame_t *frame);
void aq_daemon_serve_coordinator(aq_daemon_t *daemon);
void aq_daemon_serve_dial(aq_daemon_t *daemon);
// The number of jobs here has changed.
void aq_daemon_tell_jobs(aq_daemon_t *daemon);
// What is due: broadcasts, elections, the end.
void aq_daemon_check_members(aq_daemon_t *daemon);

#endif
