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
// A job is the tree of node_state.h. Its launcher gets the table and the key from the daemon of its
// own host. Where a parent of the tree would run a remote shell, it calls the daemon of the child's
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
#pragma once

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

// The way to the coordinator, and the election of another one (universe_coordinator.c).
typedef struct aq_daemon_election {
    aq_link_t up;       // to the coordinator; fd -1: this is the coordinator, or there is none now
    bool dialing;       // the next coordinator is called:
    aq_dial_t dial;     // that call
    uint64_t next_call; // time of the next attempt; 0: none
    uint64_t ends;      // time by which the daemons have to meet again; 0: no election
    uint32_t voters;    // daemons before the election, with this one
    bool unsure;        // some of them may live where this one cannot reach them
} aq_daemon_election_t;

// The helpers that this daemon has forked (universe_fork.c), one for each job here.
typedef struct aq_daemon_jobs {
    int lifeline[2]; // the helpers have the first end
    struct rlimit old_files;
    pid_t *guards;
    uint32_t count;
    size_t room;
} aq_daemon_jobs_t;

typedef struct aq_daemon {
    uint8_t key[AQ_KEY_BYTES];
    uint32_t self;
    uint32_t silence_ms; // of the config
    aq_table_t table;
    bool coordinator;
    bool over; // leave the loop

    aq_daemon_election_t election;
    uint64_t broadcast_due; // time to tell the table to all; 0: it has not changed
    uint64_t halt_ends;     // time by which the other daemons have to be gone; 0: no halt

    aq_listener_t tcp;
    int local; // the socket for programs
    aq_caller_t callers[AQ_CALLERS];
    aq_peer_t *peers;
    uint32_t peer_count;
    size_t peer_room;

    int signals; // signalfd
    aq_daemon_jobs_t jobs;
} aq_daemon_t;
